/** Back-pressure and liveness of a splice, over real sockets. */

import assert from "node:assert/strict";
import { FrameSocket } from "../../../src/remote/rendezvous/frame_socket.ts";
import type { ByteStream } from "../../../src/transport/byte_stream.ts";
import { clientFrame } from "../../support/raw_websocket.ts";
import { ManualClock } from "../../support/manual_clock.ts";
import { Hall, nextMessage } from "./hall.ts";

Deno.test("a frame of 100 MB passes without being stored, and a client that does not read slows its executor down", async () => {
  await using hall = await Hall.open();
  using executor = await hall.seedExecutor("box-1");
  using client = await hall.client("box-1");
  const total = 100 * 1024 * 1024;
  const piece = new Uint8Array(1024 * 1024);
  await executor.write(clientFrame(0x2, new Uint8Array(0), { claimedLength: total }));
  let written = 0;
  const writing = (async () => {
    for (; written < total; written += piece.length) await executor.write(piece);
  })();
  // Until the client reads, no more is taken than the buffers of the kernel hold: the writer comes to a stop.
  let before = -1;
  while (before !== written) {
    before = written;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  assert.ok(written < total / 2, `${written} bytes were taken`);
  const head = await client.readFrameHead();
  assert.deepEqual([head!.opcode, head!.length], [0x2, total]);
  // The mask of the test's frames, taken off from zeros.
  assert.deepEqual([...await client.skipPayload(total, 5)], [0x12, 0x34, 0x56, 0x78, 0x12]);
  await writing;
  await client.sendText("done");
  assert.deepEqual(await nextMessage(executor), new TextEncoder().encode("done"));
});

/** A stream that is read and written by the test. */
function heldStream() {
  const written: number[] = [];
  const reads: PromiseWithResolvers<Uint8Array | null>[] = [];
  let isClosed = false;
  const stream: ByteStream = {
    async read(into) {
      if (isClosed) return null;
      const next = Promise.withResolvers<Uint8Array | null>();
      reads.push(next);
      const bytes = await next.promise;
      if (bytes !== null) into.set(bytes);
      return bytes?.length ?? null;
    },
    write(bytes) {
      written.push(...bytes);
      return Promise.resolve(bytes.length);
    },
    closeWrite: () => Promise.resolve(),
    close() {
      isClosed = true;
      reads.at(-1)?.resolve(null);
    },
  };
  return { stream, written, reads, isClosed: () => isClosed };
}

/** Lets everything run that waits for nothing but its turn. */
function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

function openSocket(clock: ManualClock, stream: ByteStream): FrameSocket {
  return new FrameSocket(stream, { clock, initialBytes: new Uint8Array(0), turn: () => Promise.resolve() });
}

Deno.test("FrameSocket pings, and drops a peer that is silent for 45 s", async () => {
  const clock = new ManualClock();
  const { stream, written, isClosed } = heldStream();
  const socket = openSocket(clock, stream);
  const ended = socket.run();
  await settle();
  clock.advance(15_000);
  await settle();
  assert.deepEqual(written, [0x89, 0x00]);
  clock.advance(29_999);
  assert.ok(!isClosed());
  clock.advance(1);
  const { by, reason } = await ended;
  assert.deepEqual([by, reason], ["silence", "no sign of life in 45000 ms"]);
});

Deno.test("FrameSocket answers pings between frames and never within one", async () => {
  const clock = new ManualClock();
  const [near, far] = [heldStream(), heldStream()];
  const [a, b] = [openSocket(clock, near.stream), openSocket(clock, far.stream)];
  const ends = [a.run(), b.run()];
  a.passTo(b);
  b.passTo(a);
  await settle();
  // The first half of a frame of 2 bytes goes to b, whose peer then pings.
  near.reads.at(-1)!.resolve(clientFrame(0x2, Uint8Array.of(1, 2)).subarray(0, 7));
  await settle();
  far.reads.at(-1)!.resolve(clientFrame(0x9, Uint8Array.of(7)));
  await settle();
  assert.deepEqual(far.written, [0x82, 2, 1]);
  near.reads.at(-1)!.resolve(clientFrame(0x2, Uint8Array.of(1, 2)).subarray(7));
  await settle();
  assert.deepEqual(far.written, [0x82, 2, 1, 2, 0x8a, 1, 7]);
  a.close(1000, "");
  b.close(1000, "");
  clock.advance(1000);
  await Promise.all(ends);
});

Deno.test("FrameSocket.isAlive() waits for a sign of life and drops a peer that gives none", async () => {
  const clock = new ManualClock();
  const { stream, written, reads } = heldStream();
  const socket = openSocket(clock, stream);
  const ended = socket.run();
  await settle();
  const alive = socket.isAlive(1000);
  assert.deepEqual(written, [0x89, 0x00]);
  reads.at(-1)!.resolve(clientFrame(0xa, new Uint8Array(0)));
  assert.equal(await alive, true);
  const dead = socket.isAlive(1000);
  clock.advance(1000);
  assert.equal(await dead, false);
  assert.equal((await ended).by, "silence");
});
