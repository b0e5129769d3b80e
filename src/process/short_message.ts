/** Messages of a few bytes that a child leaves in a pipe. */

import { setNonblocking } from "../os/descriptor.ts";
import { FdReader } from "../os/fd_reader.ts";
import type { Reactor } from "../os/reactor.ts";

/** Room for a small JSON object. What lies beyond is dropped: no child of ours has that much to say. */
const MAX_MESSAGE_BYTES = 4096;

/** Everything until the pipe's end; null when it does not end in time. Takes the descriptor over. */
export async function readShort(
  reactor: Reactor,
  fd: number,
  options: { readonly timeoutMs: number },
): Promise<Uint8Array<ArrayBuffer> | null> {
  setNonblocking(fd);
  const bytes: number[] = [];
  const { promise, resolve } = Promise.withResolvers<Uint8Array<ArrayBuffer> | null>();
  const reader = new FdReader(reactor, fd, {
    maxChunkBytes: MAX_MESSAGE_BYTES,
    onBytes: (some) => {
      if (bytes.length < MAX_MESSAGE_BYTES) bytes.push(...some);
    },
    onEnd: () => resolve(Uint8Array.from(bytes)),
  });
  const timer = setTimeout(() => resolve(null), options.timeoutMs);
  reader.resume();
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    reader.close();
  }
}
