/** Flags that several commands have, and how their results are printed. */

import { jsonSwitch } from "../common_flags.ts";
import { print } from "../print.ts";
import { EXIT, EXIT_PIPE_CLOSED } from "./exit_codes.ts";

/** `--json`. */
export const JSON_FLAG = jsonSwitch("Output");

/** `-a`, of commands that list: what they leave out without it. */
export function allSwitch<const Help extends string>(help: Help) {
  return { section: "Output", kind: "switch", short: "a", default: false, hasVariable: false, help } as const;
}

/** Prints, and resolves with the exit code. If nobody reads any more, there is no message. */
export async function printed(text: string, exitCode: number = EXIT.ok): Promise<number> {
  return await print(text) ? exitCode : EXIT_PIPE_CLOSED;
}

/** One JSON value, for programs. */
export async function printedJson(value: unknown, exitCode: number = EXIT.ok): Promise<number> {
  return await printed(`${JSON.stringify(value, null, 2)}\n`, exitCode);
}
