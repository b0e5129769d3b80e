/** Large files read through a sandbox object cost the server no more memory than without one. */

import assert from "node:assert/strict";
import { tollOf } from "../support/bystander.ts";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { NO_SANDBOX } from "../support/sandbox_host.ts";
import { TestServer } from "../support/test_server.ts";
import { reportToll } from "./toll.ts";

const MIB = 1024 * 1024;
const FILE_BYTES = 500 * MIB;
const READS = 4;
/** Three times what is wanted on a quiet machine. */
const MAX_GROWTH_MB = 3 * 16;
const UNREAD_MS = 1_500;

const at = (path: string, access: string) => ({ path: { type: "path", path }, access });
const managed = (entries: readonly object[]) => ({
  permissions: { type: "managed", file_system: { type: "restricted", entries }, network: "restricted" },
  windowsSandboxLevel: "disabled",
});

const SANDBOXES: Record<string, (directory: string) => object | null> = {
  "no sandbox object": () => null,
  "full access": () => ({ permissions: { type: "disabled" }, windowsSandboxLevel: "disabled" }),
  "a policy that lets everything be read": (directory) => managed([at("/", "read"), at(directory, "write")]),
  "a policy that lets only this be read": (directory) => managed([at("/usr", "read"), at(directory, "read")]),
};

for (const [name, sandboxIn] of Object.entries(SANDBOXES)) {
  Deno.test({
    name: `${READS} fs/readFile of 500 MiB, ${name}${NO_SANDBOX === null ? "" : ` (SKIPPED: ${NO_SANDBOX})`}`,
    ignore: NO_SANDBOX !== null,
    fn: () =>
      inScratchDirectory(async (directory) => {
        const path = `${directory}/large`;
        const file = Deno.openSync(path, { write: true, create: true });
        const block = new Uint8Array(4 * MIB).fill(0x41);
        for (let written = 0; written < FILE_BYTES; written += file.writeSync(block));
        file.close();
        await using server = await TestServer.start();
        using socket = await RawWebSocket.connect(server.url);
        await socket.handshake();
        const params = { path, sandbox: sandboxIn(directory) };
        const toll = await tollOf(server, async () => {
          for (let id = 1; id <= READS; id++) {
            await socket.sendText(JSON.stringify({ id, method: "fs/readFile", params }));
          }
          await new Promise((resolve) => setTimeout(resolve, UNREAD_MS));
          const length = Math.ceil(FILE_BYTES / 3) * 4;
          for (let answers = 0; answers < READS; answers++) await skipAnswer(socket, length);
        });
        reportToll(`${READS} fs/readFile of 500 MiB, ${name}`, toll);
        assert.ok(toll.growthMb < MAX_GROWTH_MB, `resident memory grew by ${toll.growthMb.toFixed(1)} MB`);
      }),
  });
}

/** Reads one answer without keeping it: two thirds of a gigabyte of text. */
async function skipAnswer(socket: RawWebSocket, contentLength: number): Promise<void> {
  const head = await socket.readFrameHead();
  assert.ok(head !== null && head.length > contentLength, `an answer of ${head?.length} bytes`);
  const start = await socket.skipPayload(head.length, 64);
  assert.match(new TextDecoder().decode(start), /"result":\{"dataBase64":"QUFB/);
}
