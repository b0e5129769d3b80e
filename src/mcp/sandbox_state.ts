/**
 * What a call's command may do: from the call itself, from the last update of a client of the reference's time, or from
 * the command line. All of them become the sandbox object of the websocket server, so the same policy code decides what
 * it means. What does not decode is refused: a command never runs in a weaker sandbox than was meant.
 */

import { realpathSync } from "node:fs";
import { DomainError } from "../errors.ts";
import { parsePath } from "../path_uri.ts";
import { decodeParams } from "../protocol/decode_params.ts";
import { type Permissions, type Sandbox, type SandboxEntry, SandboxParam } from "../protocol/sandbox.ts";
import { isWithin } from "../text_path.ts";

export interface SandboxState {
  /** Null: nothing is confined. */
  readonly sandbox: Sandbox | null;
  readonly isNetworkDisabled: boolean;
  readonly source: "call" | "update" | "flag";
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

/** The state in the `_meta` of a call; null when there is none. */
export function callState(meta: Readonly<Record<string, unknown>> | undefined): SandboxState | null {
  const raw = META_KEYS.map((key) => meta?.[key]).find((value) => value !== undefined && value !== null);
  return raw === undefined ? null : decodedState(raw, "call");
}

/** The state that an update sets. */
export function updatedState(params: unknown): SandboxState {
  if (params === undefined || params === null) {
    throw new SandboxStateError("missing params for sandbox state request", undefined);
  }
  return decodedState(params, "update");
}

/** Below a writable workspace these stay as they are: they decide what later commands may do. */
const GUARDED_NAMES = [".git", ".codex", ".agents"];

/** What applies when no client says: the named policy, with `cwd` as the workspace. */
export function flagState(policy: "read-only" | "workspace-write", cwd: string): SandboxState {
  const sandbox = decodeParams(SandboxParam, { sandboxPolicy: { type: policy }, cwd, workspaceRoots: [cwd] });
  const guarded = policy === "read-only" ? [] : GUARDED_NAMES.map((name) => `${cwd.replace(/\/$/, "")}/${name}`);
  return stateOf(withReadOnlyPaths(sandbox, guarded), "flag");
}

/**
 * The same state, with paths that may only be read, whatever else it grants. For example, no command may write rule
 * files.
 */
export function guardedState(state: SandboxState, paths: readonly string[]): SandboxState {
  return state.sandbox === null ? state : { ...state, sandbox: withReadOnlyPaths(state.sandbox, paths) };
}

function withReadOnlyPaths(sandbox: Sandbox, paths: readonly string[]): Sandbox {
  const { permissions } = sandbox;
  if (paths.length === 0 || permissions.type !== "managed" || permissions.fileSystem.type !== "restricted") {
    return sandbox;
  }
  // A grant for such a path itself, or below it, would win over the entries added here.
  const entries = permissions.fileSystem.entries.filter((entry) => !grantsBelow(entry, paths));
  const added = paths.map((path): SandboxEntry => ({ path: { type: "path", path }, access: "read" }))
    .filter(({ path }) => !entries.some((entry) => isSamePath(entry, path)));
  const fileSystem = { ...permissions.fileSystem, entries: [...entries, ...added] };
  return { ...sandbox, permissions: { ...permissions, fileSystem } };
}

function grantsBelow({ path, access }: SandboxEntry, guarded: readonly string[]): boolean {
  if (access !== "write" || path.type !== "path") return false;
  const granted = [path.path, realPath(path.path)];
  return guarded.some((place) => granted.some((text) => isWithin(text, place) || isWithin(text, realPath(place))));
}

/** The path without links. If nothing is there: the path as it is. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function isSamePath({ path, access }: SandboxEntry, other: SandboxEntry["path"]): boolean {
  return access !== "write" && path.type === "path" && other.type === "path" && path.path === other.path;
}

function decodedState(raw: unknown, source: SandboxState["source"]): SandboxState {
  const refuse = (cause?: unknown) => new SandboxStateError("failed to deserialize sandbox state", raw, cause);
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) throw refuse();
  const { permissionProfile, sandboxPolicy, sandboxCwd } = raw as Record<string, unknown>;
  if (typeof sandboxCwd !== "string") throw refuse();
  try {
    // A URI and a native path mean the same here; the sandbox object itself treats the two forms differently.
    const { native } = parsePath(sandboxCwd);
    if (typeof native !== "string") throw refuse();
    const place = { cwd: native, workspaceRoots: [native] };
    const policy = externalPolicy(sandboxPolicy);
    const object = permissionProfile !== undefined
      ? { permissions: permissionProfile, windowsSandboxLevel: "disabled", ...place }
      : policy !== null
      ? { permissions: policy, windowsSandboxLevel: "disabled", ...place }
      : { sandboxPolicy, ...place };
    return stateOf(decodeParams(SandboxParam, object), source);
  } catch (error) {
    if (error instanceof DomainError) throw refuse(error);
    throw error;
  }
}

/** Only the reference's tool has the policy `external-sandbox`. Null: it is another policy. */
function externalPolicy(policy: unknown): { type: "external"; network: unknown } | null {
  if (typeof policy !== "object" || policy === null || (policy as { type?: unknown }).type !== "external-sandbox") {
    return null;
  }
  return { type: "external", network: (policy as { network_access?: unknown }).network_access ?? "restricted" };
}

function stateOf(sandbox: Sandbox, source: SandboxState["source"]): SandboxState {
  const { permissions } = sandbox;
  return {
    sandbox: permissions.type === "disabled" ? null : sandbox,
    isNetworkDisabled: networkOf(permissions) === "restricted",
    source,
  };
}

function networkOf(permissions: Permissions): "restricted" | "enabled" {
  return permissions.type === "disabled" ? "enabled" : permissions.network;
}
