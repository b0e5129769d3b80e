/**
 * The mode of the terminal that this program was started on: set to raw, so that every key and every byte passes
 * unchanged, and later set back to what it was.
 *
 * `Deno.stdin.setRaw` is not enough: it lets the terminal add a return to line feeds, which tears the screens of
 * programs that have switched that off on their side.
 */

import { allocate, type CBuffer, loadFromLibc } from "./libc.ts";

/** Larger than `struct termios` of any Linux. */
const TERMIOS_BYTES = 256;
/** After what was written has gone out. */
const TCSADRAIN = 1;

let functions: ReturnType<typeof load> | undefined;

/** The buffers are the caller's. */
function load() {
  return loadFromLibc({
    tcgetattr: { parameters: ["i32", "buffer"], result: "i32" },
    tcsetattr: { parameters: ["i32", "i32", "buffer"], result: "i32" },
    cfmakeraw: { parameters: ["buffer"], result: "void" },
  });
}

/** The mode of a terminal, for `setTerminalMode`; null when the descriptor is not a terminal. */
export function terminalMode(descriptor: number): CBuffer | null {
  const c = functions ??= load();
  const mode = allocate(TERMIOS_BYTES);
  return c.tcgetattr(descriptor, mode) === 0 ? mode : null;
}

/** The raw mode that belongs to this one. */
export function rawMode(mode: CBuffer): CBuffer {
  const c = functions ??= load();
  const raw = allocate(TERMIOS_BYTES);
  raw.set(mode);
  c.cfmakeraw(raw);
  return raw;
}

/** False when the terminal is gone. */
export function setTerminalMode(descriptor: number, mode: CBuffer): boolean {
  const c = functions ??= load();
  return c.tcsetattr(descriptor, TCSADRAIN, mode) === 0;
}
