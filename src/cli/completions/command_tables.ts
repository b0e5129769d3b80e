/** Every command with a few words about it and its flags: what completions are made of. A test finds one that is missing. */

import type { FlagTable } from "../flags.ts";

export interface CommandEntry {
  readonly about: string;
  readonly flags: () => Promise<FlagTable>;
  /** Words that may follow it, where they are known. */
  readonly words?: readonly string[];
}

export const COMMAND_TABLES: Readonly<Record<string, CommandEntry>> = {
  exec: { about: "Run a command", flags: async () => (await import("../client/exec.ts")).EXEC_FLAGS },
  shell: { about: "Open a login shell", flags: async () => (await import("../client/shell.ts")).SHELL_FLAGS },
  attach: {
    about: "Take over a running process",
    flags: async () => (await import("../client/attach.ts")).ATTACH_FLAGS,
  },
  ps: { about: "List processes", flags: async () => (await import("../client/ps.ts")).PS_FLAGS },
  logs: { about: "Print what a process wrote", flags: async () => (await import("../client/logs.ts")).LOGS_FLAGS },
  kill: { about: "Send a signal", flags: async () => (await import("../client/kill.ts")).KILL_FLAGS },
  cp: { about: "Copy files to or from a box", flags: async () => (await import("../client/cp.ts")).CP_FLAGS },
  cat: { about: "Print files of a box", flags: async () => (await import("../client/cat.ts")).CAT_FLAGS },
  ls: { about: "List directories of a box", flags: async () => (await import("../client/ls.ts")).LS_FLAGS },
  rm: { about: "Remove files of a box", flags: async () => (await import("../client/rm.ts")).RM_FLAGS },
  ports: { about: "List listening ports", flags: async () => (await import("../client/ports.ts")).PORTS_FLAGS },
  tunnel: {
    about: "Lead a local port to one of a box",
    flags: async () => (await import("../client/tunnel.ts")).TUNNEL_FLAGS,
  },
  info: { about: "Say what is at the other end", flags: async () => (await import("../client/info.ts")).INFO_FLAGS },
  dial: {
    about: "Connect standard streams to a server",
    flags: async () => (await import("../client/dial.ts")).DIAL_FLAGS,
  },
  serve: { about: "Serve", flags: async () => (await import("../serve/serve_flags.ts")).SERVE_FLAGS },
  remote: {
    about: "Serve through a rendezvous",
    flags: async () => (await import("../remote/remote_flags.ts")).REMOTE_FLAGS,
  },
  forward: {
    about: "Forward a server to a rendezvous",
    flags: async () => (await import("../remote/forward.ts")).FORWARD_FLAGS,
  },
  rendezvous: {
    about: "Run a rendezvous",
    flags: async () => (await import("../rendezvous/rendezvous_flags.ts")).RENDEZVOUS_FLAGS,
  },
  executors: {
    about: "List the executors of a rendezvous",
    flags: async () => (await import("../rendezvous/executors_flags.ts")).EXECUTORS_FLAGS,
  },
  mcp: { about: "Serve the shell tool by MCP", flags: async () => (await import("../mcp/mcp_flags.ts")).MCP_FLAGS },
  doctor: {
    about: "Say what this machine can confine",
    flags: async () => (await import("../doctor/doctor_flags.ts")).DOCTOR_FLAGS,
  },
  token: {
    about: "Make, list and revoke tokens",
    flags: async () => (await import("../token/token_flags.ts")).TOKEN_FLAGS,
    words: ["create", "list", "revoke"],
  },
  spec: { about: "Print the protocol", flags: async () => (await import("../spec/spec.ts")).SPEC_FLAGS },
  conform: { about: "Check a server", flags: async () => (await import("../conform/conform.ts")).CONFORM_FLAGS },
  execpolicy: { about: "Check a command against rule files", flags: noFlags, words: ["check"] },
  rules: { about: "Explain and list rules", flags: noFlags, words: ["explain", "list"] },
  version: { about: "Print the version", flags: async () => (await import("../version/version.ts")).VERSION_FLAGS },
  completions: { about: "Print completions for a shell", flags: noFlags, words: ["bash", "zsh", "fish"] },
};

/** Those whose words are read in another way. */
function noFlags(): Promise<FlagTable> {
  return Promise.resolve({});
}
