/** Large files over real sockets: read while they leave, by clients that take their time. */

import assert from "node:assert/strict";
import { tellsWhatIsInMemory } from "../support/page_cache.ts";
import { descriptorCount, openFiles, residentMb } from "../support/proc.ts";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";
import { until } from "../support/until.ts";

/** More than the buffers of a socket hold: an answer with it is under way for as long as the client does not read. */
const BYTES = 64 << 20;

function content(seed: number, length = BYTES): Uint8Array<ArrayBuffer> {
  const words = new Uint32Array(length / 4);
  for (let at = 0; at < words.length; at++) words[at] = Math.imul(at + seed, 0x9e3779b1);
  return new Uint8Array(words.buffer);
}

/** Elsewhere large files are read before their answers leave. */
function whereStreamed(name: string, fn: () => Promise<void>): void {
  const needs = "needs a filesystem that tells what is in memory";
  Deno.test({ name: `${name} (${needs})`, ignore: !tellsWhatIsInMemory(), fn });
}

/** How often the server has the file open. */
function timesOpen(server: TestServer, path: string): number {
  return openFiles(server.pid).filter((open) => open === path).length;
}

async function requested(server: TestServer, path: string, ...others: object[]): Promise<RawWebSocket> {
  const socket = await RawWebSocket.connect(server.url);
  await socket.handshake();
  const requests = [{ id: 1, method: "fs/readFile", params: { path } }, ...others];
  for (const request of requests) await socket.sendText(JSON.stringify(request));
  await until(() => timesOpen(server, path) > 0, () => "the server does not read the file");
  return socket;
}

whereStreamed(
  "a file that is cut off while its answer leaves is answered as far as it goes",
  () =>
    inScratchDirectory(async (directory) => {
      await using server = await TestServer.start();
      const path = `${directory}/f`;
      await Deno.writeFile(path, content(1));
      using socket = await requested(server, path);
      const left = 40 << 20;
      await Deno.truncate(path, left);
      await socket.sendText('{"id":2,"method":"environment/status"}');
      const answer = await socket.readMessage();
      assert.equal(answer.id, 1);
      const bytes = Uint8Array.fromBase64(answer.result.dataBase64);
      assert.equal(bytes.length, left);
      assert.deepEqual(bytes, content(1, left));
      assert.deepEqual((await socket.readMessage()).result, { status: "ready" }, "the connection goes on");
      await until(() => timesOpen(server, path) === 0, () => "the file stays open");
    }),
);

whereStreamed(
  "a write behind a large read waits until that has left, and the read sees nothing of it",
  () =>
    inScratchDirectory(async (directory) => {
      await using server = await TestServer.start();
      await using other = await server.connect();
      const path = `${directory}/f`;
      await Deno.writeFile(path, content(2));
      const write = { id: 2, method: "fs/writeFile", params: { path, dataBase64: btoa("new") } };
      using socket = await requested(server, path, write);
      for (let calls = 0; calls < 100; calls++) await other.call("environment/status", null);
      assert.equal((await Deno.stat(path)).size, BYTES, "the client has not read its answer yet");
      const answer = await socket.readMessage();
      assert.equal(answer.id, 1);
      assert.deepEqual(Uint8Array.fromBase64(answer.result.dataBase64), content(2));
      assert.deepEqual(await socket.readMessage(), { id: 2, result: {} });
      assert.equal(await Deno.readTextFile(path), "new");
    }),
);

whereStreamed(
  "many large reads of a client that reads nothing cost little memory and two descriptors, until it is gone",
  () =>
    inScratchDirectory(async (directory) => {
      await using server = await TestServer.start();
      await using other = await server.connect();
      const path = `${directory}/f`;
      await Deno.writeFile(path, content(3));
      // Whatever is loaded and sized with the first large read is there.
      await other.call("fs/readFile", { path, length: 8 << 20 });
      const before = residentMb(server.pid);
      const descriptors = descriptorCount(server.pid);
      const others = Array.from({ length: 40 }, (_, at) => ({ id: at + 2, method: "fs/readFile", params: { path } }));
      const socket = await requested(server, path, ...others, { id: 99, method: "fs/getMetadata", params: { path } });
      for (let calls = 0; calls < 300; calls++) await other.call("environment/status", null);
      const grown = residentMb(server.pid) - before;
      assert.ok(grown < 64, `resident memory grew by ${grown.toFixed(1)} MB`);
      assert.equal(timesOpen(server, path), 2, "one leaves, one is next, and the rest wait");
      socket.drop();
      await until(() => descriptorCount(server.pid) <= descriptors, () => "descriptors stay open");
      assert.equal(timesOpen(server, path), 0);
    }),
);

Deno.test("pipelined large reads are all answered, each with its own content", () =>
  inScratchDirectory(async (directory) => {
    await using server = await TestServer.start();
    using socket = await RawWebSocket.connect(server.url);
    await socket.handshake();
    const seeds = [4, 5, 6, 7, 8];
    const length = 12 << 20;
    for (const seed of seeds) {
      await Deno.writeFile(`${directory}/${seed}`, content(seed, length));
      const params = { path: `${directory}/${seed}` };
      await socket.sendText(JSON.stringify({ id: seed, method: "fs/readFile", params }));
    }
    for (let answers = 0; answers < seeds.length; answers++) {
      const { id, result } = await socket.readMessage();
      assert.deepEqual(Uint8Array.fromBase64(result.dataBase64), content(id, length), `${id}`);
    }
  }));
