/**
 * The file of `--audit`: only its owner can read it, and it is only appended to. Lines are written before a program
 * starts.
 */

import { messageOf } from "../../errors.ts";
import { printable } from "../../printable.ts";
import { quoted, refusal } from "../cli_error.ts";

export interface AuditFile extends Disposable {
  write(line: string): void;
}

/** Throws a `CliError` if it cannot be opened. */
export function openAuditFile(path: string): AuditFile {
  try {
    const file = Deno.openSync(path, { append: true, create: true, mode: 0o600 });
    const encoder = new TextEncoder();
    return {
      write: (line) => {
        for (let bytes = encoder.encode(line); bytes.length > 0;) bytes = bytes.subarray(file.writeSync(bytes));
      },
      [Symbol.dispose]: () => file.close(),
    };
  } catch (error) {
    const reason = printable(messageOf(error));
    throw refusal(`cannot open the audit file ${quoted(path)}: ${reason}`, error);
  }
}
