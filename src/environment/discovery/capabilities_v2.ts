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
  PluginField,
  SkillField,
  SkillFilesField,
} from "../../protocol/capability_discovery.ts";
import { type Pace, PartOfRoom, type Room, type Surroundings, withRoom } from "./answer_room.ts";
import { AnswerBounds } from "./capability_files.ts";
import { discoverRoot, mapConcurrently } from "./capability_roots.ts";
import { longSteps } from "./long_steps.ts";
import {
  MAX_CAPABILITIES,
  MAX_CAPABILITY_LOCATIONS,
  MAX_CONCURRENT_ROOTS,
  MAX_INVENTORY_BYTES,
  MAX_INVENTORY_WARNINGS,
  MAX_QUALIFIED_SKILL_NAME_LENGTH,
  SHORT_TEXT_LENGTH,
  SHORT_YAML_LENGTH,
} from "../limits.ts";
import { isDirectory } from "../local_files.ts";
import { type InstalledPlugin, listInstalledPlugins } from "./plugin_cache.ts";
import { lastUriName, parentUri, type PluginNames, pluginNames, pluginOfManifest } from "./plugin_manifest.ts";
import { extractHeader, parseSkillFrontmatter } from "./skill_frontmatter.ts";
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
  /** Nothing of the files is held any more, but for what the inventory has taken and counted itself. */
  release(): void;
}

/** What locations are looked at with. */
interface Eye {
  readonly files: FileSystem;
  readonly room: Room;
  readonly signal: AbortSignal | undefined;
  readonly pace: Pace | undefined;
}

export async function discoverCapabilities(
  host: CapabilityHost,
  { signal, reserve, pace }: Surroundings = {},
): Promise<CapabilitiesDiscoverResult> {
  const { locations, isIncomplete } = await findLocations(host, signal);
  return await withRoom(reserve, async (room) => {
    const inventory = new Inventory(room);
    if (isIncomplete) inventory.warn(LOCATIONS_INCOMPLETE);
    const eye: Eye = { files: host.files, room, signal, pace };
    // What the inventory does not take is dropped before more of it is read.
    for (let at = 0; at < locations.length; at += MAX_CONCURRENT_ROOTS) {
      const together = locations.slice(at, at + MAX_CONCURRENT_ROOTS);
      const findings = await mapConcurrently(together, (location) => look(eye, location));
      for (const [at, finding] of findings.entries()) {
        if (pace?.isOver) await pace.rest();
        inventory.add(together[at]!, finding);
        finding.release();
      }
    }
    return inventory.finish();
  });
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

async function look({ files, room, signal, pace }: Eye, { root, plugin }: Location): Promise<Finding> {
  const path = { uri: root, native: parsePath(root).native };
  const skills: SkillField[] = [];
  let areComplete = true;
  /** By the URIs of their plugins' roots: only the names are kept of the manifests. */
  const namespaces = new Map<string, PluginNames>();
  const taken = new PartOfRoom(room);
  // Each location has its own bounds: a skill is only read to be described, and dropped before the next one is read.
  const bounds = new AnswerBounds(taken);
  const found = await discoverRoot({
    id: "",
    path,
    files: () => files,
    bounds,
    signal,
    pace,
    // Both give way before, so that of all that were read by now one is described per turn.
    taker: {
      manifest: async (manifest) => {
        const plugin = pluginOfManifest(manifest.path);
        const isShort = manifest.contents.length <= SHORT_TEXT_LENGTH;
        const names = await longSteps.run(pace, isShort, () => pluginNames(manifest));
        if (plugin === null || names === null) return;
        taken.take(2 * (plugin.root.length + names.name.length + names.displayName.length));
        namespaces.set(plugin.root, names);
      },
      skill: async (skill) => {
        const described = await longSteps.run(pace, isShortSkill(skill), () => describeSkill(skill, namespaces));
        if (described === null) areComplete = false;
        else skills.push(keepAlone(described, taken));
      },
    },
  });
  const isIncomplete = !areComplete || found.warnings.length > 0 || found.error !== null || bounds.hasSilentLoss;
  const release = () => taken.giveAll();
  if (plugin === null) return { plugin: null, skills, isIncomplete, release };

  const names = namespaces.get(root);
  if (found.plugin === null || names === undefined) return { plugin: null, skills: [], isIncomplete: true, release };
  const { id, remotePluginId, version } = plugin;
  const { displayName } = names;
  return {
    plugin: { id, displayName, remotePluginId, version, root, files: found.plugin, skills },
    skills: [],
    isIncomplete,
    release,
  };
}

/** A copy: texts cut out of a file would keep all of it. */
function keepAlone(skill: SkillField, room: Room): SkillField {
  const json = JSON.stringify(skill);
  room.take(json.length);
  return JSON.parse(json);
}

function isShortSkill({ instructions, metadata }: SkillFilesField): boolean {
  const header = extractHeader(instructions.contents) ?? "";
  return header.length + (metadata?.contents.length ?? 0) <= SHORT_YAML_LENGTH;
}

/** Null for what does not describe itself. */
async function describeSkill(
  { instructions, metadata }: SkillFilesField,
  namespaces: ReadonlyMap<string, PluginNames>,
): Promise<SkillField | null> {
  const { path } = instructions;
  const defaultName = onOneLine(lastUriName(parentUri(path)!)) || "skill";
  const frontmatter = await parseSkillFrontmatter(instructions.contents, defaultName);
  if (frontmatter === null) return null;
  const namespace = enclosingNamespace(path, namespaces);
  const name = namespace === null ? frontmatter.name : `${namespace}:${frontmatter.name}`;
  if ([...name].length > MAX_QUALIFIED_SKILL_NAME_LENGTH) return null;
  const details = await parseSkillMetadata(metadata?.contents ?? "");
  return { ...frontmatter, name, path, ...details };
}

/** The nearest plugin around it. */
function enclosingNamespace(path: string, namespaces: ReadonlyMap<string, PluginNames>): string | null {
  for (let directory = parentUri(path); directory !== null; directory = parentUri(directory)) {
    const name = namespaces.get(directory)?.name;
    if (name !== undefined) return name;
  }
  return null;
}

/** The answer, kept within its bounds. */
class Inventory {
  readonly #result: CapabilitiesDiscoverResult = { plugins: [], skills: [], warnings: [] };
  readonly #room: Room;
  #count = 0;
  #bytes = 0;
  #isCut = false;

  constructor(room: Room) {
    this.#room = room;
  }

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
    // It is held, and then the answer that is made of it.
    this.#room.take(2 * bytes);
    this.#count += count;
    this.#bytes += bytes;
    return true;
  }
}
