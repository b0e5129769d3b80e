/** What is told of tunnels. */

import * as z from "zod/mini";

export const NetDataNotification = z.object({ tunnelId: z.string(), chunk: z.string() });
export type NetDataNotification = z.output<typeof NetDataNotification>;

export const NetEndedNotification = z.object({ tunnelId: z.string() });
export type NetEndedNotification = z.output<typeof NetEndedNotification>;

export const NetClosedNotification = z.object({ tunnelId: z.string(), error: z.nullable(z.string()) });
export type NetClosedNotification = z.output<typeof NetClosedNotification>;
