/** The `mcp` command: starts the MCP server by its options, and ends it on signals or when the client has gone. */

import { accessSync, constants, existsSync, statSync } from "node:fs";
import { resolve } from "node:path/posix";
import { systemClock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import { withoutNeverPassedOn } from "../../launch/own_credentials.ts";
import { createLogger, type Logger } from "../../log.ts";
import { auditLog, type AuditSink } from "../../mcp/audit.ts";
import { startCommand, type StarterOptions } from "../../mcp/command_starter.ts";
import { CommandPlaces } from "../../mcp/command_places.ts";
import { ExecDecider } from "../../mcp/exec_decider.ts";
import { LazyShells } from "../../mcp/lazy_shells.ts";
import { MAX_CLIENT_COMMANDS } from "../../mcp/limits.ts";
import { McpConnection } from "../../mcp/mcp_connection.ts";
import { ProtocolServers } from "../../mcp/protocol_server.ts";
import { serveStandardStreams } from "../../mcp/standard_streams.ts";
import { ToolCalls } from "../../mcp/tool_calls.ts";
import { toolList } from "../../mcp/tool_list.ts";
import type { PatchedBash } from "../../mcp/supervised_shell.ts";
import { directoryFault } from "../../mcp/working_directory.ts";
import { UnknownMemberLog } from "../../unknown_member_log.ts";
import { quoted, refusal } from "../cli_error.ts";
import { helpText } from "../help.ts";
import { versionText } from "../lone_word.ts";
import { print } from "../print.ts";
import { programsHere } from "../rules/programs_here.ts";
import { LogSink } from "../serve/log_sink.ts";
import { surviveStrayErrors } from "../stray_errors.ts";
import { openAuditFile } from "./audit_file.ts";
import { MCP_FLAGS, MCP_INTRODUCTION } from "./mcp_flags.ts";
import { type McpOptions, parseMcp } from "./mcp_options.ts";
import { mcpRules } from "./mcp_rules.ts";

/** Where Bash is looked for, unless one is named. */
const BASH_PATHS = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];

/** Resolves with the exit code. */
export async function mcp(args: readonly string[]): Promise<number> {
  const invocation = await parseMcp(args, { env: Deno.env.toObject(), readTextFile: Deno.readTextFile });
  if (invocation.type === "serve") return await run(invocation);
  await print(invocation.type === "help" ? helpText(MCP_FLAGS, MCP_INTRODUCTION) : versionText());
  return 0;
}

async function run(options: McpOptions): Promise<number> {
  const sink = new LogSink(Deno.stderr);
  const log = createLogger({ ...options.log, write: (line) => sink.write(line) });
  surviveStrayErrors(log);
  using auditFile = options.auditFile === null ? null : openAuditFile(options.auditFile);
  const audit = auditLog((line) => auditFile === null ? sink.write(line) : auditFile.write(line));
  const env = withoutNeverPassedOn(Deno.env.toObject());
  const shells = new LazyShells(async () => {
    const { openShells } = await import("../../mcp/open_shells.ts");
    return openShells({ serverEnv: env, log, clock: systemClock });
  });
  const servers = protocolServers(options, { audit, env, log, shells });

  const stopped = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, () => stopped.abort());
  // Loading takes longer than answering the first messages, so these come first.
  const cancelWarmUp = systemClock.setTimer(WARM_UP_DELAY_MS, () => void shells.warmUp());
  try {
    if (options.http === null) await serveStdio(servers, { signal: stopped.signal, log });
    else await (await import("./serve_http.ts")).serveHttp(options.http, { servers, signal: stopped.signal, log });
  } finally {
    cancelWarmUp();
    await shells.close();
  }
  await sink.drain();
  return 0;
}

/** A client sends its first two messages within this time, and a command later. */
const WARM_UP_DELAY_MS = 150;

function protocolServers(
  options: McpOptions,
  { audit, env, log, shells }: { audit: AuditSink; env: Record<string, string>; log: Logger; shells: LazyShells },
): ProtocolServers {
  if (options.patchedBash !== null) refuseMissing(options.patchedBash);
  const { keeper, paths } = mcpRules(options.rules, log);
  const { intercept, escalate, strictExec, sandbox, hasHandles, isAnnotated, patchedBash, auditFile } = options;
  const cwd = Deno.cwd();
  const clock = systemClock;
  const decider = new ExecDecider({
    rules: () => keeper.current,
    preservesPaths: options.preservesPaths,
    descriptorPrograms: new Set(options.descriptorPrograms),
    escalate,
    home: programsHere().home,
    audit,
    clock,
  });
  const guardedPaths = [...paths, ...(auditFile === null ? [] : [resolve(cwd, auditFile)])];
  const unknownMembers = new UnknownMemberLog(log);
  const starter: StarterOptions = {
    ...{ shells, decider, audit, clock, sandbox, isAnnotated, cwd, guardedPaths, env, patchedBash },
    keepRules: () => {
      if (keeper.keep()) log.warn("a sandbox confines no files: rule files are not read again until the next start");
    },
    directoryFault,
    tellIgnored: (members) => unknownMembers.tell(members),
    ...{ intercept, escalate, strictExec, shell: bashPath(patchedBash !== null) },
  };
  const calls = new ToolCalls({ hasHandles, clock, start: (args, call) => startCommand(args, call, starter) });
  const tools = toolList({ hasHandles, annotatedSandbox: isAnnotated ? sandbox : null });
  return new ProtocolServers({ tools, calls, log, tmpdir: env["TMPDIR"] });
}

function bashPath(hasPatched: boolean): string {
  const path = BASH_PATHS.find((candidate) => existsSync(candidate));
  if (path === undefined && !hasPatched) {
    throw refusal(`there is no Bash here: none of ${BASH_PATHS.join(", ")} exists`);
  }
  return path ?? BASH_PATHS[0]!;
}

/** Checked now, because later every call would fail with a message that names no file. */
function refuseMissing({ bash, wrapper }: PatchedBash): void {
  for (const path of [bash, wrapper]) {
    // A name without a slash is searched for when it is needed.
    if (path === undefined || !path.includes("/")) continue;
    const reason = whyNoProgram(path);
    if (reason !== null) throw refusal(`cannot use ${quoted(path)} (--bash, CODEX_BASH_PATH or --execve): ${reason}`);
  }
}

function whyNoProgram(path: string): string | null {
  try {
    if (!statSync(path).isFile()) return "it is not a regular file";
    accessSync(path, constants.X_OK);
    return null;
  } catch (error) {
    const { code } = error as { code?: string };
    return code === "ENOENT"
      ? "there is no such file"
      : code === "EACCES"
      ? "it may not be executed"
      : messageOf(error);
  }
}

async function serveStdio(
  servers: ProtocolServers,
  { signal, log }: { signal: AbortSignal; log: Logger },
): Promise<void> {
  const connections: McpConnection[] = [];
  const places = new CommandPlaces(MAX_CLIENT_COMMANDS);
  await serveStandardStreams((era) => {
    const connection = new McpConnection({ clock: systemClock, idleMs: null, places });
    connections.push(connection);
    return servers.create(era, connection);
  }, { signal, log });
  await Promise.all(connections.map((connection) => connection.close()));
}
