/** What `capabilityRoots/discoverV1` and `capabilities/discoverV2` take. Unknown fields are ignored. */

import * as z from "zod/mini";
import { DomainError } from "../errors.ts";
import { ForeignPathError, type NativePath, parsePeerPath, PathTooLongError, toFileUri } from "../path_uri.ts";
import { confinable, unconfinable } from "./confinable.ts";
import { addIssue, convert } from "./convert.ts";
import { SandboxField } from "./process.ts";
import { noted } from "./wire_notes.ts";

export type * from "./discovery_results.ts";

/** A place to look at. A place on another machine is no reason to refuse the others. */
export interface CapabilityPath {
  readonly uri: string;
  /** Null when it is not of this machine. */
  readonly native: NativePath | null;
}

const CapabilityPathParam = noted(
  convert(z.string(), (text, payload): CapabilityPath => {
    try {
      const { native } = parsePeerPath(text);
      return { uri: toFileUri(native), native };
    } catch (error) {
      if (!(error instanceof DomainError) || error instanceof PathTooLongError) throw error;
      if (error instanceof ForeignPathError) return { uri: text, native: null };
      addIssue(payload, { code: "custom", message: error.message });
      return z.NEVER;
    }
  }),
  { constraints: ["absolutePath"] },
);

// ---------------------------------------------------------------- capabilityRoots/discoverV1

export const CapabilityRootParam = confinable(
  z.object({ id: z.string(), path: CapabilityPathParam, sandbox: SandboxField }),
);
export type CapabilityRootParam = z.output<typeof CapabilityRootParam>;

export const CapabilityRootsDiscoverParams = unconfinable(
  z.object({ roots: z.array(CapabilityRootParam) }),
  "each root has its own `sandbox`",
);
export type CapabilityRootsDiscoverParams = z.output<typeof CapabilityRootsDiscoverParams>;

// ---------------------------------------------------------------- capabilities/discoverV2

export const CapabilitiesDiscoverParams = confinable(z.object({
  /** Where the client works. What is installed does not depend on it. */
  cwd: CapabilityPathParam,
  sandbox: SandboxField,
}));
export type CapabilitiesDiscoverParams = z.output<typeof CapabilitiesDiscoverParams>;
