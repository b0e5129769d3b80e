/** Sentences about members that many methods have. */

import type { MethodTypes } from "../method_types.ts";

export const CONFINED = {
  sandbox: "What the request may do at most. Null or left out: what the server's user may.",
  sandboxPolicy: "A named policy in place of `sandbox`. It applies to the request's own `cwd`, if it has one.",
} as const;

export const ABOUT_PROCESS = {
  processId: "A process of this session, by the id its client gave it. Required unless `uid` is given.",
  uid:
    "A process by the name the server gave it, in place of `processId`; also one of another session that was started " +
    "with `keepOnSessionEnd`.",
} as const;

export const FOLLOW = "False: refused if any component of the path is a symbolic link.";

export const EXIT = {
  exited: "The exit status is known.",
  exitCode: "The exit status, or 128 and the number of the signal that ended it. Null while it runs.",
  closed: "It has exited and all its output has come. Nothing follows.",
  failure: "A sentence for people when the server could not do its part, else null.",
  sandboxDenied: "It failed in a sandbox, and what it wrote looks as if the sandbox was why: a guess.",
  endReason: "Why it ended; null while it runs. Only with `processEndReason`.",
  signal: "The signal that ended it: `SIGTERM`; else null. Only with `processEndReason`.",
  networkDenials:
    "What the sandbox has refused so far for the sake of the network, each kind once; null when that is not " +
    "known. Only with `networkDenials`.",
} as const;

/** Members of `EnvironmentInfo`. */
export const MACHINE_MEMBERS = {
  shell: "Name (`bash`, `zsh`, `sh`) and path of the user's shell.",
  executorVersion: "Version of codex whose protocol it is and, behind `+`, of this server.",
  cwd: "The server's working directory, when it still exists.",
  userHomeDir: "The home directory of the server's user.",
  platformOs: "`linux` or `macos`.",
  prependPathDirs: "Directories to put before PATH. Empty here.",
  temporaryDirectories: "TMPDIR, if it is set.",
  tempDir: "Where temporary files go.",
  capabilities: "What the server can do beyond the base protocol. A flag that is missing is false.",
  sandbox: "`setting`: what the operator chose sandboxes to be made with.",
};

/** A machine, as examples show it. */
export const EXAMPLE_MACHINE: MethodTypes["environment/info"]["result"] = {
  shell: { name: "bash", path: "/bin/bash" },
  executorVersion: "0.166.0+exec-server.0.1.0",
  cwd: "file:///srv",
  userHomeDir: "file:///home/dev",
  platformOs: "linux",
  prependPathDirs: [],
  temporaryDirectories: [],
  tempDir: "file:///tmp",
  capabilities: { processWait: true, fsRename: true },
  sandbox: { setting: "auto" },
};
