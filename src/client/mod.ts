/** The public client library. */

export type { Channel } from "./channel.ts";
export { openWebSocket } from "./channel.ts";
export { Client, connect, ConnectionLostError, type ConnectOptions } from "./client.ts";
export { NotificationStream } from "./notification_stream.ts";
export { RpcError } from "../rpc/pending_calls.ts";
export type {
  MethodName,
  MethodTypes,
  Notification,
  NotificationName,
  NotificationTypes,
  ProcessNotification,
} from "../protocol/method_types.ts";
