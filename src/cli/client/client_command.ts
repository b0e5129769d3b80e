/**
 * The frame of every client command: words are read by its flags, `--help` is answered, errors become one line on
 * standard error and an exit code. What the command does is its own.
 */

import type { FlagTable, ParsedFlags } from "../flags.ts";
import { parseFlags } from "../flags.ts";
import type { Grammar } from "../flag_words.ts";
import { failureOf } from "./failure.ts";

/** What a command is given: its words, as its table reads them. Also says where (`openBox`). */
export type Invocation<Table extends FlagTable> = Extract<ParsedFlags<Table>, { type: "values" }>;

export interface ClientCommand<Table extends FlagTable> {
  /** With `WHERE_FLAGS` and `help: HELP_FLAG`, for a command that goes to a server. */
  readonly flags: Table;
  /** The help in front of the flags: usage, what it does, two examples. */
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
