/**
 * What all client commands have in common: it reads the words by the command's flags, answers `--help`, and turns
 * errors into one line on standard error and an exit code.
 */

import type { FlagTable, ParsedFlags } from "../flags.ts";
import { parseFlags } from "../flags.ts";
import type { Grammar } from "../flag_words.ts";
import { failureOf } from "./failure.ts";

/** The input of a command: its words, read by its table. They also name the server (`openBox`). */
export type Invocation<Table extends FlagTable> = Extract<ParsedFlags<Table>, { type: "values" }>;

export interface ClientCommand<Table extends FlagTable> {
  /** With `WHERE_FLAGS` and `help: HELP_FLAG`, for a command that goes to a server. */
  readonly flags: Table;
  /** The help before the flags: usage, what it does, two examples. */
  readonly introduction: string;
  readonly grammar?: Grammar;
  run(invocation: Invocation<Table>): Promise<number>;
}

/** Resolves with the exit code. */
export async function runClientCommand<const Table extends FlagTable>(
  args: readonly string[],
  command: ClientCommand<Table>,
): Promise<number> {
  const { flags, introduction, grammar, run } = command;
  try {
    const parsed = parseFlags(flags, args, Deno.env.toObject(), { hasPlaces: true, ...grammar });
    if (parsed.type === "values") return await run(parsed);
    const [{ helpText }, { print }] = await Promise.all([import("../help.ts"), import("../print.ts")]);
    await print(helpText(flags, introduction));
    return 0;
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    console.error(`exec-server: ${failure.message}`);
    return failure.exitCode;
  }
}
