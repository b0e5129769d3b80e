/**
 * What a waiting `execve` or `execveat` asks for, copied from its caller.
 *
 * A copy: another thread of the caller may change the original at any time, so what is escalated is this copy and
 * nothing else. Where the kernel itself would refuse the call, its error is the answer.
 */

import { dirname, resolve } from "node:path/posix";
import { syscallNumber } from "../../launch/stub/syscalls.ts";
import {
  fileBehind,
  fileSeenBy,
  findFileSeenBy,
  identityOf,
  linkOf,
  openBehind,
  openSeenBy,
  type SeenFile,
} from "../../os/children/foreign_process.ts";
import { MAX_EXEC_BYTES } from "../../os/children/program.ts";
import {
  MemoryTooLongError,
  type PageHints,
  RemoteMemory,
  UnreadableMemoryError,
} from "../../os/children/remote_memory.ts";
import { closeDescriptor } from "../../os/descriptor.ts";
import { E2BIG, EACCES, EBADF, EFAULT, ENAMETOOLONG, ENOENT } from "../../os/errno.ts";
import { type ByteString, byteStringOf, lossyText, toByteString } from "../../os/files/byte_string.ts";
import type { SupervisedCall } from "../posix/supervised_calls.ts";
import type { ExecCall } from "./exec_decision.ts";

/** The longest path the kernel takes, without its end. */
const MAX_PATH_BYTES = 4095;

/** More than a shell has on its PATH and in its scripts. */
const MAX_DIRECTORIES = 256;

const AT_FDCWD = -100;
const AT_EMPTY_PATH = 0x1000;

const EXECVEAT = Deno.build.os === "linux" ? syscallNumber("execveat", Deno.build.arch) : undefined;

export interface ExecRequest {
  /** What the kernel will call it to the program itself: as the caller named it, or a name made of a descriptor. */
  readonly givenName: ByteString;
  /** As the caller named it, absolute, and with `.` and `..` removed as text. */
  readonly file: ByteString;
  readonly argv: readonly Uint8Array<ArrayBuffer>[];
  readonly env: readonly Uint8Array<ArrayBuffer>[];
  readonly cwd: ByteString;
  /** The file that the caller sees there. */
  readonly seen: SeenFile;
}

/** A byte order mark is part of a word. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** As text, for the decision: what is not UTF-8 is replaced. */
export function describeExec(
  { file, argv, env, cwd }: Pick<ExecRequest, "file" | "argv" | "env" | "cwd">,
): Pick<ExecCall, "file" | "argv" | "env" | "cwd"> {
  return {
    file: lossyText(file),
    argv: argv.map((word) => decoder.decode(word)),
    cwd: lossyText(cwd),
    // Made when it is looked at: no rule is about it, and there may be many variables.
    get env() {
      const variables = env.map((entry) => decoder.decode(entry)).flatMap((entry) => {
        const end = entry.indexOf("=");
        return end <= 0 ? [] : [[entry.slice(0, end), entry.slice(end + 1)]];
      });
      return Object.fromEntries(variables);
    },
  };
}

/** How a call names its program. What it means depends on the caller's directory and descriptors at that time. */
export interface ExecName {
  readonly directory: number;
  readonly path: ByteString;
  readonly flags: number;
}

/** A request whose program the kernel looks up again when the call goes on. */
export interface WaitingExec extends ExecRequest {
  readonly name: ExecName;
  /** The file that the decision is about; null when that cannot be told. */
  readonly identity: string | null;
}

/** The kernel itself would refuse it. */
export interface RefusedExec {
  readonly errno: number;
  /** Null where it could not be read. */
  readonly file: ByteString | null;
}

/** What was learnt from earlier calls of one shell, so that the next is answered sooner. */
export class ExecExperience {
  /** Where the shell has its words. */
  readonly hints: PageHints = { pages: [] };
  /** Directories that have answered: they are not on a mount that hangs. */
  readonly #answering = new Set<string>();

  async find(tid: number, path: ByteString): Promise<SeenFile> {
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
): Promise<WaitingExec | RefusedExec> {
  const [directory, text, argv, env, flags] = call.number === EXECVEAT
    ? [Number(BigInt.asIntN(32, call.args[0]!)), call.args[1]!, call.args[2]!, call.args[3]!, Number(call.args[4]!)]
    : [AT_FDCWD, call.args[0]!, call.args[1]!, call.args[2]!, 0];
  try {
    // A shell copies its words before it executes anything; a program may have them anywhere.
    const options = isShell ? { hints: experience.hints, isPrivate: true } : {};
    const memory = new RemoteMemory(call.tid, options);
    const copies = await memory.read({ text, lists: [argv, env], maxBytes: MAX_EXEC_BYTES });
    if (copies.text.length > MAX_PATH_BYTES) return { errno: ENAMETOOLONG, file: null };
    const path = byteStringOf(copies.text);
    const name = { directory, path, flags };
    const place = placeOf(call.tid, name);
    if (typeof place === "number") return { errno: place, file: path };
    const isOpenFile = place.openFile !== null;
    const file = isOpenFile ? place.absolute : resolve("/", place.absolute) as ByteString;
    const seen = isOpenFile ? { type: "unknown" } as const : await experience.find(call.tid, place.absolute);
    // The kernel's own error. Answered here, so that nothing can appear there afterwards and run undecided.
    if (seen.type === "missing") return { errno: ENOENT, file };
    if (seen.type === "file" && !seen.isProgram) return { errno: EACCES, file };
    const [argvCopy, envCopy] = copies.lists;
    const givenName = (toByteString(place.prefix) + path) as ByteString;
    const identity = place.openFile ??
      (seen.type === "file" ? seen.identity : await identitySeenBy(call.tid, place.absolute));
    return { givenName, file, argv: argvCopy!, env: envCopy!, cwd: place.cwd, seen, name, identity };
  } catch (error) {
    if (error instanceof UnreadableMemoryError) return { errno: EFAULT, file: null };
    if (error instanceof MemoryTooLongError) return { errno: E2BIG, file: null };
    throw error;
  }
}

/** Opens with `O_PATH` what a name means to a thread now. A descriptor, or negative. */
export async function openNamed(tid: number, name: ExecName): Promise<number> {
  const place = placeOf(tid, name);
  if (typeof place === "number") return -place;
  return place.openFile === null ? await openSeenBy(tid, place.absolute) : openBehind(tid, linkName(name.directory));
}

async function identitySeenBy(tid: number, path: ByteString): Promise<string | null> {
  const fd = await openSeenBy(tid, path);
  if (fd < 0) return null;
  const identity = identityOf(fd);
  closeDescriptor(fd);
  return identity;
}

interface Place {
  /** May contain links, `.` and `..`. */
  readonly absolute: ByteString;
  readonly cwd: ByteString;
  /** Which file, when it is not looked up by name. The name then only tells what was opened once. */
  readonly openFile: string | null;
  /** What the kernel puts before the path when it tells the program. */
  readonly prefix: string;
}

function placeOf(tid: number, { directory, path, flags }: ExecName): Place | number {
  const cwd = linkOf(tid, "cwd");
  if (cwd === null) return ENOENT;
  if (path.startsWith("/")) return { absolute: path, cwd, openFile: null, prefix: "" };
  const isHere = directory === AT_FDCWD;
  const opened = `/dev/fd/${directory}`;
  if (path !== "") {
    const base = isHere ? cwd : linkOf(tid, linkName(directory));
    if (base === null) return EBADF;
    return { absolute: `${base}/${path}` as ByteString, cwd, openFile: null, prefix: isHere ? "" : `${opened}/` };
  }
  // Both of one moment: another thread may put something else there in between.
  const file = fileBehind(tid, linkName(directory));
  if (file === null) return EBADF;
  if ((flags & AT_EMPTY_PATH) === 0) return ENOENT;
  return { absolute: file.path, cwd, openFile: file.identity, prefix: isHere ? "" : opened };
}

function linkName(directory: number): string {
  return directory === AT_FDCWD ? "cwd" : `fd/${directory}`;
}
