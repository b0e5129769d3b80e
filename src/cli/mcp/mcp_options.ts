/**
 * Turns argv and environment into the options of `mcp`, checked as a whole. Reads secrets through the function that is
 * passed in.
 */

import { resolve } from "node:path/posix";
import type { LogFormat, LogLevel } from "../../log.ts";
import type { PatchedBash } from "../../mcp/supervised_shell.ts";
import type { AuthConfig } from "../../transport/door/auth.ts";
import type { ListenerAddress } from "../../transport/listen/listen_bind.ts";
import type { TlsFiles } from "../../transport/tls/tls_files.ts";
import { quoted, refusal, refuseSurplus } from "../cli_error.ts";
import { type Environment, type FlagValues, type GivenAs, parseFlags } from "../flags.ts";
import type { ReadTextFile } from "../serve/auth_options.ts";
import { doorOptions } from "../serve/door_options.ts";
import { MCP_DOOR_FLAGS, MCP_FLAGS, type McpFlags } from "./mcp_flags.ts";

/** The address of HTTP, and who may connect. */
export interface HttpDoor {
  readonly address: ListenerAddress;
  readonly auth: AuthConfig;
  readonly reloadAuth: (() => Promise<AuthConfig>) | null;
  readonly allowOtherUsers: boolean;
  readonly tls: TlsFiles | null;
}

export interface McpOptions {
  readonly type: "serve";
  /** Null: standard input and output. */
  readonly http: HttpDoor | null;
  readonly rules: readonly string[];
  readonly preservesPaths: boolean;
  readonly intercept: "all" | "shell";
  readonly escalate: "shell" | "all";
  /** Absolute paths. */
  readonly descriptorPrograms: readonly string[];
  readonly strictExec: boolean;
  readonly auditFile: string | null;
  readonly sandbox: "read-only" | "workspace-write";
  readonly hasHandles: boolean;
  readonly isAnnotated: boolean;
  readonly patchedBash: PatchedBash | null;
  readonly log: { readonly format: LogFormat; readonly level: LogLevel };
}

export type McpInvocation = McpOptions | { readonly type: "help" | "version" };

export async function parseMcp(
  argv: readonly string[],
  { env, readTextFile }: { env: Environment; readTextFile: ReadTextFile },
): Promise<McpInvocation> {
  const parsed = parseFlags(MCP_FLAGS, argv, env);
  if (parsed.type === "action") return { type: parsed.action };
  const { values, givenAs, positionals } = parsed;
  refuseSurplus(positionals[0]);
  const patched = patchedBash(values, env);
  refuseContradictions(values, givenAs, patched);
  return {
    type: "serve",
    http: values.listen === null
      ? refuseDoorFlags(givenAs)
      : await httpDoor(values.listen, { values, givenAs, readTextFile }),
    rules: values.rules,
    preservesPaths: values["preserve-program-paths"],
    intercept: values.intercept,
    escalate: values.escalate,
    descriptorPrograms: values["escalate-fds"].map(descriptorProgram),
    strictExec: values["strict-exec"],
    auditFile: values.audit,
    sandbox: values.sandbox,
    hasHandles: values.tools === "all",
    isAnnotated: values["annotate-sandboxed"],
    patchedBash: patched,
    log: { format: values.log, level: values["log-level"] },
  };
}

/** A name without its directory could also mean a program that was made inside the sandbox. */
function descriptorProgram(path: string): string {
  if (path.startsWith("/") && resolve(path) === path) return path;
  throw refusal(`--escalate-fds ${quoted(path)} is not accepted: name the program by its whole path, without . and ..`);
}

/** The reference's: `--bash`, else `CODEX_BASH_PATH`. Ours needs neither. */
function patchedBash({ bash, execve }: FlagValues<McpFlags>, env: Environment): PatchedBash | null {
  const path = bash ?? (env["CODEX_BASH_PATH"] || null);
  if (path !== null) return { bash: path, ...(execve === null ? {} : { wrapper: execve }) };
  if (execve === null) return null;
  throw refusal("--execve needs --bash PATH or CODEX_BASH_PATH: only a patched Bash uses it");
}

/** Flags that would be ignored are refused, because the user relies on what they promise. */
function refuseContradictions(
  { intercept, escalate }: FlagValues<McpFlags>,
  givenAs: GivenAs<McpFlags>,
  patched: PatchedBash | null,
): void {
  if (patched === null) {
    if (intercept === "all" || escalate === "shell") return;
    throw refusal(
      "--escalate all needs --intercept all: with --intercept shell only programs that the shell itself starts can " +
        "leave the sandbox",
    );
  }
  const isAsked = {
    "strict-exec": givenAs["strict-exec"] !== undefined,
    "escalate-fds": givenAs["escalate-fds"] !== undefined,
    "intercept all": givenAs.intercept !== undefined && intercept === "all",
    "escalate all": escalate === "all",
  };
  const [flag] = Object.entries(isAsked).find(([, given]) => given) ?? [];
  if (flag === undefined) return;
  throw refusal(
    `--${flag} cannot be combined with ${
      givenAs.bash === undefined ? "CODEX_BASH_PATH" : "--bash"
    }: a patched Bash asks only ` +
      "about programs that it starts itself, and passes on only standard input, output and error",
  );
}

/** On standard input and output nobody logs in, so a flag about logins is a mistake. */
function refuseDoorFlags(givenAs: GivenAs<McpFlags>): null {
  for (const flag of Object.keys(MCP_DOOR_FLAGS) as (keyof typeof MCP_DOOR_FLAGS)[]) {
    const writtenAs = givenAs[flag];
    // A variable may be meant for another server that is started beside this one.
    if (writtenAs?.startsWith("--")) throw refusal(`${writtenAs} needs --listen`);
  }
  return null;
}

async function httpDoor(
  listen: string,
  { values, givenAs, readTextFile }: {
    values: FlagValues<McpFlags>;
    givenAs: GivenAs<McpFlags>;
    readTextFile: ReadTextFile;
  },
): Promise<HttpDoor> {
  const door = await doorOptions(
    { ...values, listen: listenUrl(listen), "allow-origin": [] },
    { ...givenAs, listen: "--listen" },
    readTextFile,
  );
  const { listen: address, auth, reloadAuth, allowOtherUsers, tls } = door;
  if (address.type === "stdio") throw refusal("leave out --listen to use standard input and output");
  return { address, auth, reloadAuth, allowOtherUsers, tls };
}

/** Written like an address of the websocket server. */
function listenUrl(listen: string): string {
  if (/^(?:unix:|stdio)/.test(listen)) return listen;
  const scheme = /^(https?):\/\//.exec(listen);
  if (scheme !== null) return `${scheme[1] === "https" ? "wss" : "ws"}://${listen.slice(scheme[0].length)}`;
  if (!/^\w+:\/\//.test(listen)) return `ws://${listen}`;
  throw refusal(`--listen ${quoted(listen)} is not accepted: use IP:PORT, https://IP:PORT or unix:/PATH`);
}
