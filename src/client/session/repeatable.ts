/**
 * Which requests may be sent again when their connection was lost before the answer came: those that leave the same
 * behind however often they run. All others fail with "connection lost, outcome unknown", and their caller decides.
 */

import type { MethodName } from "../../protocol/method_types.ts";

type Rule = boolean | ((params: Record<string, unknown>) => boolean);

/** Every method has a rule: one that is forgotten does not compile. */
const RULES: Readonly<Record<MethodName, Rule>> = {
  // A handshake belongs to its connection, and is not made here.
  "initialize": false,
  "rpc.discover": true,
  "environment/info": true,
  "environment/status": true,
  "environment/sandbox": true,
  "environmentConfig/read": true,
  "capabilityRoots/discoverV1": true,
  "capabilities/discoverV2": true,

  // The id is chosen here and used once: "already exists" means that the first attempt has arrived.
  "process/start": true,
  "process/read": true,
  "process/ack": true,
  // A repeated write id is not written again.
  "process/write": (params) => typeof params.writeId === "string",
  // For pipes. The end of a terminal's input is a character, and is sent as a write.
  "process/closeStdin": true,
  "process/terminate": true,
  "process/resize": true,
  "process/signal": false,
  "process/wait": true,
  "process/snapshot": true,
  "process/list": true,
  "session/end": true,
  // Attachments end with their connection. Whoever attaches again says from where on.
  "process/attach": false,
  "process/detach": false,

  "fs/readFile": true,
  // With a condition the second attempt would find what the first has written.
  "fs/writeFile": (params) => (params.ifMatch ?? null) === null,
  "fs/getMetadata": true,
  "fs/canonicalize": true,
  "fs/createDirectory": (params) => params.recursive !== false,
  "fs/readDirectory": true,
  "fs/list": true,
  "fs/walk": true,
  "fs/remove": (params) => params.force !== false,
  "fs/chmod": true,
  "fs/setTimes": true,
  // A second attempt would find what the first has left.
  "fs/copy": false,
  "fs/rename": false,
  "fs/symlink": false,
  // Handles and watches end with their connection, and so do tunnels.
  "fs/open": false,
  "fs/readBlock": false,
  "fs/writeBlock": false,
  "fs/close": false,
  "fs/watchMissing": false,
  "fs/watch": false,
  "fs/unwatch": true,
  "net/connect": false,
  "net/write": false,
  "net/closeWrite": false,
  "net/ack": false,
  "net/close": false,

  "http/request": false,
};

/** Whether a request may be sent a second time. */
export function isRepeatable(method: string, params: unknown): boolean {
  // The method may be one of a newer server.
  const rule = RULES[method as MethodName] ?? false;
  return typeof rule === "function" ? rule((params ?? {}) as Record<string, unknown>) : rule;
}
