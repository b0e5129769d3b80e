/** `capabilityRoots/discoverV1` and `capabilities/discoverV2`: shapes only. Unknown fields are ignored. */

import * as z from "zod";
import { DomainError } from "../errors.ts";
import { ForeignPathError, type NativePath, parsePath, toFileUri } from "../path_uri.ts";
import { SandboxField } from "./process.ts";

/** A place to look at. One on another machine is no reason to refuse the places beside it. */
export interface CapabilityPath {
  readonly uri: string;
  /** Null when it is not of this machine. */
  readonly native: NativePath | null;
}

const CapabilityPathParam = z.string().transform((text, context): CapabilityPath => {
  try {
    const { native } = parsePath(text);
    return { uri: toFileUri(native), native };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    if (error instanceof ForeignPathError) return { uri: text, native: null };
    context.addIssue({ code: "custom", message: error.message });
    return z.NEVER;
  }
});

/** The text of a file. */
export interface CapabilityFileField {
  path: string;
  contents: string;
}

export interface PluginFilesField {
  manifest: CapabilityFileField;
  mcpConfig: CapabilityFileField | null;
  appsConfig: CapabilityFileField | null;
}

// ---------------------------------------------------------------- capabilityRoots/discoverV1

const CapabilityRootParam = z.object({ id: z.string(), path: CapabilityPathParam, sandbox: SandboxField });
export type CapabilityRootParam = z.output<typeof CapabilityRootParam>;

export const CapabilityRootsDiscoverParams = z.object({ roots: z.array(CapabilityRootParam) });
export type CapabilityRootsDiscoverParams = z.output<typeof CapabilityRootsDiscoverParams>;

export interface SkillFilesField {
  /** `SKILL.md`. */
  instructions: CapabilityFileField;
  /** `agents/openai.yaml` beside it. */
  metadata: CapabilityFileField | null;
}

export interface CapabilityRootField {
  id: string;
  path: string;
  /** What the root itself is, if it is a plugin. */
  plugin: PluginFilesField | null;
  /** In the order of their paths. */
  skills: SkillFilesField[];
  /** Manifests of plugins around and below the root, which give skills their namespace. */
  namespaceManifests: CapabilityFileField[];
  /** What had to be left out. */
  warnings: string[];
  /** Why nothing could be said of the root. */
  error: string | null;
}

export interface CapabilityRootsDiscoverResult {
  /** One for each root asked for, in that order. */
  roots: CapabilityRootField[];
}

// ---------------------------------------------------------------- capabilities/discoverV2

export const CapabilitiesDiscoverParams = z.object({
  /** Where the client works. What is installed does not depend on it. */
  cwd: CapabilityPathParam,
  sandbox: SandboxField,
});
export type CapabilitiesDiscoverParams = z.output<typeof CapabilitiesDiscoverParams>;

export interface SkillToolField {
  type: string;
  value: string;
  description: string | null;
  transport: string | null;
  command: string | null;
  url: string | null;
  oauthCallbackPort: number | null;
}

/** What a skill is, without its instructions. */
export interface SkillField {
  /** With the plugin's name and a colon in front, if it belongs to one. */
  name: string;
  description: string;
  shortDescription: string | null;
  /** Of its `SKILL.md`. */
  path: string;
  dependencies: { tools: SkillToolField[] } | null;
  policy: { allowImplicitInvocation: boolean | null; products: string[] } | null;
}

export interface StandaloneSkillField extends SkillField {
  discoveryRoot: { id: string; path: string };
}

export interface PluginField {
  /** Name and marketplace: `github@openai`. */
  id: string;
  displayName: string;
  remotePluginId: string | null;
  version: string;
  root: string;
  files: PluginFilesField;
  skills: SkillField[];
}

export interface CapabilitiesDiscoverResult {
  plugins: PluginField[];
  /** Skills that belong to no installed plugin. */
  skills: StandaloneSkillField[];
  warnings: string[];
}
