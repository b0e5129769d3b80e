/**
 * Which requests may be sent again when their connection was lost before the answer came: those whose effect is the
 * same however often they run. All others fail with "connection lost, outcome unknown", and their caller decides.
 */

import type { MethodName } from "../../protocol/method_types.ts";

type Rule = boolean | ((params: Record<string, unknown>) => boolean);

/** Every method has a rule: if one is missing, this does not compile. */
const RULES: Readonly<Record<MethodName, Rule>> = {
  // Handshakes belong to their connection, and are not sent as requests here.
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
  // The server does not write twice under one write id.
  "process/write": (params) => typeof params.writeId === "string",
  // Only for pipes. A terminal's input is ended by a character, which is sent as a write.
  "process/closeStdin": true,
  "process/terminate": true,
  "process/resize": true,
  "process/signal": false,
  "process/wait": true,
  "process/snapshot": true,
  "process/list": true,
  "session/end": true,
  // Attachments end with their connection. The caller attaches again, and says from which number on.
  "process/attach": false,
  "process/detach": false,

  "fs/readFile": true,
  // With a condition, the second attempt would fail because of what the first has written.
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
  // A second attempt would fail because of what the first has done.
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
