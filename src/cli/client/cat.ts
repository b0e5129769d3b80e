/** The `cat` command: prints files of a box unchanged. */

import { usageError } from "../cli_error.ts";
import type { FlagTable } from "../flags.ts";
import { boxPath } from "./box_path.ts";
import { runClientCommand } from "./client_command.ts";
import { EXIT, EXIT_PIPE_CLOSED } from "./exit_codes.ts";
import { tellFailure } from "./failure.ts";
import { openBox } from "./open_box.ts";
import { HELP_FLAG, WHERE_FLAGS } from "./places/place.ts";
import { writeAll } from "./write_all.ts";

const INTRODUCTION = `Usage: exec-server cat [@NAME] PATH...

Prints files of the box, byte for byte. A path is absolute, begins with ~/, or
is relative to this directory on your own server and to home elsewhere.

  exec-server cat @devbox /etc/os-release
  exec-server cat @devbox build.log | tail`;

export const CAT_FLAGS = { ...WHERE_FLAGS, help: HELP_FLAG } as const satisfies FlagTable;

/** Resolves with the exit code. */
export function cat(args: readonly string[]): Promise<number> {
  return runClientCommand(args, {
    flags: CAT_FLAGS,
    introduction: INTRODUCTION,
    async run({ positionals: paths, ...where }) {
      if (paths.length === 0) throw usageError("the file is missing: give its path");
      const opened = await openBox(where);
      await using box = opened.box;
      let exitCode: number = EXIT.ok;
      for (const path of paths) {
        try {
          for await (const chunk of box.fs.readStream(boxPath(path, opened))) {
            if (!await writeAll(Deno.stdout, chunk)) return EXIT_PIPE_CLOSED;
          }
        } catch (error) {
          exitCode = tellFailure(path, error);
        }
      }
      return exitCode;
    },
  });
}
