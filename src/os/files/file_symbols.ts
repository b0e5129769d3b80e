/**
 * The C library's file functions and how their failures are read: loaded on first use and kept for good.
 *
 * The modules beside this one use them and give each function its meaning. Their results follow the kernel and not the
 * C library: a number that is not negative, or minus the error number.
 */

import { EINTR } from "../errno.ts";
import { allocate, loadFromLibc } from "../libc.ts";

/** Buffers are only borrowed for the duration of the call. Descriptors that are returned belong to the caller. */
const SYMBOLS = {
  openat: { parameters: ["i32", "buffer", "i32", "u32"], result: "i32" },
  /** Only for openat2, which the C library does not wrap. */
  syscall: { parameters: ["i64", "i32", "buffer", "buffer", "usize"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
  statx: { parameters: ["i32", "buffer", "i32", "u32", "buffer"], result: "i32" },
  statfs: { parameters: ["buffer", "buffer"], result: "i32" },
  fstatfs: { parameters: ["i32", "buffer"], result: "i32" },
  faccessat: { parameters: ["i32", "buffer", "i32", "i32"], result: "i32" },
  realpath: { parameters: ["buffer", "buffer"], result: "usize" },

  read: { parameters: ["i32", "buffer", "usize"], result: "i32" },
  pread: { parameters: ["i32", "buffer", "usize", "i64"], result: "i32" },
  preadv2: { parameters: ["i32", "buffer", "i32", "i64", "i32"], result: "i32" },
  write: { parameters: ["i32", "buffer", "usize"], result: "i32" },
  pwrite: { parameters: ["i32", "buffer", "usize", "i64"], result: "i32" },
  ftruncate: { parameters: ["i32", "i64"], result: "i32" },
  flock: { parameters: ["i32", "i32"], result: "i32" },
  fchmod: { parameters: ["i32", "u32"], result: "i32" },
  fchown: { parameters: ["i32", "u32", "u32"], result: "i32" },
  copy_file_range: { parameters: ["i32", "buffer", "i32", "buffer", "usize", "u32"], result: "i32" },

  getdents64: { parameters: ["i32", "buffer", "usize"], result: "i32" },
  mkdirat: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  unlinkat: { parameters: ["i32", "buffer", "i32"], result: "i32" },
  renameat2: { parameters: ["i32", "buffer", "i32", "buffer", "u32"], result: "i32" },
  linkat: { parameters: ["i32", "buffer", "i32", "buffer", "i32"], result: "i32" },
  symlinkat: { parameters: ["buffer", "i32", "buffer"], result: "i32" },
  readlinkat: { parameters: ["i32", "buffer", "buffer", "usize"], result: "i32" },
  fchmodat: { parameters: ["i32", "buffer", "u32", "i32"], result: "i32" },
  utimensat: { parameters: ["i32", "buffer", "buffer", "i32"], result: "i32" },
  futimens: { parameters: ["i32", "buffer"], result: "i32" },

  flistxattr: { parameters: ["i32", "buffer", "usize"], result: "i32" },
  fgetxattr: { parameters: ["i32", "buffer", "buffer", "usize"], result: "i32" },
  fsetxattr: { parameters: ["i32", "buffer", "buffer", "usize", "i32"], result: "i32" },
  fremovexattr: { parameters: ["i32", "buffer"], result: "i32" },

  inotify_init1: { parameters: ["i32"], result: "i32" },
  inotify_add_watch: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  inotify_rm_watch: { parameters: ["i32", "i32"], result: "i32" },

  // On another thread: buffers belong to the call until its promise resolves, and errno is out of reach.
  preadOnPool: { name: "pread", parameters: ["i32", "buffer", "usize", "i64"], result: "i32", nonblocking: true },
  pwriteOnPool: { name: "pwrite", parameters: ["i32", "buffer", "usize", "i64"], result: "i32", nonblocking: true },
  ftruncateOnPool: { name: "ftruncate", parameters: ["i32", "i64"], result: "i32", nonblocking: true },
  fsyncOnPool: { name: "fsync", parameters: ["i32"], result: "i32", nonblocking: true },
  copyRangeOnPool: {
    name: "copy_file_range",
    parameters: ["i32", "buffer", "i32", "buffer", "usize", "u32"],
    result: "i32",
    nonblocking: true,
  },

  // Addresses, declared as integers: a permission scoped to this one library forbids pointer objects.
  __errno_location: { parameters: [], result: "usize" },
  /** With length 0: the address of the first buffer. */
  addressOf: { name: "memcpy", parameters: ["buffer", "buffer", "usize"], result: "usize" },
  copyFrom: { name: "memcpy", parameters: ["buffer", "usize", "usize"], result: "usize" },
} as const satisfies Deno.ForeignLibraryInterface;

/** The functions by name. */
export type FileSymbols = Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];

let symbols: FileSymbols | undefined;
let errnoAddress = 0n;

export function fileSymbols(): FileSymbols {
  return symbols ??= load();
}

function load(): FileSymbols {
  const loaded = loadFromLibc(SYMBOLS);
  // Each thread has its own errno, and JavaScript of one isolate never changes threads.
  errnoAddress = loaded.__errno_location();
  return loaded;
}

const errnoBytes = allocate(4);
const errnoView = new DataView(errnoBytes.buffer);

/** Why the call just made on this thread failed; now and then wrong, see `settle`. */
export function readErrno(): number {
  fileSymbols().copyFrom(errnoBytes, errnoAddress, 4n);
  return errnoView.getInt32(0, true);
}

/** More attempts than can plausibly be spoilt or interrupted in a row. */
const MAX_ATTEMPTS = 16;

/**
 * The result of a call that has no effect when it fails.
 *
 * The runtime may run something of its own between the failed call and the reading of errno; that was seen once in
 * 800,000 failures. So a failed call is made again until two failures in a row give the same reason. If it succeeds
 * meanwhile, that is the result. Only failures pay for this.
 */
export function settle(call: () => number): number {
  let result = call();
  if (result >= 0) return result;
  let reason = readErrno();
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    result = call();
    if (result >= 0) return result;
    const again = readErrno();
    if (again === reason && again !== 0 && again !== EINTR) break;
    reason = again;
  }
  return -reason;
}

/** The longest path a call takes, with its terminating NUL. */
const PATH_MAX = 4096;

/** Where path arguments are written, one for each a call can have. Calls are synchronous, so they never overlap. */
export const firstPath = allocate(PATH_MAX);
export const secondPath = allocate(PATH_MAX);
