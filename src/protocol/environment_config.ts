/** What `environmentConfig/read` takes. */

import * as z from "zod/mini";
import { unconfinable } from "./confinable.ts";
import { LocalAbsolutePath } from "./primitives.ts";
import { noted } from "./wire_notes.ts";

export type { ConfigLayerField, ConfigLayerStackField, EnvironmentConfigReadResult } from "./discovery_results.ts";

/** One key after the other, from the top of the document: `["mcp_servers", "github"]`. */
const KeyPaths = z.array(z.array(z.string()).check(z.minLength(1, "TOML paths must contain at least one key segment")));
export type KeyPath = readonly string[];

export const EnvironmentConfigReadParams = unconfinable(
  noted(
    z.object({
      /** Where the project's directories are looked for: from here up to the project's root. */
      cwd: LocalAbsolutePath,
      configPaths: KeyPaths,
      requirementsPaths: KeyPaths,
    }).check(z.refine(({ configPaths, requirementsPaths }) => configPaths.length + requirementsPaths.length > 0, {
      error: "at least one config or requirements path is required",
    })),
    { constraints: ["someKeyPath"] },
  ),
  "environmentConfig/read is not confined",
);
export type EnvironmentConfigReadParams = z.output<typeof EnvironmentConfigReadParams>;
