/**
 * What a call's command may do: from the call itself, from the last update of a client of the reference's time, or from
 * the command line. All of them become the sandbox object of the websocket server, so the same policy code decides what
 * it means. What does not decode is refused: a command never runs in a weaker sandbox than was meant. Only members that
 * nobody here knows are ignored, as the reference ignores them, and are told to the operator.
 */

import { existsSync, lstatSync } from "node:fs";
import { DomainError, invalidParams } from "../errors.ts";
import { isObject } from "../json_object.ts";
import { DenoHostTree } from "../launch/policy/deno_host_tree.ts";
import { followPath } from "../launch/policy/host_tree.ts";
import { parsePath } from "../path_uri.ts";
import { decodeParams } from "../protocol/decode_params.ts";
import { unknownMembers } from "../protocol/profile_members.ts";
import { type Permissions, type Sandbox, type SandboxEntry, SandboxParam } from "../protocol/sandbox.ts";
import { isWithin, lastName, parentPath } from "../text_path.ts";
import { decodePolicy, placesOf, realPath } from "./sandbox_policy.ts";

export interface SandboxState {
  /** Null: nothing is confined. */
  readonly sandbox: Sandbox | null;
  readonly isNetworkDisabled: boolean;
  readonly source: "call" | "update" | "flag";
  /** Members that the client has sent, and that mean nothing here. */
  readonly ignored: readonly string[];
}

export const SANDBOX_CAPABILITY = "codex/sandbox-state";
export const SANDBOX_UPDATE_METHOD = "codex/sandbox-state/update";

/** codex also sends the same value under the second name. */
const META_KEYS = [SANDBOX_CAPABILITY, "codex/sandbox-state-meta"] as const;

/** A state that does not decode. The message is the reference's. */
export class SandboxStateError extends Error {
  override readonly name = "SandboxStateError";
  readonly data: unknown;

  constructor(message: string, data: unknown, cause?: unknown) {
    super(message, { cause });
    this.data = data;
  }
}

/** The state in the `_meta` of a call; null when there is none. `tmpdir` as commands have it. */
export function callState(
  meta: Readonly<Record<string, unknown>> | undefined,
  tmpdir?: string,
): SandboxState | null {
  const raw = META_KEYS.map((key) => meta?.[key]).find((value) => value !== undefined && value !== null);
  return raw === undefined ? null : decodedState(raw, { source: "call", tmpdir });
}

/** The state that an update sets. `tmpdir` as commands have it. */
export function updatedState(params: unknown, tmpdir?: string): SandboxState {
  if (params === undefined || params === null) {
    throw new SandboxStateError("missing params for sandbox state request", undefined);
  }
  return decodedState(params, { source: "update", tmpdir });
}

/** Below a writable workspace these stay as they are: they decide what later commands, or their client, may do. */
const GUARDED_NAMES = [".git", ".codex", ".agents", ".claude", ".vscode"];

/**
 * The same, for files that are guarded only where they are: in place of a missing one something would have to be put.
 * Claude Code asks its user about a new one, but not about one that has changed.
 */
const GUARDED_FILES = [".mcp.json"];

/** Below every writable directory the policy itself keeps these, besides some of the others. */
const PROTECTED_ANYWAY = [".aws"];

/** What applies when no client says: the named policy, with `cwd` as the workspace. */
export function flagState(policy: "read-only" | "workspace-write", cwd: string): SandboxState {
  const sandbox = decodeParams(SandboxParam, { sandboxPolicy: { type: policy }, cwd, workspaceRoots: [cwd] });
  if (policy === "read-only") return stateOf(sandbox, "flag");
  const inWorkspace = (name: string) => `${cwd.replace(/\/$/, "")}/${name}`;
  for (const name of [...GUARDED_NAMES, ...PROTECTED_ANYWAY, ...GUARDED_FILES]) refuseLink(inWorkspace(name));
  const guarded = [
    ...GUARDED_NAMES.map(inWorkspace),
    ...GUARDED_FILES.map(inWorkspace).filter(mayBeThere),
  ];
  return stateOf(withReadOnlyPaths(sandbox, guarded), "flag");
}

/**
 * A link cannot be guarded: nothing can be mounted on it, and a command that may write the workspace could put a file of
 * its own in its place. Throws then, with what to do.
 */
function refuseLink(path: string): void {
  if (!isLink(path)) return;
  const isFile = GUARDED_FILES.includes(lastName(path));
  const remedy = isFile ? "Put the file itself there" : "Make it a directory (links out of the workspace may be in it)";
  throw invalidParams(
    `Cannot keep commands from writing ${path}: it is a symbolic link, which a command could replace. ${remedy}, or ` +
      "start the server with --sandbox read-only",
  );
}

/**
 * Refuses a state that allows more than the tools were announced with: clients run them without asking because of what
 * was announced.
 */
export function refuseBeyond(announced: "read-only" | "workspace-write", state: SandboxState): void {
  const canWrite = state.sandbox === null || mayWrite(state.sandbox.permissions);
  if (state.isNetworkDisabled && (announced === "workspace-write" || !canWrite)) return;
  const claim = announced === "read-only" ? "change nothing and reach no network" : "reach no network";
  throw invalidParams(
    `the client's sandbox allows more than this server has announced: with --annotate-sandboxed and --sandbox ` +
      `${announced} its tools ${claim}. Start the server without --annotate-sandboxed, or set a stricter sandbox in the client`,
  );
}

function mayWrite(permissions: Permissions): boolean {
  return !confinesFiles(permissions) || permissions.fileSystem.entries.some(({ access }) => access === "write");
}

/**
 * The same state, where nothing can write these paths, whatever else it grants. For example, no command may write rule
 * files. What it does not let anybody read stays so: an audit tells of other clients. A state that confines no files
 * stays as it is.
 */
export function guardedState(
  state: SandboxState,
  { paths, tmpdir }: { paths: readonly string[]; tmpdir: string | undefined },
): SandboxState {
  const { sandbox } = state;
  if (sandbox === null || paths.length === 0 || !confinesFiles(sandbox.permissions)) return state;
  const { entries } = sandbox.permissions.fileSystem;
  // Looked up only if something is granted at all: it takes as long as half of what else this server does for a call.
  if (!entries.some(({ access }) => access === "write")) return state;
  const granted = grantsOf(sandbox, tmpdir);
  const guarded = paths.map((path) => ({ path, places: [path, realPath(path)] }));
  const isShown = (place: string): boolean => ["read", "write"].includes(accessAt(place, granted) ?? "");
  const shown = guarded.filter(({ path, places }) =>
    places.some(isShown) || placesOfLinks(path).some((place) => accessAt(place, granted) === "write")
  );
  const places = guarded.flatMap((each) => each.places);
  return {
    ...state,
    sandbox: withReadOnlyEntries(sandbox, { granted, places, paths: shown.map(({ path }) => path) }),
  };
}

/** The same sandbox, with paths that may only be read, whatever else it grants, if it confines files. */
export function withReadOnlyPaths(sandbox: Sandbox, paths: readonly string[], tmpdir?: string): Sandbox {
  const { permissions } = sandbox;
  if (paths.length === 0 || !confinesFiles(permissions)) return sandbox;
  const canWrite = mayWrite(permissions);
  const granted = canWrite ? grantsOf(sandbox, tmpdir) : [];
  const places = canWrite ? paths.flatMap((path) => [path, realPath(path)]) : [];
  return withReadOnlyEntries(sandbox, { granted, places, paths });
}

interface Grant {
  readonly entry: SandboxEntry;
  /** As it is written, and without links. */
  readonly places: readonly string[];
}

function grantsOf(sandbox: Sandbox, tmpdir: string | undefined): Grant[] {
  const { permissions } = sandbox;
  if (!confinesFiles(permissions)) return [];
  return permissions.fileSystem.entries.map((entry) => ({
    entry,
    places: placesOf(entry, sandbox, tmpdir),
  }));
}

/** The directories of all links on the way: somebody who may write there could lead it elsewhere. */
function placesOfLinks(path: string): string[] {
  return followPath(new DenoHostTree(), path).links.map((link) => parentPath(link.path));
}

/** Of the narrowest entry that a place lies in; null when it lies in none. */
function accessAt(place: string, granted: readonly Grant[]): SandboxEntry["access"] | null {
  let narrowest = -1;
  let access: SandboxEntry["access"] | null = null;
  for (const { entry, places } of granted) {
    for (const around of places) {
      // Of two for the same place, the one that lets more is what must be guarded against.
      const wins = around.length > narrowest || (around.length === narrowest && entry.access === "write");
      if (!wins || !isWithin(place, around)) continue;
      narrowest = around.length;
      access = entry.access;
    }
  }
  return access;
}

interface ReadOnly {
  readonly granted: readonly Grant[];
  /** Where nothing may be granted, or below. */
  readonly places: readonly string[];
  /** What is added. */
  readonly paths: readonly string[];
}

/** A grant for such a place itself, or below it, would win over the entries that are added. */
function withReadOnlyEntries(sandbox: Sandbox, { granted, places, paths }: ReadOnly): Sandbox {
  const { permissions } = sandbox;
  if (!confinesFiles(permissions)) return sandbox;
  const takenBack = new Set(
    granted.filter(({ entry, places: own }) =>
      entry.access === "write" && own.some((place) => places.some((guarded) => isWithin(place, guarded)))
    ).map(({ entry }) => entry),
  );
  const entries = permissions.fileSystem.entries.filter((entry) => !takenBack.has(entry));
  const added = paths.map((path): SandboxEntry => ({ path: { type: "path", path }, access: "read" }))
    .filter(({ path }) => !entries.some((entry) => isSamePath(entry, path)));
  const fileSystem = { ...permissions.fileSystem, entries: [...entries, ...added] };
  return { ...sandbox, permissions: { ...permissions, fileSystem } };
}

type WithEntries = Permissions & { type: "managed"; fileSystem: { type: "restricted" } };

/** Whether it confines something, but no files: then its commands can write whatever the server's user can. */
export function leavesFilesOpen({ sandbox }: SandboxState): boolean {
  return sandbox !== null && !confinesFiles(sandbox.permissions) && networkOf(sandbox.permissions) === "restricted";
}

function confinesFiles(permissions: Permissions): permissions is WithEntries {
  return permissions.type === "managed" && permissions.fileSystem.type === "restricted";
}

function mayBeThere(path: string): boolean {
  try {
    return existsSync(path);
  } catch {
    return true; // Not permitted to look.
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false; // Nothing is there, or it is not permitted to look.
  }
}

function isSamePath({ path, access }: SandboxEntry, other: SandboxEntry["path"]): boolean {
  return access !== "write" && path.type === "path" && other.type === "path" && path.path === other.path;
}

function decodedState(
  raw: unknown,
  { source, tmpdir }: Pick<SandboxState, "source"> & { readonly tmpdir: string | undefined },
): SandboxState {
  const refuse = (cause?: unknown) => new SandboxStateError("failed to deserialize sandbox state", raw, cause);
  if (!isObject(raw)) throw refuse();
  const { permissionProfile, sandboxPolicy, sandboxCwd } = raw;
  if (typeof sandboxCwd !== "string") throw refuse();
  try {
    // A URI and a native path mean the same here; the sandbox object itself treats the two forms differently.
    const { native } = parsePath(sandboxCwd);
    if (typeof native !== "string") throw refuse();
    const place = { cwd: native, workspaceRoots: [native] };
    // Null is absent, as in the reference: clients of its time write what they do not set.
    if (permissionProfile === undefined || permissionProfile === null) {
      const { sandbox, ignored } = decodePolicy(sandboxPolicy, place, tmpdir);
      return stateOf(sandbox, source, ignored.map((member) => `sandboxPolicy.${member}`));
    }
    const object = { permissions: permissionProfile, windowsSandboxLevel: "disabled", ...place };
    return stateOf(decodeParams(SandboxParam, object), source, unknownMembers(object));
  } catch (error) {
    if (error instanceof DomainError) throw refuse(error);
    throw error;
  }
}

function stateOf(sandbox: Sandbox, source: SandboxState["source"], ignored: Iterable<string> = []): SandboxState {
  const { permissions } = sandbox;
  return {
    sandbox: permissions.type === "disabled" ? null : sandbox,
    isNetworkDisabled: networkOf(permissions) === "restricted",
    source,
    ignored: [...ignored],
  };
}

function networkOf(permissions: Permissions): "restricted" | "enabled" {
  return permissions.type === "disabled" ? "enabled" : permissions.network;
}
