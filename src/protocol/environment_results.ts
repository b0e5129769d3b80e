/**
 * What `initialize` and `environment/*` answer. The server uses the types alone, as with `process_results.ts`.
 */

import * as z from "zod/mini";
import { SANDBOX_SETTINGS } from "./environment.ts";

const Setting = z.enum(SANDBOX_SETTINGS);

/**
 * What a client may rely on beyond the base protocol. A flag is true only when all of it works; flags of the reference
 * that are not here are false by its rules.
 */
export const Capabilities = z.readonly(z.record(z.string(), z.boolean()));
export type Capabilities = z.output<typeof Capabilities>;

export const EnvironmentInfo = z.object({
  shell: z.object({ name: z.string(), path: z.string() }),
  executorVersion: z.string(),
  /** The server's working directory, when it still exists. */
  cwd: z.nullable(z.string()),
  userHomeDir: z.nullable(z.string()),
  platformOs: z.string(),
  /** Directories a client should put before PATH: none, this server ships no tools. */
  prependPathDirs: z.array(z.string()),
  temporaryDirectories: z.array(z.string()),
  tempDir: z.string(),
  capabilities: Capabilities,
  /** What the operator chose. What was found to work is asked for by `environment/sandbox`. */
  sandbox: z.object({ setting: Setting }),
});
export type EnvironmentInfo = z.output<typeof EnvironmentInfo>;

export const InitializeResult = z.object({
  sessionId: z.string(),
  environmentInfo: EnvironmentInfo,
  /** How long the session waits for its client; only for clients that asked for `detachTtlMs`. */
  detachTtlMs: z.exactOptional(z.int()),
});
export type InitializeResult = z.output<typeof InitializeResult>;

export const EnvironmentStatus = z.object({ status: z.literal("ready") });
export type EnvironmentStatus = z.output<typeof EnvironmentStatus>;

/** `replaceable`: users other than root could replace it. `broken`: it was tried and does not confine. */
export const SandboxProblem = z.enum(["missing", "replaceable", "outdated", "broken"]);
export type SandboxProblem = z.output<typeof SandboxProblem>;

export const SandboxBackendReport = z.object({
  /** A test process was confined by it. */
  works: z.boolean(),
  /** The path of the program; null for a part of the kernel, and where there is no program. */
  path: z.nullable(z.string()),
  version: z.nullable(z.string()),
  /** Why it does not work, for people. */
  reason: z.nullable(z.string()),
  /** The kind of reason, where it is a known one. */
  problem: z.nullable(SandboxProblem),
});
export type SandboxBackendReport = z.output<typeof SandboxBackendReport>;

/** What sandboxes are made with on the server's machine. */
export const SandboxReport = z.object({
  setting: Setting,
  bubblewrap: SandboxBackendReport,
  landlock: SandboxBackendReport,
});
export type SandboxReport = z.output<typeof SandboxReport>;
