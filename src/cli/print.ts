/** Prints the output of commands on standard output. */

import { writeFully } from "../bytes.ts";
import { messageOf } from "../errors.ts";
import { refusal } from "./cli_error.ts";

/** Writes all of it. False: nobody reads any more, as in `exec-server --help | head`, which is not an error. */
export async function print(text: string): Promise<boolean> {
  try {
    await writeFully(Deno.stdout, new TextEncoder().encode(text));
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) return false;
    throw refusal(`cannot write to standard output: ${messageOf(error)}`, error);
  }
}
