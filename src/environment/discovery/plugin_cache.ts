/**
 * Installed plugins: `CACHE/MARKETPLACE/NAME/VERSION`, of which one version is in use. Whether a plugin is switched on
 * does not matter here.
 */

import { DomainError } from "../../errors.ts";
import type { FileSystem } from "../../fs/file_system.ts";
import { parsePath } from "../../path_uri.ts";
import { MAX_INSTALL_METADATA_BYTES, MAX_REMOTE_PLUGIN_ID_BYTES, PLUGIN_CACHE_WALK_LIMITS } from "../limits.ts";
import { decodeUtf8, readStart } from "../local_files.ts";
import { childUri, lastUriName, parentUri } from "./plugin_manifest.ts";

export interface InstalledPlugin {
  readonly id: string;
  readonly version: string;
  readonly remotePluginId: string | null;
  /** URI of the version in use. */
  readonly root: string;
}

export interface PluginInventory {
  /** In the order of their ids. */
  readonly plugins: readonly InstalledPlugin[];
  /** Something could not be read, so there may be more. */
  readonly isIncomplete: boolean;
}

/** The version a developer works on, which takes precedence over every release. */
const LOCAL_VERSION = "local";

const INSTALL_METADATA = ".codex-remote-plugin-install.json";

const PLUGIN_NAME = /^[A-Za-z0-9_-]+$/;
const VERSION_NAME = /^[A-Za-z0-9._+-]+$/;

export async function listInstalledPlugins(
  files: FileSystem,
  cacheUri: string,
  signal?: AbortSignal,
): Promise<PluginInventory> {
  const path = parsePath(cacheUri).native;
  const options = { ...PLUGIN_CACHE_WALK_LIMITS, followDirectorySymlinks: true, pruneHiddenDirectories: false };
  const { entries, errors, truncated } = await files.walk({ path, options }, signal).catch((error) => {
    // The client chose nothing of this but the sandbox: an invalid sandbox object is not a bad location.
    if (!(error instanceof DomainError) || error.kind === "invalidParams") throw error;
    return { entries: [], errors: error.kind === "notFound" ? [] : [error], truncated: false };
  });
  let isIncomplete = truncated || errors.length > 0;
  const plugins: InstalledPlugin[] = [];
  for (const { path: directory, kind } of entries) {
    const marketplace = parentUri(directory);
    if (kind !== "directory" || marketplace === null || parentUri(marketplace) !== cacheUri) continue;
    const [name, source] = [lastUriName(directory), lastUriName(marketplace)];
    if (!PLUGIN_NAME.test(name) || !PLUGIN_NAME.test(source)) continue;
    const version = await activeVersion(files, directory, signal);
    if (version === null) continue;
    const remote = await remotePluginId(files, directory, signal);
    if (remote === "unreadable") isIncomplete = true;
    plugins.push({
      id: `${name}@${source}`,
      version,
      remotePluginId: remote === "unreadable" ? null : remote?.id ?? null,
      root: childUri(directory, version),
    });
  }
  return { plugins: plugins.sort((a, b) => a.id < b.id ? -1 : 1), isIncomplete };
}

/** Null when none is installed. */
async function activeVersion(files: FileSystem, packageUri: string, signal?: AbortSignal): Promise<string | null> {
  const path = parsePath(packageUri).native;
  // One level only, and no links: an installer makes real directories.
  const options = { maxDepth: 0, maxDirectories: 1, maxEntries: PLUGIN_CACHE_WALK_LIMITS.maxEntries };
  const walked = await files.walk(
    { path, options: { ...options, followDirectorySymlinks: false, pruneHiddenDirectories: false } },
    signal,
  ).catch((error) => {
    if (!(error instanceof DomainError)) throw error;
    return { entries: [] };
  });
  const versions = walked.entries.filter(({ kind }) => kind === "directory").map((entry) => lastUriName(entry.path))
    .filter((name) => VERSION_NAME.test(name) && name !== "." && name !== "..");
  if (versions.includes(LOCAL_VERSION)) return LOCAL_VERSION;
  return versions.sort(compareVersions).at(-1) ?? null;
}

/** What the installer recorded; null when it recorded nothing. */
async function remotePluginId(
  files: FileSystem,
  packageUri: string,
  signal?: AbortSignal,
): Promise<{ id: string } | null | "unreadable"> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = await readStart(
      files,
      parsePath(childUri(packageUri, INSTALL_METADATA)).native,
      MAX_INSTALL_METADATA_BYTES,
      signal,
    );
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return error.kind === "notFound" ? null : "unreadable";
  }
  if (bytes.length > MAX_INSTALL_METADATA_BYTES) return "unreadable";
  const id = parseInstallMetadata(decodeUtf8(bytes) ?? "");
  return id === null || new TextEncoder().encode(id).length > MAX_REMOTE_PLUGIN_ID_BYTES ? "unreadable" : { id };
}

function parseInstallMetadata(json: string): string | null {
  try {
    const { schema_version, remote_plugin_id } = JSON.parse(json);
    if (schema_version !== 1 || typeof remote_plugin_id !== "string") return null;
    return remote_plugin_id.trim() || null;
  } catch {
    return null; // No JSON, or no object: the caller says that something is missing.
  }
}

/** By the rules of semantic versions if both follow them, else as text. */
function compareVersions(a: string, b: string): number {
  const [left, right] = [parseVersion(a), parseVersion(b)];
  if (left === null || right === null) return a < b ? -1 : a > b ? 1 : 0;
  for (let at = 0; at < 3; at++) {
    if (left.numbers[at] !== right.numbers[at]) return left.numbers[at]! < right.numbers[at]! ? -1 : 1;
  }
  return comparePrereleases(left.prerelease, right.prerelease);
}

interface Version {
  /** As bigints: only the length of the name bounds them. */
  readonly numbers: readonly bigint[];
  readonly prerelease: readonly string[];
}

const NUMBER = "(0|[1-9]\\d*)";
const SEMVER = new RegExp(`^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-([0-9A-Za-z.-]+))?(?:\\+[0-9A-Za-z.-]+)?$`);

function parseVersion(text: string): Version | null {
  const [, major, minor, patch, prerelease] = SEMVER.exec(text) ?? [];
  if (major === undefined || minor === undefined || patch === undefined) return null;
  const numbers = [major, minor, patch].map(BigInt);
  return { numbers, prerelease: prerelease === undefined ? [] : prerelease.split(".") };
}

/** A release is later than its pre-releases; numbers are earlier than words. */
function comparePrereleases(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return (a.length === 0 ? 1 : 0) - (b.length === 0 ? 1 : 0);
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const [left, right] = [a[at], b[at]];
    if (left === undefined || right === undefined) return left === undefined ? -1 : 1;
    if (left === right) continue;
    const [leftIsNumber, rightIsNumber] = [/^\d+$/.test(left), /^\d+$/.test(right)];
    if (leftIsNumber !== rightIsNumber) return leftIsNumber ? -1 : 1;
    if (leftIsNumber) return BigInt(left) < BigInt(right) ? -1 : 1;
    return left < right ? -1 : 1;
  }
  return 0;
}
