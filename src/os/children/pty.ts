/**
 * Pseudo-terminals: the pair of a master, which we read and write, and a slave, which becomes the child's terminal.
 */

import {
  closeDescriptor,
  descriptorFunctions,
  failure,
  O_CLOEXEC,
  O_NOCTTY,
  O_NONBLOCK,
  O_RDWR,
  openDescriptor,
} from "../descriptor.ts";
import { allocate, lastErrno, libcFunctions } from "../libc.ts";

/** The descriptor from posix_openpt is the caller's; the name is written into the caller's buffer. */
const terminalFunctions = libcFunctions({
  posix_openpt: { parameters: ["i32"], result: "i32" },
  grantpt: { parameters: ["i32"], result: "i32" },
  unlockpt: { parameters: ["i32"], result: "i32" },
  ptsname_r: { parameters: ["i32", "buffer", "usize"], result: "i32" },
});

const TIOCGPGRP = 0x540fn;
const TIOCGSID = 0x5429n;
const TIOCSWINSZ = 0x5414n;
/** `/dev/pts/` and a number. */
const MAX_NAME_BYTES = 64;

export interface TerminalSize {
  readonly rows: number;
  readonly cols: number;
}

export interface Terminal {
  /** Nonblocking. Owned by the caller. */
  readonly master: number;
  /**
   * Our own hold on the slave, owned by the caller. While it is open the master is not hung up. So a child may close
   * all its descriptors and open `/dev/tty` again later without its output being taken as ended.
   */
  readonly slave: number;
  /** Opening this in a session without a terminal makes it that session's controlling terminal. */
  readonly slavePath: string;
}

/** Loads what the first terminal would otherwise wait for. */
export function loadTerminalFunctions(): void {
  terminalFunctions();
}

export function openTerminal(size: TerminalSize): Terminal {
  const c = terminalFunctions();
  const master = c.posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (master < 0) throw failure(lastErrno());
  try {
    const name = allocate(MAX_NAME_BYTES);
    if (c.grantpt(master) !== 0 || c.unlockpt(master) !== 0) throw failure(lastErrno());
    const errno = c.ptsname_r(master, name, BigInt(MAX_NAME_BYTES));
    if (errno !== 0) throw failure(errno);
    const slavePath = new TextDecoder().decode(name.subarray(0, name.indexOf(0)));
    setTerminalSize(master, size);
    const slave = openDescriptor(slavePath, O_RDWR | O_NOCTTY);
    if (slave < 0) throw failure(lastErrno());
    return { master, slave, slavePath };
  } catch (error) {
    closeDescriptor(master);
    throw error;
  }
}

/** The foreground process group gets SIGWINCH when the size changes. */
export function setTerminalSize(master: number, size: TerminalSize): void {
  const winsize = allocate(8);
  const view = new DataView(winsize.buffer);
  view.setUint16(0, size.rows, true);
  view.setUint16(2, size.cols, true);
  if (descriptorFunctions().ioctl(master, TIOCSWINSZ, winsize) !== 0) throw failure(lastErrno());
}

/** A process group of a terminal, and the session it is in. */
export interface TerminalGroup {
  readonly pgid: number;
  readonly sid: number;
}

/**
 * The process group that has the terminal now: what a shell runs in the foreground, or the shell itself. Null when
 * there is none, or it is in a process namespace that is not visible from here. The terminal may also name a group
 * whose last process has ended, and that number may have been reused since. So callers must check that it is in the
 * session.
 */
export function foregroundGroup(master: number): TerminalGroup | null {
  const [pgid, sid] = [ask(master, TIOCGPGRP), ask(master, TIOCGSID)];
  // 0 and 1 would mean our own group and all processes.
  return pgid > 1 && sid > 1 ? { pgid, sid } : null;
}

function ask(master: number, request: bigint): number {
  const answer = allocate(4);
  return descriptorFunctions().ioctl(master, request, answer) === 0 ? new DataView(answer.buffer).getInt32(0, true) : 0;
}
