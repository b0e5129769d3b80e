/**
 * `environmentConfig/read`: the configuration files that apply to a directory, lowest precedence first, reduced to the
 * requested keys.
 *
 * These are the system's, the user's, those of the project's directories from its root down if the user trusts them,
 * and what an administrator manages. Only the requested keys leave: documents are parsed, reduced and written again, so
 * comments and other keys stay here. All files are read again for every call.
 */

import { DomainError, internalError } from "../../errors.ts";
import type { FileSystem } from "../../fs/file_system.ts";
import { MAX_PATH_BYTES, toFileUri } from "../../path_uri.ts";
import type {
  ConfigLayerStackField,
  EnvironmentConfigReadParams,
  EnvironmentConfigReadResult,
  KeyPath,
} from "../../protocol/environment_config.ts";
import { MAX_CONFIG_ANSWER_LENGTH, MAX_CONFIG_BYTES, MAX_CONFIG_FILE_BYTES, SHORT_TEXT_LENGTH } from "../limits.ts";
import { canonicalPath, isDirectory, readOptionalText } from "../local_files.ts";
import { type Pace, type Room, type Surroundings, withRoom } from "./answer_room.ts";
import { ByteBudget } from "./capability_files.ts";
import { ConfigDocuments } from "./config_documents.ts";
import { longSteps } from "./long_steps.ts";
import { Project, trustSettings } from "./project_trust.ts";
import { stringifyToml, type TomlTable, withoutTomlPaths } from "./toml_document.ts";
import { lengthOfToml } from "./toml_length.ts";
import { projectToml, type Selection, selectionOf } from "./toml_projection.ts";
import { joinPath, parentPath } from "../../text_path.ts";

export interface ConfigHost {
  readonly files: FileSystem;
  readonly userHome: string | null;
  readonly codexHome: string;
  readonly hostname: string | null;
  /** Where the machine's own configuration lies. */
  readonly systemDirectory: string;
  /** Keeps what was parsed for the next call. */
  readonly documents?: ConfigDocuments;
}

export const SYSTEM_CONFIG_DIRECTORY = "/etc/codex";

/** Null: no home is known, and none is configured. */
export function findCodexHome(env: Readonly<Record<string, string>>, userHome: string | null): string | null {
  if (env.CODEX_HOME?.startsWith("/")) return env.CODEX_HOME;
  return userHome === null ? null : joinPath(userHome, ".codex");
}

/**
 * What a project may not decide: where credentials are sent, which programs run behind the user's back, and who asks
 * for permission. The reference's list.
 */
const NOT_FOR_PROJECTS: readonly KeyPath[] = [
  ["openai_base_url"],
  ["chatgpt_base_url"],
  ["apps_mcp_product_sku"],
  ["responses_api_metadata"],
  ["model_provider"],
  ["model_providers"],
  ["notify"],
  ["profile"],
  ["profiles"],
  ["experimental_realtime_webrtc_call_base_url"],
  ["experimental_realtime_ws_base_url"],
  ["otel"],
  ["features", "respect_system_proxy"],
  ["tui", "keymap", "chat", "previous_permission_mode"],
  ["tui", "keymap", "chat", "next_permission_mode"],
];

interface Layer {
  readonly source: string;
  readonly baseDir: string;
  readonly table: TomlTable;
  /** Layers from elsewhere come after the system's own. */
  readonly isSystem: boolean;
}

export async function readEnvironmentConfig(
  params: EnvironmentConfigReadParams,
  host: ConfigHost,
  { reserve, pace }: Surroundings = {},
): Promise<EnvironmentConfigReadResult> {
  return await withRoom(reserve, async (room) => {
    const reading = new ConfigReading(host, room, pace);
    const { config, requirements } = await loadLayers(params, host, reading).catch((error) => {
      if (!(error instanceof DomainError)) throw error;
      throw internalError(`failed to load executor-local config: ${error.message}`, error);
    });
    return {
      userHomeDir: host.userHome === null ? null : toFileUri(host.userHome),
      codexHomeDir: toFileUri(host.codexHome),
      hostname: host.hostname,
      config: await stackField(config, params.configPaths, reading),
      requirements: await stackField(requirements, params.requirementsPaths, reading),
    };
  });
}

/** The files of one call: counted before they are held, and parsed and written in turn with everybody else. */
class ConfigReading {
  readonly #files: FileSystem;
  readonly #documents: ConfigDocuments;
  readonly #room: Room;
  readonly pace: Pace | undefined;
  readonly #budget = new ByteBudget(MAX_CONFIG_BYTES);
  readonly #answer = new ByteBudget(MAX_CONFIG_ANSWER_LENGTH);
  #hasLongFile = false;

  constructor({ files, documents = new ConfigDocuments() }: ConfigHost, room: Room, pace: Pace | undefined) {
    this.#files = files;
    this.#documents = documents;
    this.#room = room;
    this.pace = pace;
  }

  async load(path: string, what: string): Promise<TomlTable | null> {
    const text = await readOptionalText(this.#files, path, { maxBytes: MAX_CONFIG_FILE_BYTES, what });
    if (text === null) return null;
    if (text.length > SHORT_TEXT_LENGTH) this.#hasLongFile = true;
    // The text alone is held until it is parsed.
    const textBytes = 2 * text.length;
    this.#room.take(textBytes);
    const { table, bytes } = await this.#documents.parse(text, path, this.pace);
    if (!this.#budget.has(bytes)) {
      throw internalError(`${what} ${path}: all files together take more than ${MAX_CONFIG_BYTES} bytes`);
    }
    this.#budget.take(bytes);
    this.#room.give(textBytes);
    this.#room.take(bytes);
    return table;
  }

  /** What was asked for of a table; null when it has nothing of it. */
  async write(table: TomlTable, selection: ReadonlyMap<string, Selection>): Promise<string | null> {
    return await longSteps.run(this.pace, !this.#hasLongFile, async () => {
      const projected = projectToml(table, selection);
      if (projected === null) return null;
      await this.#giveWay();
      const { length, isWide } = lengthOfToml(projected);
      if (!this.#answer.has(length)) {
        throw internalError(
          `failed to write executor-local config: all layers together have more than ${MAX_CONFIG_ANSWER_LENGTH} characters`,
        );
      }
      this.#answer.take(length);
      // It is held, and then the answer that is made of it.
      this.#room.take(length * (isWide ? 2 + 3 : 1 + 1));
      await this.#giveWay();
      return await stringifyToml(projected);
    });
  }

  /** Within a long step: each part of it can take as long as the parsing of a file. */
  async #giveWay(): Promise<void> {
    if (this.#hasLongFile && this.pace?.isOver) await this.pace.rest();
  }
}

async function loadLayers(
  { cwd }: EnvironmentConfigReadParams,
  { files, codexHome, systemDirectory }: ConfigHost,
  reading: ConfigReading,
): Promise<{ config: Layer[]; requirements: Layer[] }> {
  const load = (path: string) => reading.load(path, "Failed to read config file");
  const managedFile = joinPath(systemDirectory, "managed_config.toml");
  const systemFile = joinPath(systemDirectory, "config.toml");
  const userFile = joinPath(codexHome, "config.toml");
  const requirementsFile = joinPath(systemDirectory, "requirements.toml");
  const managed = await load(managedFile);
  const system = await load(systemFile);
  const user = await load(userFile);
  const required = await reading.load(requirementsFile, "Failed to read requirements file");

  const known = [system, user, managed].filter((table) => table !== null);
  // A directory whose name is not text cannot be named in any configuration, so it is not a project. Nor is one that no
  // call of the kernel takes, and each level of it would cost.
  const project = typeof cwd.native === "string" && cwd.native.length < MAX_PATH_BYTES
    ? await loadProjectLayers({ files, codexHome, cwd: cwd.native, reading }, known)
    : [];
  return {
    config: [
      ...layerOf(system, `system (${systemFile})`, systemFile, true),
      ...layerOf(user, `user (${userFile})`, userFile),
      ...project,
      ...layerOf(managed, `legacy managed_config.toml (${managedFile})`, managedFile),
    ],
    requirements: [
      ...layerOf(required, requirementsFile, requirementsFile, true),
      ...layerOf(managed === null ? null : managedRequirements(managed), managedFile, managedFile),
    ],
  };
}

function layerOf(table: TomlTable | null, source: string, file: string, isSystem = false): Layer[] {
  return table === null ? [] : [{ source, baseDir: parentPath(file), table, isSystem }];
}

async function loadProjectLayers(
  { files, codexHome, cwd, reading }: { files: FileSystem; codexHome: string; cwd: string; reading: ConfigReading },
  known: readonly TomlTable[],
): Promise<Layer[]> {
  const project = await Project.find(files, cwd, trustSettings(known), reading.pace);
  const canonicalHome = await canonicalPath(files, codexHome);
  const layers: Layer[] = [];
  for (const directory of project.directories(cwd)) {
    if (reading.pace?.isOver) await reading.pace.rest();
    const folder = joinPath(directory, ".codex");
    if (!await isDirectory(files, folder) || await canonicalPath(files, folder) === canonicalHome) continue;
    // What nobody trusts is not even parsed.
    if (!await project.isTrusted(directory)) continue;
    const table = await loadProjectDocument(reading, folder);
    const mainFolder = mainCheckoutFolder(project, directory);
    if (mainFolder === null) {
      layers.push(...projectLayer(folder, table));
      continue;
    }
    // Hooks are programs: those of the repository's own checkout count, whatever a worktree has on its branch.
    layers.push(...projectLayer(folder, table === null ? null : withoutTomlPaths(table, [["hooks"]])));
    const hooks = (await loadProjectDocument(reading, mainFolder))?.hooks;
    if (hooks !== undefined) layers.push(...projectLayer(mainFolder, { hooks }));
  }
  return layers;
}

function projectLayer(folder: string, table: TomlTable | null): Layer[] {
  const file = joinPath(folder, "config.toml");
  return layerOf(table, `project (${file})`, file);
}

async function loadProjectDocument(reading: ConfigReading, folder: string): Promise<TomlTable | null> {
  const table = await reading.load(joinPath(folder, "config.toml"), "Failed to read project config file");
  return table === null ? null : withoutTomlPaths(table, NOT_FOR_PROJECTS);
}

/** The same folder in the repository's own checkout, for a directory of a linked worktree. */
function mainCheckoutFolder({ worktree }: Project, directory: string): string | null {
  if (worktree === null || !`${directory}/`.startsWith(`${worktree.root}/`)) return null;
  return joinPath(worktree.mainRoot + directory.slice(worktree.root.length), ".codex");
}

/** The older way of requiring something: a value that is given is the only one allowed. */
function managedRequirements({ approval_policy, approvals_reviewer, sandbox_mode }: TomlTable): TomlTable {
  const required: TomlTable = Object.create(null);
  if (approval_policy !== undefined) required.allowed_approval_policies = [approval_policy];
  if (approvals_reviewer !== undefined) {
    // A user who is reviewed automatically may always ask to be asked.
    required.allowed_approvals_reviewers = approvals_reviewer === "auto_review"
      ? [approvals_reviewer, "user"]
      : [approvals_reviewer];
  }
  if (sandbox_mode !== undefined) {
    // Reading is the least a client needs, so it is never forbidden.
    required.allowed_sandbox_modes = sandbox_mode === "read-only" ? [sandbox_mode] : ["read-only", sandbox_mode];
  }
  return required;
}

async function stackField(
  layers: readonly Layer[],
  paths: readonly KeyPath[],
  reading: ConfigReading,
): Promise<ConfigLayerStackField> {
  const stack: ConfigLayerStackField = { layers: [], cloudInsertionIndex: 0 };
  const selection = selectionOf(paths);
  for (const { source, baseDir, table, isSystem } of layers) {
    const toml = await reading.write(table, selection);
    if (toml === null) continue;
    stack.layers.push({ source, baseDir: toFileUri(baseDir), toml });
    if (isSystem) stack.cloudInsertionIndex++;
  }
  return stack;
}
