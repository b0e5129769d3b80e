/** The flags of `mcp`, and what its help says first. */

import type { FlagTable } from "../flags.ts";
import { DOOR_FLAGS } from "../serve/door_flags.ts";
import { SERVE_FLAGS } from "../serve/serve_flags.ts";

export const MCP_INTRODUCTION = `Usage: exec-server mcp [flags]

An MCP server with the tool shell: a command in a sandboxed Bash in which every
program is decided before it starts. What a rule allows runs outside of the
sandbox, what a rule forbids does not run, and what a rule says to ask about is
asked through the client. Everything else runs inside. Rules are the files
/etc/codex/rules/*.rules, rules/*.rules below CODEX_HOME (~/.codex without it),
and what --rules names.

Speaks over standard input and output, or with --listen over streamable HTTP:
then it prints one line on standard output, its URL. Decisions are written to
standard error, one JSON object per line.`;

const { listen: _listen, "allow-origin": _origin, ...doorFlags } = DOOR_FLAGS;

/** Flags that have no effect without `--listen`. */
export const MCP_DOOR_FLAGS = doorFlags;

export const MCP_FLAGS = {
  rules: {
    section: "Decisions",
    kind: "list",
    placeholder: "PATH",
    default: [],
    whenAbsent: "none",
    hasVariable: false,
    help:
      "One more rule file, or a directory of them. May be given several times. A change counts at once, except that " +
      "a directory of rules that is made later is not noticed.",
  },
  "preserve-program-paths": {
    section: "Decisions",
    kind: "switch",
    default: false,
    hasVariable: false,
    help:
      "Compare rules with the whole path of a program. Otherwise a rule for git also applies to /usr/bin/git, and " +
      "to every other program of that name unless host_executable() says where git is.",
  },
  intercept: {
    section: "Decisions",
    kind: "choice",
    choices: ["all", "shell"],
    default: "all",
    hasVariable: false,
    help:
      "Which programs are decided: all that a command starts, or only those that the shell itself starts. The others " +
      "then run inside the sandbox without a decision.",
  },
  escalate: {
    section: "Decisions",
    kind: "choice",
    choices: ["shell", "all"],
    default: "shell",
    hasVariable: false,
    help:
      "Which programs may leave the sandbox where a rule allows them: only those that the shell itself starts, or " +
      "also those that make, npm or a script start.",
  },
  "escalate-fds": {
    section: "Decisions",
    kind: "list",
    placeholder: "PATH",
    default: [],
    whenAbsent: "none",
    hasVariable: false,
    help:
      "Path of a program that gets all open descriptors of its caller when a rule lets it leave the sandbox. Others " +
      "get only standard input, output and error. May be given several times.",
  },
  "strict-exec": {
    section: "Decisions",
    kind: "switch",
    default: false,
    hasVariable: false,
    help:
      "Compare what starts inside the sandbox with what was decided, and kill what differs. Takes some 2 ms for each " +
      "program. Without it a program with threads can change its arguments after the check, but stays in the sandbox.",
  },
  audit: {
    section: "Decisions",
    kind: "text",
    placeholder: "FILE",
    default: null,
    whenAbsent: "standard error",
    hasVariable: false,
    help: "File to append decisions to. Only its owner can read it.",
  },
  sandbox: {
    section: "Sandbox",
    kind: "choice",
    choices: ["read-only", "workspace-write"],
    default: "read-only",
    hasVariable: false,
    help:
      "What commands may do unless the client says otherwise: read all files, or also write below the directory in " +
      "which the server was started, and in temporary directories, except in .git, .codex, .agents, .aws, .claude, .vscode and " +
      ".mcp.json, of which none may be a link. Neither has network.",
  },
  tools: {
    section: "Tools",
    kind: "choice",
    choices: ["one", "all"],
    default: "one",
    hasVariable: false,
    help:
      "Offer only shell, or also shell_poll, shell_input and shell_stop. With these a command may take longer than a " +
      "call: it goes on under a handle.",
  },
  "annotate-sandboxed": {
    section: "Tools",
    kind: "switch",
    default: false,
    hasVariable: false,
    help:
      "Tell clients what --sandbox makes of the tools: under read-only they change nothing and reach no network, and " +
      "clients may run them without asking. Calls for which the client (such as codex) sends a sandbox that allows " +
      "more are then refused. The promise does not cover programs that your rules let leave the sandbox.",
  },
  bash: {
    section: "Patched Bash",
    kind: "text",
    placeholder: "PATH",
    default: null,
    whenAbsent: "CODEX_BASH_PATH, else the system's Bash",
    hasVariable: false,
    help: "A Bash that asks before it starts a program (BASH_EXEC_WRAPPER), where system calls cannot be supervised.",
  },
  execve: {
    section: "Patched Bash",
    kind: "text",
    placeholder: "PATH",
    default: null,
    whenAbsent: "this program",
    hasVariable: false,
    help: "The program that such a Bash runs to ask.",
  },
  listen: {
    section: "Listening",
    kind: "text",
    placeholder: "ADDRESS",
    default: null,
    whenAbsent: "standard input and output",
    hasVariable: false,
    help:
      "Serve streamable HTTP at IP:PORT (port 0 lets the system choose), at https://IP:PORT with TLS, or at a unix " +
      "socket, unix:/PATH.",
  },
  ...doorFlags,
  "insecure-no-auth": {
    ...doorFlags["insecure-no-auth"],
    help:
      "Ask for no token on an address beyond this machine without --ws-auth. Anyone who can reach the port can then " +
      "run commands.",
  },
  "tls-cert": { ...doorFlags["tls-cert"], help: doorFlags["tls-cert"].help.replace("wss:", "https:") },
  "tls-key": { ...doorFlags["tls-key"], help: doorFlags["tls-key"].help.replace("wss:", "https:") },
  "ws-auth": { ...doorFlags["ws-auth"], whenAbsent: "none; standard input and output need no login" },
  log: SERVE_FLAGS.log,
  "log-level": { ...SERVE_FLAGS["log-level"], default: "warn", hasVariable: false },
  help: SERVE_FLAGS.help,
  version: SERVE_FLAGS.version,
} as const satisfies FlagTable;

export type McpFlags = typeof MCP_FLAGS;
