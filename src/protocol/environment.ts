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
}

/**
 * What a client may rely on beyond the base protocol. A flag is true only when all of it works; flags of the reference
 * that are not here are false by its rules.
 */
export type Capabilities = Readonly<Record<string, boolean>>;

export interface EnvironmentStatus {
  status: "ready";
}
