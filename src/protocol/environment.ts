/** `environment/*`: shapes only. */

export interface EnvironmentInfo {
  shell: { name: string; path: string };
  executorVersion: string;
  /** The server's working directory, when it still exists. */
  cwd: string | null;
  userHomeDir: string | null;
  platformOs: string;
  /** Directories a client should put before PATH: none, this server ships no tools. */
  prependPathDirs: string[];
  temporaryDirectories: string[];
  tempDir: string;
  capabilities: Capabilities;
  /** What the operator chose. What was found to work is asked for by `environment/sandbox`. */
  sandbox: { setting: SandboxSetting };
}

/** What sandboxes are to be made with: `auto` is bubblewrap, else Landlock. */
export const SANDBOX_SETTINGS = ["auto", "bubblewrap", "landlock", "refuse"] as const;
export type SandboxSetting = typeof SANDBOX_SETTINGS[number];

/** What sandboxes are made with on the server's machine. */
export interface SandboxReport {
  setting: SandboxSetting;
  bubblewrap: SandboxBackendReport;
  landlock: SandboxBackendReport;
}

export interface SandboxBackendReport {
  /** A trial process has been confined by it. */
  works: boolean;
  /** Of the program; null for a part of the kernel, and where there is none. */
  path: string | null;
  version: string | null;
  /** Why it does not work, for people. */
  reason: string | null;
  /** The kind of reason, where it is a known one. */
  problem: SandboxProblem | null;
}

/** `replaceable`: others than root could put something else in its place. `broken`: it was tried and does not confine. */
export type SandboxProblem = "missing" | "replaceable" | "outdated" | "broken";

/**
 * What a client may rely on beyond the base protocol. A flag is true only when all of it works; flags of the reference
 * that are not here are false by its rules.
 */
export type Capabilities = Readonly<Record<string, boolean>>;

export interface EnvironmentStatus {
  status: "ready";
}
