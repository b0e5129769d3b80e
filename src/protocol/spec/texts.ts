/**
 * What is written about every method and notification. A new one does not compile before it has its text: a sentence for
 * each parameter and member of the result, and an example that a test runs. It goes into the file of its family, and its
 * name into the family's type.
 */

import type { MethodName, NotificationName } from "../method_types.ts";
import type { ConstraintName } from "./constraints.ts";
import { ATTACH_NOTIFICATION_TEXTS, ATTACH_TEXTS } from "./attach.ts";
import { ENVIRONMENT_TEXTS } from "./environment.ts";
import { FS_NOTIFICATION_TEXTS, FS_TEXTS } from "./fs.ts";
import { HANDSHAKE_TEXTS } from "./handshake.ts";
import { HTTP_NOTIFICATION_TEXTS, HTTP_TEXTS } from "./http.ts";
import { NET_NOTIFICATION_TEXTS, NET_TEXTS } from "./net.ts";
import { PROCESS_TEXTS } from "./process.ts";
import { PROCESS_NOTIFICATION_TEXTS } from "./process_notifications.ts";
import type { MethodTexts, NotificationTexts } from "./text_types.ts";

const { "session/end": sessionEnd, ...handshake } = HANDSHAKE_TEXTS;

/** In the order in which the examples are run. */
const METHODS: MethodTexts<MethodName> = {
  ...handshake,
  ...ENVIRONMENT_TEXTS,
  ...FS_TEXTS,
  ...PROCESS_TEXTS,
  ...ATTACH_TEXTS,
  ...HTTP_TEXTS,
  ...NET_TEXTS,
  "session/end": sessionEnd,
};

const NOTIFICATIONS: NotificationTexts<NotificationName> = {
  ...PROCESS_NOTIFICATION_TEXTS,
  ...ATTACH_NOTIFICATION_TEXTS,
  ...FS_NOTIFICATION_TEXTS,
  ...HTTP_NOTIFICATION_TEXTS,
  ...NET_NOTIFICATION_TEXTS,
};

interface AnyText {
  readonly params: Readonly<Record<string, string>>;
  readonly notes?: readonly string[];
}

/** A text whatever its method is. */
export interface AnyMethodText extends AnyText {
  readonly result: Readonly<Record<string, string>>;
  readonly constraints?: readonly ConstraintName[];
  readonly example: {
    readonly before?: readonly { readonly method: string; readonly params: unknown }[];
    readonly params: unknown;
    readonly result: unknown;
    readonly varies?: readonly string[];
  };
}

export interface AnyNotificationText extends AnyText {
  readonly example: { readonly params: unknown; readonly varies?: readonly string[] };
}

export const METHOD_TEXTS: Readonly<Record<string, AnyMethodText>> = METHODS;
export const NOTIFICATION_TEXTS: Readonly<Record<string, AnyNotificationText>> = NOTIFICATIONS;
