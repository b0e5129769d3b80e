/** Every command with its flags, for completions. A test finds missing ones. */

import type { COMMAND_WORDS } from "../command_words.ts";
import type { FlagTable } from "../flags.ts";

export interface CommandEntry {
  readonly flags: () => Promise<FlagTable>;
  /** Words that may follow it, if they are known. */
  readonly words?: readonly string[];
}

export const COMMAND_TABLES: Readonly<Record<keyof typeof COMMAND_WORDS, CommandEntry>> = {
  exec: { flags: async () => (await import("../client/exec.ts")).EXEC_FLAGS },
  shell: { flags: async () => (await import("../client/shell.ts")).SHELL_FLAGS },
  attach: {
    flags: async () => (await import("../client/attach.ts")).ATTACH_FLAGS,
  },
  ps: { flags: async () => (await import("../client/ps.ts")).PS_FLAGS },
  logs: { flags: async () => (await import("../client/logs.ts")).LOGS_FLAGS },
  kill: { flags: async () => (await import("../client/kill.ts")).KILL_FLAGS },
  cp: { flags: async () => (await import("../client/cp.ts")).CP_FLAGS },
  cat: { flags: async () => (await import("../client/cat.ts")).CAT_FLAGS },
  ls: { flags: async () => (await import("../client/ls.ts")).LS_FLAGS },
  rm: { flags: async () => (await import("../client/rm.ts")).RM_FLAGS },
  ports: { flags: async () => (await import("../client/ports.ts")).PORTS_FLAGS },
  tunnel: {
    flags: async () => (await import("../client/tunnel.ts")).TUNNEL_FLAGS,
  },
  info: { flags: async () => (await import("../client/info.ts")).INFO_FLAGS },
  dial: {
    flags: async () => (await import("../client/dial.ts")).DIAL_FLAGS,
  },
  serve: { flags: async () => (await import("../serve/serve_flags.ts")).SERVE_FLAGS },
  remote: {
    flags: async () => (await import("../remote/remote_flags.ts")).REMOTE_FLAGS,
  },
  forward: {
    flags: async () => (await import("../remote/forward.ts")).FORWARD_FLAGS,
  },
  rendezvous: {
    flags: async () => (await import("../rendezvous/rendezvous_flags.ts")).RENDEZVOUS_FLAGS,
  },
  executors: {
    flags: async () => (await import("../rendezvous/executors_flags.ts")).EXECUTORS_FLAGS,
  },
  mcp: { flags: async () => (await import("../mcp/mcp_flags.ts")).MCP_FLAGS },
  doctor: {
    flags: async () => (await import("../doctor/doctor_flags.ts")).DOCTOR_FLAGS,
  },
  token: {
    flags: async () => (await import("../token/token_flags.ts")).TOKEN_FLAGS,
    words: ["create", "list", "revoke"],
  },
  spec: { flags: async () => (await import("../spec/spec.ts")).SPEC_FLAGS },
  conform: { flags: async () => (await import("../conform/conform.ts")).CONFORM_FLAGS },
  execpolicy: { flags: noFlags, words: ["check"] },
  rules: { flags: noFlags, words: ["explain", "list"] },
  version: { flags: async () => (await import("../version/version.ts")).VERSION_FLAGS },
  completions: { flags: noFlags, words: ["bash", "zsh", "fish"] },
};

/** Commands whose words are read in another way. */
function noFlags(): Promise<FlagTable> {
  return Promise.resolve({});
}
