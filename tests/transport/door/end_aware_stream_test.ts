import assert from "node:assert/strict";
import type { AcceptedStream } from "../../../src/transport/listen/stream_source.ts";
import { EndAwareStream } from "../../../src/transport/door/end_aware_stream.ts";

/** A stream whose reads end when the test says so. */
function scriptedStream() {
  const reads: PromiseWithResolvers<Uint8Array | null>[] = [];
  const stream: AcceptedStream = {
    async read(into) {
      const next = Promise.withResolvers<Uint8Array | null>();
      reads.push(next);
      const bytes = await next.promise;
      if (bytes !== null) into.set(bytes);
      return bytes?.length ?? null;
    },
    write: (bytes) => Promise.resolve(bytes.length),
    closeWrite: () => Promise.resolve(),
    close: () => {},
    describePeer: () => "peer",
    endpoints: () => null,
  };
  return { stream, reads };
}

Deno.test("EndAwareStream tells that the peer has gone, and a failed connection counts as gone", async () => {
  const closed = scriptedStream();
  const gone = new EndAwareStream(closed.stream).whenGone();
  closed.reads[0]!.resolve(null);
  await gone;

  const failed = scriptedStream();
  const watched = new EndAwareStream(failed.stream);
  failed.reads[0]!.reject(new Error("reset"));
  await watched.whenGone();
  await assert.rejects(watched.read(new Uint8Array(8)), /reset/);
});

Deno.test("EndAwareStream hands out what it has read ahead, in the reader's portions, and then reads on", async () => {
  const { stream, reads } = scriptedStream();
  const watched = new EndAwareStream(stream);
  reads[0]!.resolve(Uint8Array.of(1, 2, 3));
  const into = new Uint8Array(2);
  assert.equal(await watched.read(into), 2);
  assert.deepEqual([...into], [1, 2]);
  assert.equal(await watched.read(into), 1);
  assert.equal(into[0], 3);
  assert.equal(reads.length, 1);
  const next = watched.read(into);
  reads[1]!.resolve(Uint8Array.of(9));
  assert.equal(await next, 1);
  assert.equal(into[0], 9);
});

Deno.test("EndAwareStream passes on that an arrival is to be confirmed", () => {
  let confirmed = 0;
  new EndAwareStream({ ...scriptedStream().stream, confirmArrival: () => void confirmed++ }).confirmArrival();
  assert.equal(confirmed, 1);
});
