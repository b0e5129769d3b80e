/**
 * Starts a command on a box, with an error that says which part of it is wrong, and turns its end into an exit code.
 */

import type { Devbox } from "../../client/devbox.ts";
import { ServerError } from "../../client/errors.ts";
import type { ProcessHandle } from "../../client/process/process_handle.ts";
import type { ProcessStatus } from "../../client/process/process_status.ts";
import type { SpawnOptions } from "../../client/process/spawn_options.ts";
import { messageOf } from "../../errors.ts";
import { printable } from "../../printable.ts";
import { quoted, refusal } from "../cli_error.ts";
import { EXIT } from "./exit_codes.ts";

/**
 * Like `box.spawn`, but the error says whether the program or its directory is missing. The system's error does not.
 */
export async function starting(
  box: Devbox,
  argv: readonly string[],
  options: SpawnOptions & { readonly cwd: string },
): Promise<ProcessHandle> {
  try {
    return await box.spawn(argv, options);
  } catch (error) {
    if (error instanceof TypeError) throw refusal(error.message, error);
    if (!(error instanceof ServerError)) throw error;
    if (/no such file|not a directory/i.test(error.message)) await checkDirectory(box, options.cwd);
    throw new ServerError(error.method, error.code, `cannot run ${quoted(argv[0]!)}: ${error.message}`);
  }
}

async function checkDirectory(box: Devbox, path: string): Promise<void> {
  const info = await box.fs.stat(path).catch((error) => {
    throw refusal(`cannot run in ${quoted(path)}: ${messageOf(error)}`, error);
  });
  if (!info.isDirectory) throw refusal(`cannot run in ${quoted(path)}: it is not a directory`);
}

/** The exit code for the command's end. */
export function exitCodeOf({ code, endReason, failure }: ProcessStatus): number {
  if (endReason === "timeout") return EXIT.timedOut;
  if (code !== null) return code & 0xff;
  const reason = failure === null ? "" : `: ${printable(failure)}`;
  console.error(`exec-server: the server does not know how the command ended${reason}`);
  return EXIT.ownError;
}
