/**
 * What a sandbox object asks for, in absolute paths: special places are named, roots are joined with their subpaths,
 * patterns are made absolute. What exists, and which entry wins, is decided by `policy_resolve.ts`.
 *
 * This file decides what counts as full access: only forms that are known to mean it. An entry that is not understood
 * is ignored, as the protocol says, but it never leads to full access.
 */

import { invalidParams } from "../../errors.ts";
import type { NetworkAccess, PathAccess, Sandbox, SandboxEntry, SpecialPath } from "../../protocol/sandbox.ts";
import { MAX_PATH_BYTES, parsePath, PathTooLongError } from "../../path_uri.ts";
import { compileGlob, type GlobPattern, GlobSteps, MAX_GLOB_LENGTH } from "./glob_pattern.ts";
import { joinPath } from "../../text_path.ts";

/** One grant or refusal for a path and everything below it. */
export interface PolicyEntry {
  readonly path: string;
  readonly access: PathAccess;
}

export interface RequestedFiles {
  readonly entries: readonly PolicyEntry[];
  /** Denied wherever they match. */
  readonly globs: readonly GlobPattern[];
  readonly globScanMaxDepth: number | null;
}

export interface RequestedPolicy {
  /** `unrestricted`: nothing about files is confined. */
  readonly files: "unrestricted" | RequestedFiles;
  readonly network: NetworkAccess;
}

export interface EntryContext {
  /** TMPDIR as the command will see it, or as the server does for file operations; null when it is not set. */
  readonly tmpdir: string | null;
}

/** What a program needs to be found, loaded and run. Paths that do not exist grant nothing. */
const PLATFORM_PATHS: readonly string[] = [
  "/bin",
  "/sbin",
  "/usr",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  // The loader's cache, users and hosts, certificates, and the links behind many commands (/etc/alternatives).
  "/etc",
  // Where NixOS keeps all of the above.
  "/nix/store",
  "/run/current-system/sw",
];

/**
 * Paths that a sandbox may name, special ones expanded: roots and subpaths multiply. Those of a real one are a hundred;
 * bubblewrap takes 3000 mounts.
 */
const MAX_ENTRIES = 4096;

/** Characters of all these. Those of a real one have 10,000. */
const MAX_ENTRIES_LENGTH = 1024 * 1024;

/** How clients write a pattern that applies in every workspace root. */
const PROJECT_ROOTS_SCHEME = "codex-project-roots://";

export function requestedPolicy(sandbox: Sandbox, context: EntryContext): RequestedPolicy {
  const { permissions } = sandbox;
  switch (permissions.type) {
    case "disabled":
      return { files: "unrestricted", network: "enabled" };
    case "external":
      return { files: "unrestricted", network: permissions.network };
    case "managed": {
      const { fileSystem, network } = permissions;
      if (fileSystem.type === "unrestricted" || grantsWholeDisk(fileSystem.entries)) {
        return { files: "unrestricted", network };
      }
      const steps = new GlobSteps();
      return {
        files: {
          entries: expandEntries(fileSystem.entries, sandbox, context),
          globs: fileSystem.entries.flatMap((entry) => expandGlob(entry, sandbox, steps)),
          globScanMaxDepth: fileSystem.globScanMaxDepth,
        },
        network,
      };
    }
  }
}

/** Write on the root, and nothing that takes any of it away. */
function grantsWholeDisk(entries: readonly SandboxEntry[]): boolean {
  const isRoot = ({ path }: SandboxEntry): boolean =>
    (path.type === "special" && path.value.kind === "root") || (path.type === "path" && path.path === "/");
  const onlyAdds = (entry: SandboxEntry): boolean => {
    if (entry.path.type === "special" && entry.path.value.kind === "unknown") return false;
    return entry.access === "write" || (entry.access === "read" && isRoot(entry));
  };
  return entries.every(onlyAdds) && entries.some((entry) => entry.access === "write" && isRoot(entry));
}

function expandEntries(entries: readonly SandboxEntry[], sandbox: Sandbox, context: EntryContext): PolicyEntry[] {
  const expanded: PolicyEntry[] = [];
  let length = 0;
  for (const entry of entries) {
    // Counted before they are made: each may stand for as many as there are roots.
    const count = isBelowRoots(entry) ? sandbox.workspaceRoots.length : 1;
    if (expanded.length + count > MAX_ENTRIES) throw invalidParams(`sandbox has more than ${MAX_ENTRIES} paths`);
    for (const path of expandEntry(entry, sandbox, context)) {
      expanded.push(path);
      length += path.path.length;
    }
    if (length > MAX_ENTRIES_LENGTH) throw invalidParams("sandbox has more than 1 MiB of paths");
  }
  return expanded;
}

function isBelowRoots({ path }: SandboxEntry): boolean {
  return path.type === "special" && path.value.kind === "project_roots";
}

/** The paths that an entry is about. */
export function expandEntry({ path, access }: SandboxEntry, sandbox: Sandbox, context: EntryContext): PolicyEntry[] {
  switch (path.type) {
    case "path":
      return [{ path: path.path, access }];
    case "glob_pattern":
      return [];
    case "special":
      return expandSpecial(path.value, access, sandbox, context);
  }
}

function expandSpecial(
  special: SpecialPath,
  access: PathAccess,
  sandbox: Sandbox,
  context: EntryContext,
): PolicyEntry[] {
  switch (special.kind) {
    case "root":
      return [{ path: "/", access }];
    case "slash_tmp":
      return [{ path: "/tmp", access }];
    case "tmpdir":
      // A relative or empty TMPDIR names no place that could be granted.
      return context.tmpdir?.startsWith("/") ? [{ path: normalise(context.tmpdir), access }] : [];
    case "minimal":
      // The system's own directories stay readable. This word cannot ask to hide them.
      return access === "deny" ? [] : PLATFORM_PATHS.map((path) => ({ path, access: "read" as const }));
    case "project_roots":
      return belowRoots(special.subpath, requirePlace(sandbox)).map((path) => ({ path, access }));
    case "unknown":
      return [];
  }
}

/** The subpath in each root. One that is not plainly below a root (`..`, absolute, `.`) grants nothing. */
function belowRoots(subpath: string | null, { workspaceRoots }: Sandbox): readonly string[] {
  if (subpath === null || subpath === "") return workspaceRoots;
  if (subpath.length >= MAX_PATH_BYTES) throw new PathTooLongError();
  const names = subpath.split("/");
  if (subpath.startsWith("/") || names.includes(".") || names.includes("..")) return [];
  return workspaceRoots.map((root) => normalise(joinPath(root, subpath)));
}

function expandGlob({ path, access }: SandboxEntry, sandbox: Sandbox, steps: GlobSteps): GlobPattern[] {
  // A pattern that grants is accepted and grants nothing, as in the reference: its matches are not known in advance.
  if (path.type !== "glob_pattern" || access !== "deny") return [];
  const { pattern } = path;
  if (pattern.length > MAX_GLOB_LENGTH || pattern.startsWith("/")) return compileGlob(pattern, steps);
  const { cwd, workspaceRoots } = requirePlace(sandbox);
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//.exec(pattern)?.[0];
  const below = pattern.slice(scheme?.length ?? 0).replace(/^\/+/, "");
  if ((scheme !== undefined && scheme !== PROJECT_ROOTS_SCHEME) || below === "") {
    throw invalidParams(`glob pattern is neither a path nor in \`${PROJECT_ROOTS_SCHEME}\`: ${pattern}`);
  }
  if (scheme !== undefined) {
    return workspaceRoots.flatMap((root) => compileGlob(joinPath(escapeGlob(root), below), steps));
  }
  if (cwd === null) throw invalidParams(`glob pattern is relative, and the cwd is not on this host: ${pattern}`);
  return compileGlob(joinPath(escapeGlob(cwd), below), steps);
}

/** A root's own name may contain characters that have a meaning in patterns. */
function escapeGlob(path: string): string {
  return path.replace(/[*?[\]{}\\]/g, "\\$&");
}

function requirePlace(sandbox: Sandbox): Sandbox {
  if (sandbox.isPlaced) return sandbox;
  // The reference's text.
  throw invalidParams("file system sandbox context with dynamic permissions requires cwd");
}

/** Without `//`, a trailing `/`, `.` and `..`: from here on paths are compared as texts. */
function normalise(path: string): string {
  const { native } = parsePath(path);
  if (typeof native !== "string") throw new TypeError(`a native path decoded into bytes: ${path}`);
  return native;
}
