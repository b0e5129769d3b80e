/**
 * What a patched Bash executes as its wrapper: a script that starts this program in its wrapper mode. Bash takes a path
 * and no arguments, so the mode needs a file of its own.
 *
 * Nobody may change it: what a command wrote there would run in later shells, some of which have no sandbox. So each
 * shell inherits a sealed file in memory of its own. It has no place on the disk, where a command of this or of another
 * server could write, and is gone with its shell, however the server ends.
 */

import { invalidRequest } from "../../errors.ts";
import { openMemoryFile } from "../../os/files/memory_file.ts";
import { cString } from "../../os/libc.ts";
import { shellQuote } from "../../shell_quote.ts";

const MODE = "execve-wrapper";

/** What the mode needs when it is run from source. */
const RUNTIME_FLAGS = ["run", "--allow-all", "--no-config", "--no-lock", "--no-remote", "--no-npm", "--no-prompt"];

export function wrapperScript(serverEnv: Readonly<Record<string, string>>): string {
  return `#!/bin/sh\nexec ${ownCommand(serverEnv).map(shellQuote).join(" ")} "$@"\n`;
}

/** A descriptor for one shell, which belongs to the caller. */
export function openScript(script: string): number {
  const text = cString(script);
  // Without the NUL at its end.
  return openMemoryFile(text.subarray(0, text.length - 1));
}

/** Our own program, if the script starts no other. It is as much a part of the wrapper as the script. */
export function ownProgram(): string[] {
  return Deno.build.standalone ? [Deno.realPathSync(Deno.execPath())] : [];
}

function ownCommand(serverEnv: Readonly<Record<string, string>>): string[] {
  const program = Deno.realPathSync(Deno.execPath());
  if (Deno.build.standalone) return [program, MODE];
  if (!import.meta.url.startsWith("file:")) {
    throw invalidRequest("Cannot use a patched Bash: there is no program for its wrapper (--execve)");
  }
  const main = new URL("../../../main.ts", import.meta.url).pathname;
  const cache = serverEnv.DENO_DIR === undefined ? [] : [`DENO_DIR=${serverEnv.DENO_DIR}`];
  return ["env", "DENO_NO_UPDATE_CHECK=1", ...cache, program, ...RUNTIME_FLAGS, "--quiet", main, MODE];
}
