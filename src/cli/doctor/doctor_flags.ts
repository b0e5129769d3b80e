/** Every flag of `doctor`: parsing and help read this table. */

import { REGISTRATION_FLAGS } from "../remote/remote_flags.ts";
import { DOOR_FLAGS } from "../serve/door_flags.ts";
import { helpAction, jsonSwitch } from "../common_flags.ts";
import type { FlagTable } from "../flags.ts";
import { SERVE_FLAGS } from "../serve/serve_flags.ts";

export const DOCTOR_FLAGS = {
  sandbox: {
    ...SERVE_FLAGS.sandbox,
    section: "Flags",
    help: "Test the sandboxes of a server with this value of --sandbox.",
  },
  "identity-file": {
    ...REGISTRATION_FLAGS["identity-file"],
    section: "Flags",
    help: "The key of remote mode whose fingerprint is shown: the same flag as that of --remote.",
  },
  json: jsonSwitch("Flags"),
  help: helpAction("Flags"),
  ...DOOR_FLAGS,
} as const satisfies FlagTable;

export const DOCTOR_INTRODUCTION = `Usage: exec-server doctor [flags]
       exec-server doctor @NAME|--url URL [--json]

Says which sandboxes work on this machine, which of the usual policies can be
enforced, and what to change if one cannot. Also says who could connect to
a server with the given flags. The tests run as the server would run them, in
a temporary directory, and change nothing else. Exit status: 0 when all
policies can be enforced and a server with these flags would start, 1 when
not, 2 when the command line is not understood. With a place it says whether
that server can be reached, and what it lets its clients do.`;
