/** `environmentConfig/read`: shapes only. */

import * as z from "zod";
import { LocalAbsolutePath } from "./primitives.ts";

/** One key after the other, from the top of the document: `["mcp_servers", "github"]`. */
const KeyPaths = z.array(z.array(z.string()).min(1, "TOML paths must contain at least one key segment"));
export type KeyPath = readonly string[];

export const EnvironmentConfigReadParams = z.object({
  /** Where the project's directories are looked for: from here up to the project's root. */
  cwd: LocalAbsolutePath,
  configPaths: KeyPaths,
  requirementsPaths: KeyPaths,
}).refine(({ configPaths, requirementsPaths }) => configPaths.length + requirementsPaths.length > 0, {
  error: "at least one config or requirements path is required",
});
export type EnvironmentConfigReadParams = z.output<typeof EnvironmentConfigReadParams>;

export interface ConfigLayerField {
  /** For people: `user (/home/dev/.codex/config.toml)`. */
  source: string;
  /** What relative paths in the layer are relative to, as a URI. */
  baseDir: string;
  /** Only what was asked for. */
  toml: string;
}

export interface ConfigLayerStackField {
  /** A later layer overrides an earlier one. */
  layers: ConfigLayerField[];
  /** Where a client puts layers of its own that come from elsewhere. */
  cloudInsertionIndex: number;
}

export interface EnvironmentConfigReadResult {
  userHomeDir: string | null;
  codexHomeDir: string;
  hostname: string | null;
  config: ConfigLayerStackField;
  requirements: ConfigLayerStackField;
}
