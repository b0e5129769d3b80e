/**
 * Every command in a few words: for `--help` and for completions. It imports nothing, so that `--help` is quick. A test
 * finds a command that is missing.
 */

/** A heading of `--help`. */
type Section = "Run a server" | "Run commands on a server" | "Work on a server" | "Check and inspect";

export interface CommandWords {
  readonly section: Section;
  /** What it does, without a full stop. */
  readonly about: string;
}

export const COMMAND_WORDS = {
  serve: { section: "Run a server", about: "Listen for clients (runs when no command is named)" },
  remote: { section: "Run a server", about: "Serve through a rendezvous, without listening" },
  forward: { section: "Run a server", about: "Connect a running server to a rendezvous" },
  mcp: { section: "Run a server", about: "Serve the shell tool by MCP" },
  rendezvous: { section: "Run a server", about: "Run a rendezvous, where executors and clients meet" },
  executors: { section: "Run a server", about: "List the executors of a rendezvous" },
  token: { section: "Run a server", about: "Create, list and revoke tokens" },
  exec: { section: "Run commands on a server", about: "Run a command" },
  shell: { section: "Run commands on a server", about: "Open a login shell" },
  attach: { section: "Run commands on a server", about: "Take over a running process" },
  ps: { section: "Run commands on a server", about: "List processes" },
  logs: { section: "Run commands on a server", about: "Print what a process wrote" },
  kill: { section: "Run commands on a server", about: "Send a signal to a process, or end it" },
  cp: { section: "Work on a server", about: "Copy files to or from a server" },
  cat: { section: "Work on a server", about: "Print files" },
  ls: { section: "Work on a server", about: "List directories" },
  rm: { section: "Work on a server", about: "Remove files" },
  ports: { section: "Work on a server", about: "List listening ports" },
  tunnel: { section: "Work on a server", about: "Forward a local port to a port of the server" },
  info: { section: "Work on a server", about: "Describe the server" },
  dial: { section: "Work on a server", about: "Connect standard input and output to a server" },
  doctor: { section: "Check and inspect", about: "Check which sandboxes work on this machine" },
  spec: { section: "Check and inspect", about: "Print the protocol" },
  conform: { section: "Check and inspect", about: "Check whether a server keeps the protocol" },
  execpolicy: { section: "Check and inspect", about: "Check a command against rule files" },
  rules: { section: "Check and inspect", about: "Explain and list rules" },
  version: { section: "Check and inspect", about: "Print the version" },
  completions: { section: "Check and inspect", about: "Print completions for bash, zsh or fish" },
} as const satisfies Readonly<Record<string, CommandWords>>;
