/**
 * What a waiting `execve` or `execveat` asks for, copied from its caller.
 *
 * A copy: another thread of the caller may change the original at any time, so what is escalated is this copy and
 * nothing else. The answer is an error number where the kernel itself would refuse the call.
 */

import { dirname, resolve } from "node:path/posix";
import { syscallNumber } from "../../launch/stub/syscalls.ts";
import { fileSeenBy, findFileSeenBy, linkOf, type SeenFile } from "../../os/children/foreign_process.ts";
import {
  MemoryTooLongError,
  type PageHints,
  RemoteMemory,
  UnreadableMemoryError,
} from "../../os/children/remote_memory.ts";
import { EACCES, EBADF, EFAULT, ENAMETOOLONG, ENOENT } from "../../os/errno.ts";
import { type ByteString, byteStringOf, toByteString } from "../../os/files/byte_string.ts";
import type { SupervisedCall } from "../posix/supervised_calls.ts";

const E2BIG = 7;
/** The longest path the kernel takes, without its end. */
const MAX_PATH_BYTES = 4095;
/** The kernel takes at most three quarters of 8 MiB for arguments and environment together. */
const MAX_EXEC_BYTES = 6 * 1024 * 1024;

/** More than a shell has on its PATH and in its scripts. */
const MAX_DIRECTORIES = 256;

const AT_FDCWD = -100;
const AT_EMPTY_PATH = 0x1000;

const EXECVEAT = Deno.build.os === "linux" ? syscallNumber("execveat", Deno.build.arch) : undefined;

export interface ExecRequest {
  /** What the kernel will call it to the program itself: as the caller named it, or a name made of a descriptor. */
  readonly givenName: ByteString;
  /** As the caller named it, absolute, and with `.` and `..` removed as text. */
  readonly file: string;
  readonly argv: readonly Uint8Array<ArrayBuffer>[];
  readonly env: readonly Uint8Array<ArrayBuffer>[];
  readonly cwd: string;
  /** The file that the caller sees there. */
  readonly seen: SeenFile;
}

/** What was learnt from earlier calls of one shell, so that the next is answered sooner. */
export class ExecExperience {
  /** Where the shell has its words. */
  readonly hints: PageHints = { pages: [] };
  /** Directories that have answered: they are not on a mount that hangs. */
  readonly #answering = new Set<string>();

  async find(tid: number, path: string): Promise<SeenFile> {
    const directory = dirname(path);
    if (this.#answering.has(directory)) return fileSeenBy(tid, path);
    const seen = await findFileSeenBy(tid, path);
    if (this.#answering.size >= MAX_DIRECTORIES) this.#answering.clear();
    this.#answering.add(directory);
    return seen;
  }
}

export async function readExecRequest(
  call: SupervisedCall,
  { experience, isShell }: { readonly experience: ExecExperience; readonly isShell: boolean },
): Promise<ExecRequest | number> {
  const [directory, text, argv, env, flags] = call.number === EXECVEAT
    ? [Number(BigInt.asIntN(32, call.args[0]!)), call.args[1]!, call.args[2]!, call.args[3]!, Number(call.args[4]!)]
    : [AT_FDCWD, call.args[0]!, call.args[1]!, call.args[2]!, 0];
  try {
    // A shell copies its words before it executes anything; a program may have them anywhere.
    const options = isShell ? { hints: experience.hints, isPrivate: true } : {};
    const memory = new RemoteMemory(call.tid, options);
    const copies = await memory.read({ text, lists: [argv, env], maxBytes: MAX_EXEC_BYTES });
    if (copies.text.length > MAX_PATH_BYTES) return ENAMETOOLONG;
    const path = new TextDecoder().decode(copies.text);
    const place = placeOf(call.tid, path, { directory, flags });
    if (typeof place === "number") return place;
    const seen = place.isOpenFile ? { type: "unknown" } as const : await experience.find(call.tid, place.absolute);
    // The kernel's own error. Answered here, so that nothing can appear there afterwards and run undecided.
    if (seen.type === "missing") return ENOENT;
    if (seen.type === "file" && !seen.isProgram) return EACCES;
    const [argvCopy, envCopy] = copies.lists;
    const file = place.isOpenFile ? place.absolute : resolve("/", place.absolute);
    const givenName = (toByteString(place.prefix) + byteStringOf(copies.text)) as ByteString;
    return { givenName, file, argv: argvCopy!, env: envCopy!, cwd: place.cwd, seen };
  } catch (error) {
    if (error instanceof UnreadableMemoryError) return EFAULT;
    if (error instanceof MemoryTooLongError) return E2BIG;
    throw error;
  }
}

interface Place {
  /** May contain links, `.` and `..`. */
  readonly absolute: string;
  readonly cwd: string;
  /** It is not looked up by name. The name then only tells what was opened once. */
  readonly isOpenFile: boolean;
  /** What the kernel puts before the path when it tells the program. */
  readonly prefix: string;
}

function placeOf(tid: number, path: string, at: { directory: number; flags: number }): Place | number {
  const cwd = linkOf(tid, "cwd");
  if (cwd === null) return ENOENT;
  if (path.startsWith("/")) return { absolute: path, cwd, isOpenFile: false, prefix: "" };
  const base = at.directory === AT_FDCWD ? cwd : linkOf(tid, `fd/${at.directory}`);
  if (base === null) return EBADF;
  const isHere = at.directory === AT_FDCWD;
  const opened = `/dev/fd/${at.directory}`;
  if (path !== "") return { absolute: `${base}/${path}`, cwd, isOpenFile: false, prefix: isHere ? "" : `${opened}/` };
  if ((at.flags & AT_EMPTY_PATH) === 0) return ENOENT;
  return { absolute: base, cwd, isOpenFile: true, prefix: isHere ? "" : opened };
}
