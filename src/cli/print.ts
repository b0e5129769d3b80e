/** What commands print for their caller, on standard output. */

import { messageOf } from "../errors.ts";
import { refusal } from "./cli_error.ts";

/** Writes all of it. False when nobody reads any more, as in `exec-server --help | head`, which is not an error. */
export async function print(text: string): Promise<boolean> {
  const bytes = new TextEncoder().encode(text);
  try {
    for (let written = 0; written < bytes.length;) written += await Deno.stdout.write(bytes.subarray(written));
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) return false;
    throw refusal(`cannot write to standard output: ${messageOf(error)}`, error);
  }
}
