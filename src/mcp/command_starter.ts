/**
 * Turns a call's arguments into a running command: its sandbox, directory, environment, and who decides its programs.
 */

import { resolve } from "node:path/posix";
import type { Clock } from "../clock.ts";
import type { AskedBy, AuditSink } from "./audit.ts";
import type { ExecDecider } from "./exec_decider.ts";
import { RunningCommand } from "./running_command.ts";
import {
  callState,
  flagState,
  guardedState,
  leavesFilesOpen,
  refuseBeyond,
  type SandboxState,
} from "./sandbox_state.ts";
import type { ShellArguments } from "./tool_arguments.ts";
import type { ToolCall } from "./tool_calls.ts";
import { type DirectoryFault, noSuchDirectory } from "./working_directory.ts";
import type { PatchedBash, SupervisedShellOptions, SupervisedShells } from "./supervised_shell.ts";

export interface StarterOptions
  extends Pick<SupervisedShellOptions, "shell" | "intercept" | "escalate" | "strictExec"> {
  readonly shells: SupervisedShells;
  readonly decider: ExecDecider;
  readonly audit: AuditSink;
  readonly clock: Clock;
  /** What applies when the client says nothing. */
  readonly sandbox: "read-only" | "workspace-write";
  /** Whether the tools are announced as what that sandbox makes of them. */
  readonly isAnnotated: boolean;
  /** The server's directory. It is the workspace if the client says nothing. A relative `workdir` starts there. */
  readonly cwd: string;
  /** No command may write these, whatever its sandbox grants. */
  readonly guardedPaths: readonly string[];
  readonly directoryFault: (path: string) => DirectoryFault | null;
  /** Called before a command that may write all files, the rules among them: from then on they stay as they are. */
  readonly keepRules: () => void;
  /** Called with the members of the client's sandbox that mean nothing here. */
  readonly tellIgnored: (members: readonly string[]) => void;
  /** Without credentials of ours. */
  readonly env: Readonly<Record<string, string>>;
  readonly patchedBash: PatchedBash | null;
}

/** As the caller is told. */
const CANNOT_LEAVE = "cannot leave the sandbox";

/** The reference's variable: commands learn from it that they cannot reach the network. */
const NETWORK_DISABLED = "CODEX_SANDBOX_NETWORK_DISABLED";

/** Throws when the call's sandbox does not decode or allows more than was announced, and where there is no directory. */
export function startCommand(args: ShellArguments, call: ToolCall, options: StarterOptions): RunningCommand {
  const { shells, decider, clock, audit, shell, intercept, escalate, strictExec, patchedBash } = options;
  const state = sandboxState(call, options);
  const { client: { dialect }, connection: { memory } } = call;
  const asked = askedBy(call);
  const cwd = resolve(options.cwd, args.workdir);
  const fault = options.directoryFault(cwd);
  if (fault !== null) throw noSuchDirectory(cwd, fault, dialect);
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
      cwd,
      env: environment(options.env, state.isNetworkDisabled),
      sandbox: state.sandbox,
      stdin: args.opensStdin ? "open" : "closed",
      output: args.mergesOutput ? "merged" : "separate",
      decide: (exec, signal) =>
        decider.decide(exec, signal, {
          askedBy: asked,
          memory,
          prompts: command.prompts,
          onDenied: (denied, reason) => command.noteDenied(denied, reason),
        }),
      onUndecided: ({ file, pid, isShell }, reason) =>
        audit.write({ event: "failed", ...asked, file, pid, byShell: isShell, reason }),
      onEscalated: (escalated, outcome) => {
        const { type, ...facts } = outcome;
        const { file, pid: callerPid } = escalated;
        audit.write({ event: "escalation", ...asked, file, callerPid, outcome: type, ...facts });
        // A caller without standard error shows nothing of it but an exit code.
        if (type === "refused") command.noteDenied(escalated, `${CANNOT_LEAVE}: ${outcome.reason}`);
      },
      onStrictEnd: ({ file, pid }, outcome) => audit.write({ event: "strict", ...asked, file, pid, outcome }),
    },
  }));
}

function askedBy({ connection, callNumber, callId, client }: ToolCall): AskedBy {
  return { holder: connection.holder, session: connection.id, callNumber, call: callId, client: client.name };
}

function sandboxState({ meta, connection }: ToolCall, options: StarterOptions): SandboxState {
  const { sandbox, isAnnotated, cwd, guardedPaths, env } = options;
  const tmpdir = env["TMPDIR"];
  const state = callState(meta, tmpdir) ?? connection.state ?? flagState(sandbox, cwd);
  options.tellIgnored(state.ignored);
  if (isAnnotated) refuseBeyond(sandbox, state);
  if (leavesFilesOpen(state)) options.keepRules();
  return guardedState(state, { paths: guardedPaths, tmpdir });
}

function environment(env: Readonly<Record<string, string>>, isNetworkDisabled: boolean): Record<string, string> {
  const { [NETWORK_DISABLED]: _, ...rest } = env;
  return isNetworkDisabled ? { ...rest, [NETWORK_DISABLED]: "1" } : rest;
}
