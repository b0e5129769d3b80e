/**
 * The few machine instructions the launch stub is made of, encoded for each architecture.
 *
 * An emitter appends instructions; nothing is executed here. The stub keeps the address of its arguments (its initial
 * stack pointer) in one register; the other registers hold the arguments of system calls.
 */

/** Jumps to the place where `land` is called. */
export interface ForwardJump {
  land(): void;
}

export interface Emitter {
  /** Remembers where the kernel put the argument count, the arguments and the environment. Must come first. */
  keepStart(): void;
  /** Loads a number into the register of a system call's argument. */
  argument(index: number, value: number): void;
  /** Loads the word that lies this many bytes after the start into an argument. */
  wordFromStart(index: number, offset: number): void;
  /** Loads the address this many bytes after the start into an argument. */
  addressFromStart(index: number, offset: number): void;
  /** Loads the address of the environment, which follows the arguments and their end, into the third argument. */
  environmentAddress(): void;
  systemCall(number: number): void;
  /** Loads an address with room for a few bytes, below the stack, into the second argument. */
  scratchAddress(): void;
  /** Uses the descriptor that the last call returned as the first argument of the next. */
  resultAsFirstArgument(): void;
  /** Jumps always. */
  jump(): ForwardJump;
  /** Jumps when the last call failed. */
  jumpIfFailed(): ForwardJump;
  /** Jumps when the last call failed or returned 0. */
  jumpUnlessPositive(): ForwardJump;
  /** Writes `tag` and the last call's error number, five bytes, to a descriptor. */
  reportFailure(tag: number, descriptor: number, writeNumber: number): void;
  /** The instructions emitted so far. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** For a stub that starts children of its own. */
export interface ForkingEmitter extends Emitter {
  /** Remembers the child whose number the last call returned. */
  keepChild(): void;
  /** Closes all descriptors from `last` down to 0, except one. To be called before there is a child's end to wait for. */
  closeAllBut(kept: number, closing: { readonly last: number; readonly close: number }): void;
  /**
   * Waits for that child, and reaps whatever else ends before it. Then ends with the child's exit code; if a signal ended
   * it, with 128 and the signal's number.
   *
   * With a descriptor it tells there first how the child ended (`END_REPORT_BYTES`), and does not end before all other
   * processes below it have ended, of which it tells as well.
   */
  endWithChild(calls: EndingCalls, reportDescriptor?: number): void;
}

/** The numbers of the calls that it takes. */
export interface EndingCalls {
  readonly wait: number;
  readonly exit: number;
  readonly write: number;
}

/**
 * Length of the report of an end: the status as `wait4` has it, and a byte that is 1 if nothing else is left. If that is
 * 0, the report is followed by one more byte when nothing is left any more.
 */
export const END_REPORT_BYTES = 5;

/** Where the next constant, or the data behind the code, may begin. */
export const align = (bytes: number): number => Math.ceil(bytes / 16) * 16;

/** Length of a failure report: the tag and a 32-bit error number. */
export const FAILURE_REPORT_BYTES = 5;

export function littleEndian(value: number): number[] {
  return [value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff, (value >>> 24) & 0xff];
}

export function at<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new RangeError(`no register for argument ${index}`);
  return item;
}
