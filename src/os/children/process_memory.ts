/** Reads another process's memory. */

import { addressOf, allocate, libcFunctions, whilePinned } from "../libc.ts";

const memoryFunctions = libcFunctions({
  /**
   * On another thread: it waits if the memory must first be read from a file. Both lists of areas, and our buffers,
   * belong to the call until its promise resolves.
   */
  process_vm_readv: {
    parameters: ["i32", "buffer", "usize", "buffer", "usize", "usize"],
    result: "i32",
    nonblocking: true,
  },
});

/**
 * Reads this many bytes, or as many as there are; null when there are none or we may not read them. On another thread,
 * since the other process chooses where its memory comes from: a file on a dead network mount would stop us.
 */
export async function readMemory(
  pid: number,
  address: bigint,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const bytes = allocate(maxBytes);
  const area = (at: bigint): Uint8Array<ArrayBuffer> => {
    const vector = allocate(16);
    const view = new DataView(vector.buffer);
    view.setBigUint64(0, at, true);
    view.setBigUint64(8, BigInt(maxBytes), true);
    return vector;
  };
  const ours = area(addressOf(bytes));
  const theirs = area(address);
  const count = await whilePinned(
    [bytes, ours, theirs],
    () => memoryFunctions().process_vm_readv(pid, ours, 1n, theirs, 1n, 0n),
  );
  return count > 0 ? bytes.subarray(0, count) : null;
}
