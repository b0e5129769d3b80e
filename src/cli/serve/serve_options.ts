/**
 * Turns argv and environment into the options of `serve`, checked as a whole.
 *
 * Pure except for the files of secrets, which are read through the function passed in. When this returns options,
 * nothing in them is contradictory; when it throws a `CliError`, nothing has been started.
 */

import type { AuthConfig } from "../../transport/door/auth.ts";
import type { ReadTextFile } from "./auth_options.ts";
import { refuseSurplus } from "../cli_error.ts";
import { type Door, doorOptions } from "./door_options.ts";
import { type Environment, parseFlags } from "../flags.ts";
import { SERVE_FLAGS } from "./serve_flags.ts";
import { type ServingValues, servingValues } from "./serving_values.ts";

export interface ServeOptions extends Door, ServingValues {}

/** The options of a `serve` command. */
export type ServeInvocation =
  | {
    readonly type: "serve";
    readonly options: ServeOptions;
    /** Reads the secrets of `options.auth` from their files again; null when they are not in files. */
    readonly reloadAuth: (() => Promise<AuthConfig>) | null;
  }
  | { readonly type: "help" }
  | { readonly type: "version" };

export interface ServeSurroundings {
  readonly env: Environment;
  readonly readTextFile: ReadTextFile;
}

/** Reads the arguments of `serve` (without the command itself). */
export async function parseServe(argv: readonly string[], surroundings: ServeSurroundings): Promise<ServeInvocation> {
  const parsed = parseFlags(SERVE_FLAGS, argv, surroundings.env);
  if (parsed.type === "action") return { type: parsed.action };
  const { values, givenAs, positionals } = parsed;
  refuseSurplus(positionals[0]);

  const { reloadAuth, ...door } = await doorOptions(values, givenAs, surroundings.readTextFile);
  return {
    type: "serve",
    options: {
      ...door,
      ...servingValues(values),
    },
    reloadAuth,
  };
}
