/** What lies in another process's memory. */

import { addressOf, allocate, libc, whilePinned } from "./libc.ts";

/**
 * Reads so many bytes, or as many as there are; null when there are none or they are not ours to read. On another thread,
 * since the other process chooses where its memory comes from: a file of a server that does not answer would stop us.
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
    () => libc().process_vm_readv(pid, ours, 1n, theirs, 1n, 0n),
  );
  return count > 0 ? bytes.subarray(0, count) : null;
}
