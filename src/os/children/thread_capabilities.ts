/**
 * Drops this thread's capabilities for a moment.
 *
 * Capabilities belong to threads. Those that are not effective are kept and can be made effective again. So a thread
 * can look at a file as a process with the same user and groups but no capabilities would: the kernel itself decides
 * then, with access lists and security modules. Only this thread is changed, and only while nothing else can run on it.
 */

import { failure } from "../descriptor.ts";
import { allocate, type CBuffer, lastErrno, loadFromLibc } from "../libc.ts";

const SYMBOLS = {
  capget: { parameters: ["buffer", "buffer"], result: "i32" },
  capset: { parameters: ["buffer", "buffer"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;

/** `_LINUX_CAPABILITY_VERSION_3`: two words for each set. */
const CAPABILITY_VERSION = 0x20080522;

// `struct __user_cap_header_struct`: the version, and a thread, 0 for the caller. Then for each of the two words of a
// set: effective, permitted, inheritable.
const HEADER_BYTES = 8;
const WORD_BYTES = 12;
const WORDS = [0, 1] as const;

interface Capabilities {
  readonly capset: (header: CBuffer, sets: CBuffer) => number;
  readonly header: CBuffer;
  /** As they were found, and the same with none of them effective. */
  readonly own: CBuffer;
  readonly none: CBuffer;
}

/** Null when there are none to drop. They do not change once the program runs. */
let known: Capabilities | null | undefined;

function load(): Capabilities | null {
  const { capget, capset } = loadFromLibc(SYMBOLS);
  const header = allocate(HEADER_BYTES);
  new DataView(header.buffer).setUint32(0, CAPABILITY_VERSION, true);
  const own = allocate(WORDS.length * WORD_BYTES);
  if (capget(header, own) !== 0) throw failure(lastErrno());
  const none = allocate(own.length);
  none.set(own);
  const view = new DataView(own.buffer);
  const isEffective = WORDS.some((word) => view.getUint32(word * WORD_BYTES, true) !== 0);
  for (const word of WORDS) new DataView(none.buffer).setUint32(word * WORD_BYTES, 0, true);
  return isEffective ? { capset, header, own, none } : null;
}

/** Whether this thread may do anything that others of its user may not. */
export function hasCapabilities(): boolean {
  if (known === undefined) known = load();
  return known !== null;
}

/** Runs `work`, which must not wait for anything, without capabilities. */
export function withoutCapabilities<Value>(work: () => Value): Value {
  if (!hasCapabilities()) return work();
  const { capset, header, own, none } = known!;
  const become = (sets: CBuffer): void => {
    if (capset(header, sets) !== 0) throw failure(lastErrno());
  };
  become(none);
  try {
    return work();
  } finally {
    // What is permitted can always be made effective again.
    become(own);
  }
}
