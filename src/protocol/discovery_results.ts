/**
 * What `environmentConfig/read` and capability discovery answer. The server uses the types alone, as with
 * `process_results.ts`.
 */

import * as z from "zod/mini";

// ---------------------------------------------------------------- environmentConfig/read

export const ConfigLayerField = z.object({
  /** For people: `user (/home/dev/.codex/config.toml)`. */
  source: z.string(),
  /** What relative paths in the layer are relative to, as a URI. */
  baseDir: z.string(),
  /** Only what was asked for. */
  toml: z.string(),
});
export type ConfigLayerField = z.output<typeof ConfigLayerField>;

export const ConfigLayerStackField = z.object({
  /** A later layer overrides an earlier one. */
  layers: z.array(ConfigLayerField),
  /** Where a client puts layers of its own that come from elsewhere. */
  cloudInsertionIndex: z.int(),
});
export type ConfigLayerStackField = z.output<typeof ConfigLayerStackField>;

export const EnvironmentConfigReadResult = z.object({
  userHomeDir: z.nullable(z.string()),
  codexHomeDir: z.string(),
  hostname: z.nullable(z.string()),
  config: ConfigLayerStackField,
  requirements: ConfigLayerStackField,
});
export type EnvironmentConfigReadResult = z.output<typeof EnvironmentConfigReadResult>;

// ---------------------------------------------------------------- capabilityRoots/discoverV1

/** The text of a file. */
export const CapabilityFileField = z.object({ path: z.string(), contents: z.string() });
export type CapabilityFileField = z.output<typeof CapabilityFileField>;

export const PluginFilesField = z.object({
  manifest: CapabilityFileField,
  mcpConfig: z.nullable(CapabilityFileField),
  appsConfig: z.nullable(CapabilityFileField),
});
export type PluginFilesField = z.output<typeof PluginFilesField>;

export const SkillFilesField = z.object({
  /** `SKILL.md`. */
  instructions: CapabilityFileField,
  /** `agents/openai.yaml` beside it. */
  metadata: z.nullable(CapabilityFileField),
});
export type SkillFilesField = z.output<typeof SkillFilesField>;

export const CapabilityRootField = z.object({
  id: z.string(),
  path: z.string(),
  /** What the root itself is, if it is a plugin. */
  plugin: z.nullable(PluginFilesField),
  /** In the order of their paths. */
  skills: z.array(SkillFilesField),
  /** Manifests of plugins around and below the root, which give skills their namespace. */
  namespaceManifests: z.array(CapabilityFileField),
  /** What had to be left out. */
  warnings: z.array(z.string()),
  /** Why nothing could be said of the root. */
  error: z.nullable(z.string()),
});
export type CapabilityRootField = z.output<typeof CapabilityRootField>;

export const CapabilityRootsDiscoverResult = z.object({
  /** One for each root asked for, in that order. */
  roots: z.array(CapabilityRootField),
});
export type CapabilityRootsDiscoverResult = z.output<typeof CapabilityRootsDiscoverResult>;

// ---------------------------------------------------------------- capabilities/discoverV2

export const SkillToolField = z.object({
  type: z.string(),
  value: z.string(),
  description: z.nullable(z.string()),
  transport: z.nullable(z.string()),
  command: z.nullable(z.string()),
  url: z.nullable(z.string()),
  oauthCallbackPort: z.nullable(z.int()),
});
export type SkillToolField = z.output<typeof SkillToolField>;

const skillMembers = {
  /** With the plugin's name and a colon in front, if it belongs to one. */
  name: z.string(),
  description: z.string(),
  shortDescription: z.nullable(z.string()),
  /** The path of its `SKILL.md`. */
  path: z.string(),
  dependencies: z.nullable(z.object({ tools: z.array(SkillToolField) })),
  policy: z.nullable(z.object({
    allowImplicitInvocation: z.nullable(z.boolean()),
    products: z.array(z.string()),
  })),
};

/** What a skill is, without its instructions. */
export const SkillField = z.object(skillMembers);
export type SkillField = z.output<typeof SkillField>;

export const StandaloneSkillField = z.object({
  ...skillMembers,
  discoveryRoot: z.object({ id: z.string(), path: z.string() }),
});
export type StandaloneSkillField = z.output<typeof StandaloneSkillField>;

export const PluginField = z.object({
  /** Name and marketplace: `github@openai`. */
  id: z.string(),
  displayName: z.string(),
  remotePluginId: z.nullable(z.string()),
  version: z.string(),
  root: z.string(),
  files: PluginFilesField,
  skills: z.array(SkillField),
});
export type PluginField = z.output<typeof PluginField>;

export const CapabilitiesDiscoverResult = z.object({
  plugins: z.array(PluginField),
  /** Skills that belong to no installed plugin. */
  skills: z.array(StandaloneSkillField),
  warnings: z.array(z.string()),
});
export type CapabilitiesDiscoverResult = z.output<typeof CapabilitiesDiscoverResult>;
