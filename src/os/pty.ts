/**
 * Pseudo-terminals: the pair of a master, which we read and write, and a slave, which becomes the child's terminal.
 */

import { closeDescriptor, failure, O_CLOEXEC, O_NOCTTY, O_NONBLOCK, O_RDWR, openPath } from "./descriptor.ts";
import { allocate, lastErrno, libc } from "./libc.ts";

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
   * Our own hold on the slave, owned by the caller. While it is open the master is not hung up, so a child may close
   * all its descriptors and open `/dev/tty` again later without its output being taken for ended.
   */
  readonly slave: number;
  /** Opening this in a session without a terminal makes it that session's controlling terminal. */
  readonly slavePath: string;
}

export function openTerminal(size: TerminalSize): Terminal {
  const c = libc();
  const master = c.posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (master < 0) throw failure(lastErrno());
  try {
    const name = allocate(MAX_NAME_BYTES);
    if (c.grantpt(master) !== 0 || c.unlockpt(master) !== 0) throw failure(lastErrno());
    const errno = c.ptsname_r(master, name, BigInt(MAX_NAME_BYTES));
    if (errno !== 0) throw failure(errno);
    const slavePath = new TextDecoder().decode(name.subarray(0, name.indexOf(0)));
    setTerminalSize(master, size);
    const slave = openPath(slavePath, O_RDWR | O_NOCTTY);
    if (slave < 0) throw failure(lastErrno());
    return { master, slave, slavePath };
  } catch (error) {
    closeDescriptor(master);
    throw error;
  }
}

/** The foreground process group is told with SIGWINCH when the size changes. */
export function setTerminalSize(master: number, size: TerminalSize): void {
  const winsize = allocate(8);
  const view = new DataView(winsize.buffer);
  view.setUint16(0, size.rows, true);
  view.setUint16(2, size.cols, true);
  if (libc().ioctl(master, TIOCSWINSZ, winsize) !== 0) throw failure(lastErrno());
}
