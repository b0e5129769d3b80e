/**
 * What the kernel makes of a script: its first line names an interpreter, which runs in its place and is given the
 * script's name. The interpreter may be a script too.
 */

import { closeDescriptor, O_RDONLY, openDescriptor } from "../../os/descriptor.ts";
import { type ByteString, byteStringOf } from "../../os/files/byte_string.ts";
import { AT_FDCWD } from "../../os/files/file_calls.ts";
import { readAt } from "../../os/files/file_content.ts";
import { S_IFREG, statFd } from "../../os/files/file_stat.ts";
import { allocate } from "../../os/libc.ts";
import { type ExecName, openNamed } from "./exec_request.ts";

/** The kernel goes no further. */
export const MAX_INTERPRETERS = 5;
/** What the kernel reads of a file to find out what it is. */
export const START_BYTES = 256;

export interface InterpretedScript {
  /** The identity of the interpreter, which is no script itself. */
  readonly interpreter: string;
  readonly words: readonly string[];
}

/**
 * How a process that has just become a script's interpreter was started, if it runs this script: its name must still
 * mean the same file, because the interpreter will look there. Null when it does not, or when the file is no script.
 */
export async function interpretedScript(
  pid: number,
  { name, identity, words }: { readonly name: ExecName; readonly identity: string; readonly words: readonly string[] },
): Promise<InterpretedScript | null> {
  const script = await lookAt(pid, name);
  if (script?.identity !== identity) return null;
  let file: LookedAt | null = script;
  let all = words;
  for (let depth = 0; depth <= MAX_INTERPRETERS && file !== null; depth++) {
    const line = interpreterLine(file.start);
    if (line === null) return depth === 0 ? null : { interpreter: file.identity, words: all };
    all = [...line, ...all];
    file = await lookAt(pid, { directory: AT_FDCWD, path: line[0]!, flags: 0 });
  }
  return null;
}

interface LookedAt {
  readonly identity: string;
  readonly start: ByteString;
}

async function lookAt(pid: number, name: ExecName): Promise<LookedAt | null> {
  const fd = await openNamed(pid, name);
  if (fd < 0) return null;
  try {
    const stat = statFd(fd);
    // Opening a pipe might wait for ever.
    if (typeof stat === "number" || stat.type !== S_IFREG) return null;
    const file = openDescriptor(`/proc/self/fd/${fd}`, O_RDONLY);
    if (file < 0) return null;
    const start = allocate(START_BYTES);
    readAt(file, start, 0);
    closeDescriptor(file);
    return { identity: stat.identity, start: byteStringOf(start) };
  } finally {
    closeDescriptor(fd);
  }
}

/**
 * The interpreter and its argument, if there is one, as the kernel reads them from the beginning of a file that is filled
 * up with NUL. Null when the file is no script.
 */
export function interpreterLine(start: string): ByteString[] | null {
  const end = start.indexOf("\n");
  const line = (end < 0 ? start.slice(0, START_BYTES - 1) : start.slice(0, end)).replace(/[ \t]+$/, "");
  const [, interpreter, argument] = /^#![ \t]*([^ \t\0]+)(?:[ \t]+([^\0]*))?/.exec(line) ?? [];
  if (interpreter === undefined) return null;
  return (argument === undefined ? [interpreter] : [interpreter, argument]) as ByteString[];
}
