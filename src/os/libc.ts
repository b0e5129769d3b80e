/**
 * The C library: the functions that a server needs before it has answered its first client, and how other modules load
 * theirs. They are loaded on first use and kept for good.
 *
 * Loading is not free. For every function that is called on this thread the runtime compiles a piece of machine code,
 * which takes 0.1 to 0.25 ms and makes calls faster. A server does that in its warm-up (`postponeCompiling`,
 * `compileLibc`). Functions that are needed later, or for one kind of work only, are in tables of the modules that call
 * them.
 *
 * The way to read memory that is not ours is here. Results are declared `i32`, so that they are plain numbers
 * where a number is enough: `isize` always becomes a BigInt. What the functions mean together is left to the modules
 * beside this one.
 *
 * Functions declared `nonblocking` run on threads of the runtime's blocking pool. For such a call the runtime does not
 * keep the buffers alive by itself (a compiled program was seen to corrupt them): make it inside `whilePinned`.
 */

import { internalError, messageOf } from "../errors.ts";
import { LIBC_PATHS } from "./libc_access.ts";

/**
 * A C structure or string of ours. Always backed by its own ArrayBuffer: small arrays may otherwise live on the moving
 * heap.
 */
export type CBuffer = Uint8Array<ArrayBuffer>;

/**
 * Comments say who owns, and so frees, what a row touches. All buffers are only borrowed for the duration of the call
 * unless stated. Variadic functions are declared with the arguments we pass, which is right for integer arguments on
 * x86-64 and on Linux arm64.
 */
const SYMBOLS = {
  // Descriptors. Returned ones are owned by the caller, who closes them.
  open: { parameters: ["buffer", "i32", "u32"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
  read: { parameters: ["i32", "buffer", "usize"], result: "i32" },
  fcntl: { parameters: ["i32", "i32", "i32"], result: "i32" },
  /** Not terminated; the length is returned. */
  readlink: { parameters: ["buffer", "buffer", "usize"], result: "i32" },

  // Readiness.
  epoll_create1: { parameters: ["i32"], result: "i32" },
  /** The event is copied by the kernel. */
  epoll_ctl: { parameters: ["i32", "i32", "i32", "buffer"], result: "i32" },
  /** On another thread: the buffer belongs to the call until its promise resolves. */
  epoll_wait: { parameters: ["i32", "buffer", "i32", "i32"], result: "i32", nonblocking: true },
  /** The same without waiting, on this thread: only with a timeout of 0. */
  epoll_poll: { name: "epoll_wait", parameters: ["i32", "buffer", "i32", "i32"], result: "i32" },
  /**
   * Waits on this thread, for as long as the `timespec` says: the reactor alone knows how long is short enough. By
   * number, since C libraries before 2.35 do not have epoll_pwait2.
   */
  epollPwait2: {
    name: "syscall",
    parameters: ["isize", "i32", "buffer", "i32", "buffer", "usize", "usize"],
    result: "i32",
  },
  eventfd: { parameters: ["u32", "i32"], result: "i32" },
  sched_yield: { parameters: [], result: "i32" },

  // Sockets. Accepted ones are the caller's.
  accept4: { parameters: ["i32", "usize", "usize", "i32"], result: "i32" },
  send: { parameters: ["i32", "buffer", "usize", "i32"], result: "i32" },
  setsockopt: { parameters: ["i32", "i32", "i32", "buffer", "u32"], result: "i32" },
  getsockopt: { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" },
  getpeername: { parameters: ["i32", "buffer", "buffer"], result: "i32" },

  // Limits, and calls that have no name here.
  prlimit64: { parameters: ["i32", "i32", "buffer", "buffer"], result: "i32" },
  /** For calls that are younger than some C libraries, or rare. The first argument is the number. */
  syscall: { parameters: ["isize", "isize", "isize", "isize", "isize"], result: "i32" },

  // Addresses, declared as integers: a permission scoped to this one library forbids pointer objects.
  /** With length 0: the address of the first buffer. */
  addressOf: { name: "memcpy", parameters: ["buffer", "buffer", "usize"], result: "usize" },
  /** From foreign memory into ours. The caller must make sure that the address is right. */
  copyFrom: { name: "memcpy", parameters: ["buffer", "usize", "usize"], result: "usize" },
  __errno_location: { parameters: [], result: "usize" },
} as const satisfies Deno.ForeignLibraryInterface;

export type Libc = Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];

let loaded: Libc | undefined;

let compiles = true;
/** Those that were loaded without being compiled. */
const twofoldTables: TwofoldTable[] = [];

/** The functions above; loads them on the first call. */
export function libc(): Libc {
  return loaded ??= loadTable(SYMBOLS);
}

/** Further functions, for a module with a table of its own: loaded by the first call of what is returned. */
export function libcFunctions<const Symbols extends Deno.ForeignLibraryInterface>(
  symbols: Symbols,
): () => Deno.DynamicLibrary<Symbols>["symbols"] {
  let loaded: Deno.DynamicLibrary<Symbols>["symbols"] | undefined;
  return () => {
    if (loaded === undefined) {
      libc(); // Reading errno after a call must not have to load anything in between.
      loaded = loadTable(symbols);
    }
    return loaded;
  };
}

/** From now on functions are loaded without being compiled, until `compileLibc`. */
export function postponeCompiling(): void {
  compiles = false;
}

/** Compiles what was loaded since `postponeCompiling`: some milliseconds. */
export function compileLibc(): void {
  compiles = true;
  for (const table of twofoldTables.splice(0)) table.compile();
}

function loadTable<const Symbols extends Deno.ForeignLibraryInterface>(
  symbols: Symbols,
): Deno.DynamicLibrary<Symbols>["symbols"] {
  if (compiles) return loadFromLibc(symbols);
  const table = new TwofoldTable(symbols);
  twofoldTables.push(table);
  return table.calls as Deno.DynamicLibrary<Symbols>["symbols"];
}

type AnyCall = (...args: unknown[]) => unknown;
type AnyCalls = Record<string, AnyCall>;

/**
 * The runtime compiles no function that takes a structure by value. So one is declared behind the real arguments, of one
 * byte. C functions do not see arguments they do not know of: the caller alone puts them in place and removes them, on
 * x86-64 and arm64 alike.
 */
const UNSEEN = { struct: ["u8"] } as const;
const UNSEEN_VALUE = new Uint8Array(new ArrayBuffer(1));

/**
 * Functions that are called as they are at first, and compiled from some moment on.
 *
 * The engine remembers at each call which function it goes to, and a call that has gone to two is never optimised into
 * a direct one: an echo took a third more time, for good, where the first client came early. So `calls` are always the
 * same functions, and in each of them one call goes to what is not compiled, and another to what is. For that every one
 * needs code of its own, which is why it is written here.
 */
class TwofoldTable {
  readonly calls: Record<string, unknown>;
  readonly #symbols: Deno.ForeignLibraryInterface;
  readonly #state: { readonly plain: AnyCalls; compiled: AnyCalls | null };

  constructor(symbols: Deno.ForeignLibraryInterface) {
    this.#symbols = Object.fromEntries(Object.entries(symbols).filter(([, symbol]) => isCompiled(symbol)));
    const declared = Object.entries(symbols).map(([name, symbol]) => [name, withUnseen(symbol)]);
    const plain: Record<string, unknown> = loadFromLibc(Object.fromEntries(declared));
    this.#state = { plain: plain as AnyCalls, compiled: null };
    // One that this system does not have is null.
    const own = Object.entries(this.#symbols).filter(([name]) => typeof plain[name] === "function");
    const texts = own.map(([name, symbol]) => callText(name, (symbol as Deno.ForeignFunction).parameters.length));
    const write = new Function("state", "unseen", `return {${texts.join(",")}}`);
    this.calls = { ...plain, ...write(this.#state, UNSEEN_VALUE) };
  }

  compile(): void {
    this.#state.compiled = loadFromLibc(this.#symbols) as unknown as AnyCalls;
  }
}

/** What runs on another thread never is. */
function isCompiled(symbol: Deno.ForeignLibraryInterface[string]): boolean {
  return "parameters" in symbol && symbol.nonblocking !== true;
}

function withUnseen(symbol: Deno.ForeignLibraryInterface[string]): Deno.ForeignLibraryInterface[string] {
  if (!isCompiled(symbol)) return symbol;
  const { parameters } = symbol as Deno.ForeignFunction;
  return { ...symbol, parameters: [...parameters, UNSEEN] } as Deno.ForeignFunction;
}

/** The name is one of our tables'. */
function callText(name: string, parameterCount: number): string {
  const names = Array.from({ length: parameterCount }, (_, index) => `a${index}`);
  const [given, passedOn] = [names.join(), [...names, "unseen"].join()];
  return `${name}:(${given})=>state.compiled===null?state.plain.${name}(${passedOn}):state.compiled.${name}(${given})`;
}

/** Loads functions now, compiled. Throws where the C library cannot be loaded. */
export function loadFromLibc<Symbols extends Deno.ForeignLibraryInterface>(
  symbols: Symbols,
): Deno.DynamicLibrary<Symbols>["symbols"] {
  if (Deno.build.os !== "linux") throw internalError(`Cannot load the C library: unsupported system ${Deno.build.os}`);
  let failure: unknown;
  for (const path of LIBC_PATHS) {
    try {
      return Deno.dlopen(path, symbols).symbols;
    } catch (error) {
      failure ??= error;
    }
  }
  throw internalError(`Cannot load the C library: ${messageOf(failure)}`, failure);
}

const errnoBytes = new Uint8Array(new ArrayBuffer(4));

/**
 * Why the call just made failed. Only for messages, and only directly after a call on this thread: the runtime may
 * come in between, so nothing is decided by it.
 */
export function lastErrno(): number {
  const { __errno_location, copyFrom } = libc();
  copyFrom(errnoBytes, __errno_location(), 4n);
  return new DataView(errnoBytes.buffer).getInt32(0, true);
}

/** Zeroed memory for a C structure of at most `bytes`. */
export function allocate(bytes: number): CBuffer {
  return new Uint8Array(new ArrayBuffer(bytes));
}

const pinned = new Set<readonly CBuffer[]>();

/** How many calls are under way on other threads. Their results arrive when this thread is free. */
export function callsUnderWay(): number {
  return pinned.size;
}

/** Makes a call on another thread and keeps its buffers alive until it has returned. */
export async function whilePinned<T>(buffers: readonly CBuffer[], call: () => Promise<T>): Promise<T> {
  pinned.add(buffers);
  try {
    return await call();
  } finally {
    pinned.delete(buffers);
  }
}

/** Where a buffer lies. Valid for as long as the buffer is reachable. */
export function addressOf(buffer: CBuffer): bigint {
  return libc().addressOf(buffer, buffer, 0n);
}

const encoder = new TextEncoder();

/** A NUL-terminated copy. The caller has made sure that there is no NUL inside. */
export function cString(text: string | Uint8Array): CBuffer {
  const bytes = typeof text === "string" ? encoder.encode(text) : text;
  const terminated = allocate(bytes.length + 1);
  terminated.set(bytes);
  return terminated;
}

/**
 * A NULL-terminated `char *[]` of strings without NUL. Pointers and strings share one buffer: the collector does not
 * see pointers, so memory reachable through them alone could be freed before the call that follows them.
 */
export function cStringArray(texts: readonly (string | Uint8Array)[]): CBuffer {
  const parts = texts.map((text) => typeof text === "string" ? encoder.encode(text) : text);
  const pointerBytes = (parts.length + 1) * 8;
  const array = allocate(parts.reduce((sum, part) => sum + part.length + 1, pointerBytes));
  const view = new DataView(array.buffer);
  const base = addressOf(array);
  let offset = pointerBytes;
  parts.forEach((part, index) => {
    array.set(part, offset);
    view.setBigUint64(index * 8, base + BigInt(offset), true);
    offset += part.length + 1;
  });
  return array;
}
