/** Plugin manifests: where they are, and the little that this server reads of them. Pure. */

import { isObject } from "../../json_object.ts";
import { toFileUri } from "../../path_uri.ts";
import type { CapabilityFileField } from "../../protocol/capability_discovery.ts";

/** Relative to a plugin's root; the first that exists is the plugin's. */
export const MANIFEST_PATHS = [
  ".codex-plugin/plugin.json",
  ".claude-plugin/plugin.json",
  ".cursor-plugin/plugin.json",
];

/** Where a plugin has its configuration if its manifest names no other place. */
const DEFAULT_MCP_CONFIG = ".mcp.json";
const DEFAULT_APPS_CONFIG = ".app.json";

/** The root of the plugin whose manifest this is, and the manifest's rank among several; null for any other file. */
export function pluginOfManifest(uri: string): { root: string; rank: number } | null {
  const rank = MANIFEST_PATHS.findIndex((path) => uri.endsWith(`/${path}`));
  const path = MANIFEST_PATHS[rank];
  return path === undefined ? null : { root: parentRoot(uri, path), rank };
}

function parentRoot(uri: string, path: string): string {
  const root = uri.slice(0, -path.length - 1);
  return root === "file://" ? "file:///" : root;
}

export interface DeclaredFiles {
  /** Null: the manifest holds the configuration itself, so there is no file. */
  readonly mcpConfig: string | null;
  readonly appsConfig: string;
  readonly warnings: readonly string[];
}

/** The files that belong to a plugin by its manifest. A manifest that cannot be understood declares nothing. */
export function declaredFiles(root: string, manifest: CapabilityFileField): DeclaredFiles {
  const declared = parseObject(manifest.contents) ?? {};
  const warnings: string[] = [];
  const file = (field: "mcpServers" | "apps"): string | null => {
    const path = declared[field];
    if (typeof path !== "string") return null;
    const problem = pathProblem(path);
    if (problem === null) return childUri(root, path.slice("./".length));
    warnings.push(`ignoring ${field} in ${manifest.path}: ${problem}`);
    return null;
  };
  const mcpFile = file("mcpServers");
  return {
    mcpConfig: isObject(declared.mcpServers) ? null : mcpFile ?? childUri(root, DEFAULT_MCP_CONFIG),
    appsConfig: file("apps") ?? childUri(root, DEFAULT_APPS_CONFIG),
    warnings,
  };
}

/** The reference's texts. */
function pathProblem(path: string): string | null {
  if (!path.startsWith("./")) return "path must start with `./`";
  const relative = path.slice("./".length);
  const leaves = relative === "" || relative.startsWith("/") || relative.split(/[/\\]/).includes("..");
  return leaves || relative.includes("\0") ? "path must remain below the capability root" : null;
}

export interface PluginNames {
  /** The name in front of its skills. */
  readonly name: string;
  /** What people are shown. */
  readonly displayName: string;
}

/** Null when it is not a manifest. A plugin without a name is called like its directory. */
export function pluginNames({ path, contents }: CapabilityFileField): PluginNames | null {
  const manifest = parseObject(contents);
  if (manifest === null) return null;
  const { name: given = "", interface: shown } = manifest;
  if (typeof given !== "string") return null;
  const name = given.trim() === "" ? lastUriName(pluginOfManifest(path)?.root ?? path) : given;
  const displayName = isObject(shown) ? shown.displayName : undefined;
  return { name, displayName: typeof displayName === "string" && displayName.trim() !== "" ? displayName : name };
}

function parseObject(json: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(json);
    return isObject(value) ? value : null;
  } catch {
    return null; // Not JSON: the caller hands it on as it is, or says what it has left out.
  }
}

/** The URI of something below a directory, by its native relative path. */
export function childUri(directory: string, relative: string): string {
  return `${directory.replace(/\/$/, "")}${toFileUri(`/${relative}`).slice("file://".length)}`;
}

/** The directory of a file; null for the root. */
export function parentUri(uri: string): string | null {
  if (uri === "file:///") return null;
  const parent = uri.slice(0, uri.lastIndexOf("/"));
  return parent === "file://" ? "file:///" : parent;
}

/** The last component, for people. */
export function lastUriName(uri: string): string {
  const encoded = uri.slice(uri.lastIndexOf("/") + 1);
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded; // Bytes that are not text stay encoded.
  }
}
