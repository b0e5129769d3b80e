/**
 * `capabilities/discoverV2`: the plugins and skills installed on this machine, described without their instructions.
 *
 * Looks only at fixed places: the plugin cache and three directories of skills. Reads them again each time, through the
 * given filesystem. What cannot be read is left out; warnings say that, but name no paths.
 */

import type { FileSystem } from "../../fs/file_system.ts";
import { parsePath, toFileUri } from "../../path_uri.ts";
import type {
  CapabilitiesDiscoverResult,
  CapabilityFileField,
  CapabilityRootField,
  PluginField,
  SkillField,
} from "../../protocol/capability_discovery.ts";
import { ByteBudget } from "./capability_files.ts";
import { discoverRoot, mapConcurrently } from "./capability_roots.ts";
import {
  MAX_CAPABILITIES,
  MAX_CAPABILITY_ANSWER_BYTES,
  MAX_CAPABILITY_LOCATIONS,
  MAX_INVENTORY_BYTES,
  MAX_INVENTORY_WARNINGS,
  MAX_QUALIFIED_SKILL_NAME_LENGTH,
} from "../limits.ts";
import { isDirectory } from "../local_files.ts";
import { type InstalledPlugin, listInstalledPlugins } from "./plugin_cache.ts";
import { lastUriName, parentUri, pluginNames, pluginOfManifest } from "./plugin_manifest.ts";
import { parseSkillFrontmatter } from "./skill_frontmatter.ts";
import { parseSkillMetadata } from "./skill_metadata.ts";
import { onOneLine } from "./yaml_document.ts";
import { joinPath } from "../../text_path.ts";

export interface CapabilityHost {
  readonly files: FileSystem;
  readonly codexHome: string;
  readonly userHome: string | null;
  /** Where the machine's own configuration is. */
  readonly systemDirectory: string;
}

const LOCATIONS_INCOMPLETE = "some capability locations could not be resolved; discovery may be incomplete";
const METADATA_INCOMPLETE = "some capability metadata could not be loaded; discovery may be incomplete";
const LIMIT_REACHED = "capability discovery size limit reached";

/** A directory to look at: a plugin's, or one of skills that belong to no plugin. */
type Location =
  | { readonly root: string; readonly plugin: InstalledPlugin }
  | { readonly root: string; readonly plugin: null; readonly rootId: string };

/** What was found in one location. */
interface Finding {
  readonly plugin: PluginField | null;
  readonly skills: readonly SkillField[];
  readonly isIncomplete: boolean;
}

const NOTHING: Finding = { plugin: null, skills: [], isIncomplete: false };

export async function discoverCapabilities(
  host: CapabilityHost,
  signal?: AbortSignal,
): Promise<CapabilitiesDiscoverResult> {
  const { locations, isIncomplete } = await findLocations(host, signal);
  const inventory = new Inventory();
  if (isIncomplete) inventory.warn(LOCATIONS_INCOMPLETE);
  // The files are only read to be described, so each location has its own budget.
  const findings = await mapConcurrently(locations, (location) => look(host.files, location, signal));
  for (const [at, finding] of findings.entries()) inventory.add(locations[at]!, finding);
  return inventory.finish();
}

async function findLocations(
  { files, codexHome, userHome, systemDirectory }: CapabilityHost,
  signal?: AbortSignal,
): Promise<{ locations: Location[]; isIncomplete: boolean }> {
  const { plugins, isIncomplete } = await listInstalledPlugins(
    files,
    toFileUri(joinPath(codexHome, "plugins/cache")),
    signal,
  );
  const locations: Location[] = plugins.map((plugin) => ({ root: plugin.root, plugin }));
  const skillRoots = [
    { rootId: "codex-home-skills", path: joinPath(codexHome, "skills") },
    ...(userHome === null ? [] : [{ rootId: "user-agent-skills", path: joinPath(userHome, ".agents/skills") }]),
    { rootId: "system-skills", path: joinPath(systemDirectory, "skills") },
  ];
  for (const { rootId, path } of skillRoots) {
    const root = toFileUri(path);
    const isKnown = locations.some((location) => location.root === root);
    if (!isKnown && await isDirectory(files, path)) locations.push({ root, plugin: null, rootId });
  }
  const isCut = locations.length > MAX_CAPABILITY_LOCATIONS;
  return { locations: locations.slice(0, MAX_CAPABILITY_LOCATIONS), isIncomplete: isIncomplete || isCut };
}

async function look(files: FileSystem, { root, plugin }: Location, signal?: AbortSignal): Promise<Finding> {
  const path = { uri: root, native: parsePath(root).native };
  const budget = new ByteBudget(MAX_CAPABILITY_ANSWER_BYTES);
  const found = await discoverRoot({ id: "", path, files: () => files, budget, ...(signal && { signal }) });
  const { skills, areComplete } = await describeSkills(found);
  const isIncomplete = !areComplete || found.warnings.length > 0 || found.error !== null;
  if (plugin === null) return { plugin: null, skills, isIncomplete };

  const names = found.plugin === null ? null : pluginNames(found.plugin.manifest);
  if (found.plugin === null || names === null) return { ...NOTHING, isIncomplete: true };
  const { id, remotePluginId, version } = plugin;
  const { displayName } = names;
  return {
    plugin: { id, displayName, remotePluginId, version, root, files: found.plugin, skills },
    skills: [],
    isIncomplete,
  };
}

async function describeSkills(
  { skills, namespaceManifests }: CapabilityRootField,
): Promise<{ skills: SkillField[]; areComplete: boolean }> {
  const namespaces = namespacesOf(namespaceManifests);
  const described: SkillField[] = [];
  for (const { instructions, metadata } of skills) {
    const { path } = instructions;
    const defaultName = onOneLine(lastUriName(parentUri(path)!)) || "skill";
    const frontmatter = await parseSkillFrontmatter(instructions.contents, defaultName);
    if (frontmatter === null) continue;
    const namespace = enclosingNamespace(path, namespaces);
    const name = namespace === null ? frontmatter.name : `${namespace}:${frontmatter.name}`;
    if ([...name].length > MAX_QUALIFIED_SKILL_NAME_LENGTH) continue;
    const details = await parseSkillMetadata(metadata?.contents ?? "");
    described.push({ ...frontmatter, name, path, ...details });
  }
  return { skills: described, areComplete: described.length === skills.length };
}

/** Names of plugins by the URI of their roots. */
function namespacesOf(manifests: readonly CapabilityFileField[]): Map<string, string> {
  const namespaces = new Map<string, string>();
  for (const manifest of manifests) {
    const root = pluginOfManifest(manifest.path)?.root;
    const name = pluginNames(manifest)?.name;
    if (root !== undefined && name !== undefined && !namespaces.has(root)) namespaces.set(root, name);
  }
  return namespaces;
}

/** The nearest plugin around it. */
function enclosingNamespace(path: string, namespaces: ReadonlyMap<string, string>): string | null {
  for (let directory = parentUri(path); directory !== null; directory = parentUri(directory)) {
    const name = namespaces.get(directory);
    if (name !== undefined) return name;
  }
  return null;
}

/** The answer, kept within its bounds. */
class Inventory {
  readonly #result: CapabilitiesDiscoverResult = { plugins: [], skills: [], warnings: [] };
  #count = 0;
  #bytes = 0;
  #isCut = false;

  warn(text: string): void {
    if (this.#result.warnings.length < MAX_INVENTORY_WARNINGS) this.#result.warnings.push(text);
  }

  add(location: Location, { plugin, skills, isIncomplete }: Finding): void {
    if (isIncomplete) this.warn(METADATA_INCOMPLETE);
    if (plugin !== null) {
      // The plugin itself counts too.
      const room = Math.max(0, MAX_CAPABILITIES - this.#count - 1);
      if (plugin.skills.length > room) this.#isCut = true;
      const field = { ...plugin, skills: plugin.skills.slice(0, room) };
      if (this.#admit(1 + field.skills.length, field)) this.#result.plugins.push(field);
    }
    for (const skill of skills) {
      if (location.plugin !== null) continue;
      const field = { ...skill, discoveryRoot: { id: location.rootId, path: location.root } };
      if (this.#admit(1, field)) this.#result.skills.push(field);
    }
  }

  finish(): CapabilitiesDiscoverResult {
    const { plugins, skills, warnings } = this.#result;
    plugins.sort((a, b) => a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
    const kept = this.#isCut ? [LIMIT_REACHED, ...warnings.slice(0, MAX_INVENTORY_WARNINGS - 1)] : warnings;
    return { plugins, skills, warnings: kept };
  }

  #admit(count: number, field: unknown): boolean {
    const bytes = new TextEncoder().encode(JSON.stringify(field)).length;
    const fits = this.#count + count <= MAX_CAPABILITIES && this.#bytes + bytes <= MAX_INVENTORY_BYTES;
    if (!fits) {
      this.#isCut = true;
      return false;
    }
    this.#count += count;
    this.#bytes += bytes;
    return true;
  }
}
