/** Every flag of `doctor`: parsing and help read this table. */

import type { FlagTable } from "./flags.ts";
import { SERVE_FLAGS } from "./serve_flags.ts";

export const DOCTOR_FLAGS = {
  sandbox: {
    ...SERVE_FLAGS.sandbox,
    section: "Flags",
    help: "What a server would be told to confine with: the same flag as that of serve.",
  },
  json: {
    section: "Flags",
    kind: "switch",
    default: false,
    hasVariable: false,
    help: "Print one JSON object instead of text for people.",
  },
  help: { section: "Flags", kind: "action", short: "h", help: "Show this help." },
} as const satisfies FlagTable;

export const DOCTOR_INTRODUCTION = `Usage: exec-server doctor [flags]

Says what requests with a sandbox object are confined with on this machine,
which of the usual policies can be enforced, and what to change where one
cannot. It looks with the eyes of the server, in a temporary directory, and
changes nothing. Exit status: 0 when all of them can be enforced, 1 when one
cannot, 2 when the command line is not understood.`;
