/** The flags of `token`, and what its help says first. */

import { jsonSwitch } from "../common_flags.ts";
import type { FlagTable } from "../flags.ts";
import { SERVE_FLAGS } from "../serve/serve_flags.ts";

export const TOKEN_INTRODUCTION = `Usage: exec-server token create --tokens PATH --name NAME --roles ROLES
                        --ids IDS [--expires TIME]
       exec-server token list --tokens PATH [--json]
       exec-server token revoke --tokens PATH NAME

Manages a file of tokens, for a rendezvous (exec-server rendezvous --tokens
PATH) and for the port of a server (--ws-auth tokens --tokens PATH). The file
holds digests. A token itself is shown once, on standard output, when it is
created. Running servers read the file again on SIGHUP, and then drop
connections whose token was revoked.`;

const tokens = {
  section: "File",
  kind: "text",
  placeholder: "PATH",
  default: null,
  help: "The file of tokens. The first token creates it, for its owner alone.",
} as const;

const help = SERVE_FLAGS.help;

export const TOKEN_CREATE_FLAGS = {
  tokens,
  name: {
    section: "New token",
    kind: "text",
    placeholder: "NAME",
    default: null,
    hasVariable: false,
    help: "What the token is called in logs and lists.",
  },
  roles: {
    section: "New token",
    kind: "text",
    placeholder: "ROLES",
    default: null,
    hasVariable: false,
    help:
      "What the token allows, with commas between: executor (to be one), client (to use one), viewer (to list them).",
  },
  ids: {
    section: "New token",
    kind: "text",
    placeholder: "IDS",
    default: null,
    hasVariable: false,
    help:
      'Which executors the token is for: ids with commas between, in which "*" stands for any characters and "?" for one.',
  },
  expires: {
    section: "New token",
    kind: "text",
    placeholder: "TIME",
    default: null,
    whenAbsent: "never",
    hasVariable: false,
    help: "When the token expires: 90d, 12h or 30m from now, or a time such as 2027-01-31T12:00:00Z.",
  },
  help,
} as const satisfies FlagTable;

export const TOKEN_LIST_FLAGS = {
  tokens,
  json: jsonSwitch("Output"),
  help,
} as const satisfies FlagTable;

export const TOKEN_REVOKE_FLAGS = { tokens, help } as const satisfies FlagTable;

/** All of them, for the help. */
export const TOKEN_FLAGS = {
  tokens,
  name: TOKEN_CREATE_FLAGS.name,
  roles: TOKEN_CREATE_FLAGS.roles,
  ids: TOKEN_CREATE_FLAGS.ids,
  expires: TOKEN_CREATE_FLAGS.expires,
  json: TOKEN_LIST_FLAGS.json,
  help,
} as const satisfies FlagTable;
