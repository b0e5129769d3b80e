/** Every flag of `--remote`: its own, and those of `serve` that do not depend on how clients come in. */

import type { FlagTable } from "../flags.ts";
import { SERVING_FLAGS } from "../serve/serving_values.ts";

/** Flags that `--remote` and `forward` share: how to register, and under which id. */
export const REGISTRATION_FLAGS = {
  remote: {
    section: "Remote",
    kind: "text",
    placeholder: "URL",
    default: null,
    hasVariable: false,
    help: "Base URL of the registry: https://HOST, or http:// within this machine.",
  },
  "environment-id": {
    section: "Remote",
    kind: "text",
    placeholder: "ID",
    default: null,
    help: "Register under this id in the noise form: encrypted between client and executor.",
  },
  name: {
    section: "Remote",
    kind: "text",
    placeholder: "NAME",
    default: null,
    help: "Name to show in lists of executors. Without it the seed form sends codex-exec-server.",
  },
  "remote-token-file": {
    section: "Remote",
    kind: "text",
    placeholder: "PATH",
    default: null,
    whenAbsent: "EXEC_SERVER_REMOTE_TOKEN or CODEX_EXEC_SERVER_REMOTE_BEARER_TOKEN",
    help: "File with the token for the registry, read again before each call.",
  },
  "identity-file": {
    section: "Remote",
    kind: "text",
    placeholder: "PATH",
    default: null,
    whenAbsent: "exec-server/identity below XDG_STATE_HOME or ~/.local/state",
    help:
      "noise: file with the executor's private key, made if there is none. Clients know the executor by it; doctor " +
      "shows its fingerprint.",
  },
  "exit-on-stdin-close": {
    section: "Remote",
    kind: "switch",
    default: false,
    help: "End when standard input ends.",
  },
  "executor-credential-stdin": {
    section: "Remote",
    kind: "switch",
    default: false,
    hasVariable: false,
    help: "Read the token from standard input, a line of JSON each time it changes: " +
      '{"version":1,"environment_id":ID,"token":TOKEN,"expires_at":SECONDS}.',
  },
  "insecure-remote": {
    section: "Remote",
    kind: "switch",
    default: false,
    help: "Accept http:// and ws:// beyond this machine. Others on the network can then read the token.",
  },
} as const satisfies FlagTable;

const { remote, ...otherRegistrationFlags } = REGISTRATION_FLAGS;

export const REMOTE_FLAGS = {
  remote,
  "executor-id": {
    section: "Remote",
    kind: "text",
    placeholder: "ID",
    default: null,
    help: "Register under this id in the seed form: plain JSON-RPC, which the rendezvous can read.",
  },
  "remote-transport": {
    section: "Remote",
    kind: "choice",
    choices: ["noise", "plain"],
    default: null,
    whenAbsent: "noise with --environment-id, plain with --executor-id",
    help: "Which of the two forms to use, whichever flag names the id.",
  },
  ...otherRegistrationFlags,
  ...SERVING_FLAGS,
} as const satisfies FlagTable;

export const REMOTE_INTRODUCTION = `Usage: exec-server --remote URL --environment-id ID [flags]
       exec-server --remote URL --executor-id ID [flags]

Registers with a registry and serves the clients that its rendezvous sends,
for machines that cannot be reached from outside. It listens on no port. Passing
failures are tried again; if its token is refused, it ends with status 1.

Example: EXEC_SERVER_REMOTE_TOKEN=... exec-server --remote https://hub.example
             --environment-id devbox-7
         exec-server --remote https://hub.example --environment-id devbox-7
             --remote-token-file /etc/exec-server/token --name "Build box"`;
