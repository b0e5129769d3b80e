/** Clients that vanish with thousands of requests under way are no faults of the server: its log stays readable. */

import assert from "node:assert/strict";
import { concatBytes } from "../../src/bytes.ts";
import { OPCODE } from "../../src/transport/websocket/websocket_frames.ts";
import { clientFrame, RawWebSocket } from "../support/raw_websocket.ts";
import { NO_SANDBOX } from "../support/sandbox_host.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";
import { missingTls, tlsFlags } from "../support/test_tls.ts";

const MIB = 1024 * 1024;
const REQUESTS = 4000;
/** The server is in the middle of it then. */
const UNREAD_MS = 1_000;

const at = (path: string, access: string) => ({ path: { type: "path", path }, access });
const confinedTo = (directory: string) => ({
  permissions: {
    type: "managed",
    file_system: { type: "restricted", entries: [at("/usr", "read"), at(directory, "read")] },
    network: "restricted",
  },
  windowsSandboxLevel: "disabled",
});

interface Row {
  readonly what: string;
  readonly isSecure?: boolean;
  readonly isConfined?: boolean;
  readonly missing: string | null;
}

const ROWS: readonly Row[] = [
  { what: "over ws", missing: null },
  { what: "over wss", isSecure: true, missing: await missingTls() },
  { what: "in a sandbox", isConfined: true, missing: NO_SANDBOX },
];

for (const { what, isSecure = false, isConfined = false, missing } of ROWS) {
  Deno.test({
    name: `${REQUESTS} fs/readFile ${what} of a client that vanishes${
      missing === null ? "" : ` (SKIPPED: ${missing})`
    }`,
    ignore: missing !== null,
    fn: () =>
      inScratchDirectory(async (directory) => {
        const path = `${directory}/file`;
        Deno.writeFileSync(path, new Uint8Array(MIB).fill(7));
        const sandbox = isConfined ? confinedTo(directory) : null;
        const requests = concatBytes(Array.from({ length: REQUESTS }, (_, id) => {
          const request = { id: id + 1, method: "fs/readFile", params: { path, sandbox } };
          return clientFrame(OPCODE.text, new TextEncoder().encode(JSON.stringify(request)));
        }));
        const server = await TestServer.start(
          isSecure ? { listen: "wss://127.0.0.1:0", args: tlsFlags(directory) } : {},
        );
        {
          await using _server = server;
          for (let clients = 0; clients < 2; clients++) {
            using socket = await RawWebSocket.connect(server.url);
            await socket.handshake();
            await socket.write(requests);
            await new Promise((resolve) => setTimeout(resolve, UNREAD_MS));
          }
          await server.logged(" disconnected", 2);
        }
        const log = await server.log;
        assert.doesNotMatch(log, /failed unexpectedly|were dropped/);
        assert.doesNotMatch(log, /ERROR|"level":"error"/);
      }),
  });
}
