/** The types of every method and notification, from the table, for code that calls: the client and tests. Types only. */

import type { InputOf, OutputOf } from "./method_row.ts";
import type { METHODS, NOTIFICATIONS } from "./methods.ts";

type Row = typeof METHODS[keyof typeof METHODS];
/** One that the server sends. */
type NotificationRow = Extract<typeof NOTIFICATIONS[keyof typeof NOTIFICATIONS], { readonly from: "server" }>;

/** Parameters and results by method name. */
export type MethodTypes = {
  [R in Row as R["name"]]: { params: InputOf<R["params"]>; result: OutputOf<R["result"]> };
};

/** Notifications of the server by name. */
export type NotificationTypes = {
  [R in NotificationRow as R["name"]]: OutputOf<R["params"]>;
};

export type MethodName = keyof MethodTypes;
export type NotificationName = keyof NotificationTypes;

/** One notification, told apart by its method. */
export type Notification = {
  [Name in NotificationName]: { readonly method: Name; readonly params: NotificationTypes[Name] };
}[NotificationName];

/** One notification about a process. */
export type ProcessNotification = Extract<Notification, { readonly method: `process/${string}` }>;
