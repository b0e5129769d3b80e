/**
 * Turns a call's arguments into a running command: its sandbox, directory, environment, and who decides its programs.
 */

import { resolve } from "node:path/posix";
import type { Clock } from "../clock.ts";
import type { AuditSink } from "./audit.ts";
import type { ExecDecider } from "./exec_decider.ts";
import { RunningCommand } from "./running_command.ts";
import { callState, flagState, guardedState, type SandboxState } from "./sandbox_state.ts";
import type { ShellArguments } from "./tool_arguments.ts";
import type { ToolCall } from "./tool_calls.ts";
import type { PatchedBash, WatchedShellOptions, WatchedShells } from "./watched_shell.ts";

export interface StarterOptions extends Pick<WatchedShellOptions, "shell" | "intercept" | "escalate" | "strictExec"> {
  readonly shells: WatchedShells;
  readonly decider: ExecDecider;
  readonly audit: AuditSink;
  readonly clock: Clock;
  /** What applies when the client says nothing. */
  readonly sandbox: "read-only" | "workspace-write";
  /** The server's directory. It is the workspace if the client says nothing. A relative `workdir` starts there. */
  readonly cwd: string;
  /** No command may write these, whatever its sandbox grants. */
  readonly guardedPaths: readonly string[];
  /** Without credentials of ours. */
  readonly env: Readonly<Record<string, string>>;
  readonly patchedBash: PatchedBash | null;
}

/** The reference's variable: commands learn from it that they cannot reach the network. */
const NETWORK_DISABLED = "CODEX_SANDBOX_NETWORK_DISABLED";

/** Throws when the call's sandbox does not decode. */
export function startCommand(args: ShellArguments, call: ToolCall, options: StarterOptions): RunningCommand {
  const { shells, decider, clock, audit, shell, intercept, escalate, strictExec, patchedBash } = options;
  const state = sandboxState(call, options);
  const { callId, client: { name: client }, connection: { memory } } = call;
  return new RunningCommand((command) => ({
    shells,
    clock,
    timeoutMs: args.timeoutMs,
    isSandboxed: state.sandbox !== null && state.sandbox.permissions.type === "managed",
    shell: {
      shell,
      intercept,
      escalate,
      strictExec,
      ...(patchedBash === null ? {} : { patchedBash }),
      command: args.command,
      login: args.isLogin,
      cwd: resolve(options.cwd, args.workdir),
      env: environment(options.env, state.isNetworkDisabled),
      sandbox: state.sandbox,
      stdin: args.opensStdin ? "open" : "closed",
      output: args.mergesOutput ? "merged" : "separate",
      decide: (exec, signal) =>
        decider.decide(exec, signal, {
          callId,
          client,
          memory,
          prompts: command.prompts,
          onDenied: (denied, reason) => command.noteDenied(denied, reason),
        }),
      onEscalated: ({ file }, outcome) => {
        const { type, ...facts } = outcome;
        audit.write({ event: "escalation", call: callId, client, file, outcome: type, ...facts });
      },
    },
  }));
}

function sandboxState({ meta, connection }: ToolCall, { sandbox, cwd, guardedPaths }: StarterOptions): SandboxState {
  return guardedState(callState(meta) ?? connection.state ?? flagState(sandbox, cwd), guardedPaths);
}

function environment(env: Readonly<Record<string, string>>, isNetworkDisabled: boolean): Record<string, string> {
  const { [NETWORK_DISABLED]: _, ...rest } = env;
  return isNetworkDisabled ? { ...rest, [NETWORK_DISABLED]: "1" } : rest;
}
