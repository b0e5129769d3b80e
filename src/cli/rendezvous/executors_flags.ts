/** The flags of `executors`, and what its help says first. */

import { jsonSwitch } from "../common_flags.ts";
import type { FlagTable } from "../flags.ts";
import { SERVE_FLAGS } from "../serve/serve_flags.ts";

export const EXECUTORS_INTRODUCTION = `Usage: exec-server executors --url URL [--token-file PATH] [--json]

Lists the executors of a rendezvous that the token is for (role client or
viewer). The token is in a file, or in the variable EXEC_SERVER_TOKEN.
Proxies (HTTPS_PROXY, NO_PROXY) and SSL_CERT_FILE are honoured.`;

export const EXECUTORS_FLAGS = {
  url: {
    section: "Rendezvous",
    kind: "text",
    placeholder: "URL",
    default: null,
    help: "URL of the rendezvous, such as https://rendezvous.example.com.",
  },
  "token-file": {
    section: "Rendezvous",
    kind: "text",
    placeholder: "PATH",
    default: null,
    whenAbsent: "the variable EXEC_SERVER_TOKEN",
    help: "File that holds the token.",
  },
  json: jsonSwitch("Output"),
  help: SERVE_FLAGS.help,
} as const satisfies FlagTable;
