/**
 * `capabilityRoots/discoverV1`: which plugins and skills lie below given directories, with the text of their files.
 *
 * What the files mean is up to the client. Roots are independent: one that fails says so in its own entry. Each root is
 * read through the filesystem that its sandbox allows.
 */

import { DomainError, invalidRequest } from "../../errors.ts";
import type { FileSystem } from "../../fs/file_system.ts";
import { ForeignPathError } from "../../path_uri.ts";
import type {
  CapabilityFileField,
  CapabilityPath,
  CapabilityRootField,
  CapabilityRootParam,
  CapabilityRootsDiscoverResult,
  SkillFilesField,
} from "../../protocol/capability_discovery.ts";
import { type Pace, type Surroundings, withRoom } from "./answer_room.ts";
import { AnswerBounds, CapabilityFiles } from "./capability_files.ts";
import { CAPABILITY_WALK_LIMITS, MAX_CAPABILITY_ROOTS, MAX_CONCURRENT_ROOTS, SHORT_TEXT_LENGTH } from "../limits.ts";
import { longSteps } from "./long_steps.ts";
import { childUri, declaredFiles, MANIFEST_PATHS, parentUri, pluginOfManifest } from "./plugin_manifest.ts";

/** The filesystem that a sandbox object leaves visible. Throws a domain error when the sandbox cannot be made. */
export type FilesFor = (sandbox: unknown) => FileSystem;

export async function discoverCapabilityRoots(
  roots: readonly CapabilityRootParam[],
  filesFor: FilesFor,
  { signal, reserve, pace }: Surroundings = {},
): Promise<CapabilityRootsDiscoverResult> {
  if (roots.length > MAX_CAPABILITY_ROOTS) {
    throw invalidRequest(`capability root discovery accepts at most ${MAX_CAPABILITY_ROOTS} roots`);
  }
  return await withRoom(reserve, async (room) => {
    const bounds = new AnswerBounds(room);
    return {
      roots: await mapConcurrently(roots, ({ id, path, sandbox }) => {
        return discoverRoot({ id, path, files: () => filesFor(sandbox), bounds, signal, pace });
      }),
    };
  });
}

export interface RootDiscovery {
  readonly id: string;
  readonly path: CapabilityPath;
  /** Called once, so that a sandbox that cannot be made is this root's failure. */
  readonly files: () => FileSystem;
  readonly bounds: AnswerBounds;
  readonly signal: AbortSignal | undefined;
  readonly pace: Pace | undefined;
  /** Takes the files as they are read: then none is kept but the plugin's own. */
  readonly taker?: FileTaker;
}

/** Manifests come before skills, and an outer plugin's before those inside. */
export interface FileTaker {
  manifest(file: CapabilityFileField): Promise<void>;
  skill(files: SkillFilesField): Promise<void>;
}

/** Rejects only for faults of the request as a whole. */
export async function discoverRoot(
  { id, path, files, bounds, signal, pace, taker }: RootDiscovery,
): Promise<CapabilityRootField> {
  const field: CapabilityRootField = {
    id,
    path: path.uri,
    plugin: null,
    skills: [],
    namespaceManifests: [],
    warnings: [],
    error: null,
  };
  try {
    const scan = new RootScan(path, files(), bounds, { signal, pace });
    await scan.run(field, taker);
  } catch (error) {
    if (error instanceof RootError) field.error = error.message;
    else if (error instanceof DomainError && error.kind !== "invalidParams") {
      field.error = `failed to inspect capability root ${path.uri}: ${error.message}`;
    } else throw error;
  }
  return field;
}

/** Why nothing can be said of a root. */
class RootError extends Error {}

class RootScan {
  readonly #root: CapabilityPath;
  readonly #fileSystem: FileSystem;
  readonly #files: CapabilityFiles;
  readonly #signal: AbortSignal | undefined;
  readonly #pace: Pace | undefined;

  constructor(
    root: CapabilityPath,
    fileSystem: FileSystem,
    bounds: AnswerBounds,
    { signal, pace }: Pick<RootDiscovery, "signal" | "pace">,
  ) {
    this.#root = root;
    this.#fileSystem = fileSystem;
    this.#files = new CapabilityFiles(fileSystem, bounds, signal);
    this.#signal = signal;
    this.#pace = pace;
  }

  /** Manifests come first, so that a root with too many skills is still recognised. */
  async run(field: CapabilityRootField, taker?: FileTaker): Promise<void> {
    field.warnings = this.#files.warnings;
    await this.#checkRoot();
    const { skills, manifests } = await this.#walk();
    const own = await this.#manifestOf(this.#root.uri);
    const inherited = own ?? await this.#manifestAbove();
    const seen = new Set<string | undefined>();
    const keepManifest = async (manifest: CapabilityFileField): Promise<void> => {
      seen.add(pluginOfManifest(manifest.path)?.root);
      if (taker === undefined) field.namespaceManifests.push(manifest);
      else {
        await taker.manifest(manifest);
        if (manifest !== own) this.#files.release([manifest]);
      }
    };
    if (inherited !== null) await keepManifest(inherited);
    await this.#readNamespaces(manifests, seen, keepManifest);
    if (own !== null) field.plugin = await this.#readPlugin(own);
    for (const skill of skills) {
      const instructions = await this.#files.read(skill);
      if (instructions === null) continue;
      const metadata = await this.#files.read(childUri(parentUri(skill)!, "agents/openai.yaml"));
      if (taker === undefined) field.skills.push({ instructions, metadata });
      else {
        await taker.skill({ instructions, metadata });
        this.#files.release([instructions, metadata]);
      }
    }
  }

  async #checkRoot(): Promise<void> {
    const { native, uri } = this.#root;
    if (native === null) throw new ForeignPathError(uri);
    const { isDirectory } = await this.#fileSystem.getMetadata(
      { path: native, followSymlinks: true, fields: [] },
      this.#signal,
    );
    if (!isDirectory) throw new RootError(`capability root ${uri} is not a directory`);
  }

  async #walk(): Promise<{ skills: string[]; manifests: string[] }> {
    const { uri } = this.#root;
    const options = { ...CAPABILITY_WALK_LIMITS, followDirectorySymlinks: true, pruneHiddenDirectories: false };
    const walk = await this.#fileSystem.walk({ path: this.#root.native!, options }, this.#signal).catch((error) => {
      if (!(error instanceof DomainError)) throw error;
      throw new RootError(`failed to scan capability root ${uri}: ${error.message}`);
    });
    for (const { path, message } of walk.errors) {
      this.#files.warn(`failed to scan capability path ${path}: ${message}`);
    }
    if (walk.truncated) this.#files.warn(`capability scan reached its traversal limit (root: ${uri})`);
    const files = walk.entries.filter(({ kind }) => kind === "file").map(({ path }) => path).sort(byCodeUnit);
    return {
      skills: files.filter((path) => path.endsWith("/SKILL.md")),
      manifests: files.filter((path) => pluginOfManifest(path) !== null),
    };
  }

  async #manifestOf(directory: string): Promise<CapabilityFileField | null> {
    for (const path of MANIFEST_PATHS) {
      const manifest = await this.#files.read(childUri(directory, path));
      if (manifest !== null) return manifest;
    }
    return null;
  }

  async #manifestAbove(): Promise<CapabilityFileField | null> {
    for (let directory = parentUri(this.#root.uri); directory !== null; directory = parentUri(directory)) {
      const manifest = await this.#manifestOf(directory);
      if (manifest !== null) return manifest;
    }
    return null;
  }

  /** The first manifest of each plugin below that was not seen, in the order of their roots. */
  async #readNamespaces(
    paths: readonly string[],
    seen: Set<string | undefined>,
    keep: (manifest: CapabilityFileField) => Promise<void>,
  ): Promise<void> {
    const plugins = paths.map((path) => ({ path, ...pluginOfManifest(path)! }))
      .sort((a, b) => byCodeUnit(a.root, b.root) || a.rank - b.rank);
    for (const { path, root } of plugins) {
      if (seen.has(root)) continue;
      seen.add(root);
      const manifest = await this.#files.read(path);
      if (manifest !== null) await keep(manifest);
    }
  }

  async #readPlugin(manifest: CapabilityFileField): Promise<NonNullable<CapabilityRootField["plugin"]>> {
    const { mcpConfig, appsConfig, warnings } = await longSteps.run(
      this.#pace,
      manifest.contents.length <= SHORT_TEXT_LENGTH,
      () => declaredFiles(this.#root.uri, manifest),
    );
    for (const warning of warnings) this.#files.warn(warning);
    return {
      manifest,
      mcpConfig: mcpConfig === null ? null : await this.#files.read(mcpConfig),
      appsConfig: await this.#files.read(appsConfig),
    };
  }
}

function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Results in the order of the inputs, a few at a time. Rejects when nothing is under way any more. */
export async function mapConcurrently<Input, Output>(
  inputs: readonly Input[],
  work: (input: Input) => Promise<Output>,
): Promise<Output[]> {
  const outputs: Output[] = new Array(inputs.length);
  let next = 0;
  const worker = async (): Promise<void> => {
    try {
      for (let at = next++; at < inputs.length; at = next++) outputs[at] = await work(inputs[at]!);
    } catch (error) {
      next = inputs.length;
      throw error;
    }
  };
  const workers = await Promise.allSettled(
    Array.from({ length: Math.min(MAX_CONCURRENT_ROOTS, inputs.length) }, worker),
  );
  for (const outcome of workers) if (outcome.status === "rejected") throw outcome.reason;
  return outputs;
}
