/**
 * The wire forms of a sandbox object: permission profiles, their older native-path form, and named policies.
 *
 * All of them decode into one `Sandbox`. Unknown fields are ignored, since other versions exist; an unknown type, kind,
 * access or policy is an error, because guessing what it permits would be worse. Nothing here looks at the disk: what a
 * profile means on this host is decided in `launch/`.
 */

import * as z from "zod";
import { DomainError } from "../errors.ts";
import { type ParsedPath, parsePath } from "../path_uri.ts";
import { AbsolutePath, oneOf, unknownVariant } from "./primitives.ts";

export type NetworkAccess = "restricted" | "enabled";
export type PathAccess = "read" | "write" | "deny";

export type SpecialPath =
  /** The whole disk. */
  | { readonly kind: "root" }
  /** The system directories a program needs to start. */
  | { readonly kind: "minimal" }
  /** Each workspace root, or the same place below each. */
  | { readonly kind: "project_roots"; readonly subpath: string | null }
  /** The command's TMPDIR. */
  | { readonly kind: "tmpdir" }
  | { readonly kind: "slash_tmp" }
  /** A place some other version knows. It grants and denies nothing. */
  | { readonly kind: "unknown" };

export type EntryPath =
  | { readonly type: "path"; readonly path: string }
  | { readonly type: "glob_pattern"; readonly pattern: string }
  | { readonly type: "special"; readonly value: SpecialPath };

export interface SandboxEntry {
  readonly path: EntryPath;
  readonly access: PathAccess;
}

export type FileSystemPermissions =
  | { readonly type: "unrestricted" }
  | {
    readonly type: "restricted";
    readonly entries: readonly SandboxEntry[];
    /** How many levels below its fixed part a pattern is looked for; null for all. */
    readonly globScanMaxDepth: number | null;
  };

export type Permissions =
  | { readonly type: "disabled" }
  /** Somebody else confines the files. */
  | { readonly type: "external"; readonly network: NetworkAccess }
  | { readonly type: "managed"; readonly fileSystem: FileSystemPermissions; readonly network: NetworkAccess };

/** A sandbox object, decoded. */
export interface Sandbox {
  readonly permissions: Permissions;
  /** Whether the request says at all where it applies. Permissions that depend on it are an error without. */
  readonly isPlaced: boolean;
  /** What relative patterns are relative to. Null when absent, or a path of another machine. */
  readonly cwd: string | null;
  /** What `project_roots` stands for. Roots of another machine are left out: there is nothing of them here. */
  readonly workspaceRoots: readonly string[];
}

// ---------------------------------------------------------------- building blocks

type Variants = Readonly<Record<string, z.ZodType>>;
type VariantOutput<V extends Variants> = { [Word in keyof V]: z.output<V[Word]> }[keyof V];

/**
 * An object whose member `tag` selects its schema. Unlike a zod union it reports a missing tag as a missing field, and
 * everything else as the selected schema does.
 */
function tagged<V extends Variants>(tag: string, variants: V) {
  return z.unknown().transform((value, context): VariantOutput<V> => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      context.addIssue({ code: "invalid_type", expected: "object", input: value });
      return z.NEVER;
    }
    const word = (value as Readonly<Record<string, unknown>>)[tag];
    if (typeof word !== "string") {
      context.addIssue({ code: "invalid_type", expected: "string", input: word, path: [tag] });
      return z.NEVER;
    }
    const schema = Object.hasOwn(variants, word) ? variants[word] : undefined;
    if (schema === undefined) {
      const message = unknownVariant(word, Object.keys(variants));
      context.addIssue({ code: "custom", input: word, path: [tag], message });
      return z.NEVER;
    }
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data as VariantOutput<V>;
    for (const { path, ...issue } of parsed.error.issues) context.addIssue({ ...issue, path: [...path] });
    return z.NEVER;
  });
}

/** Mount arguments and rule texts are made of strings, so a path that is not UTF-8 cannot be confined by name. */
function utf8Only({ native }: ParsedPath, context: z.RefinementCtx): string {
  if (typeof native === "string") return native;
  context.addIssue({ code: "custom", message: "sandbox paths must be UTF-8" });
  return z.NEVER;
}

/** A path that grants or denies something: one of another machine is refused as an invalid request. */
const EntryPathText = AbsolutePath.transform(utf8Only);

/** A path of the request's surroundings: one of another machine is as good as none. */
const ContextPath = z.string().transform((text, context): { path: string | null; form: ParsedPath["form"] } => {
  try {
    const parsed = parsePath(text);
    return { path: utf8Only(parsed, context), form: parsed.form };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    if (error.kind !== "invalidParams") return { path: null, form: "uri" };
    context.addIssue({ code: "custom", message: error.message });
    return z.NEVER;
  }
});
type ContextPath = z.output<typeof ContextPath>;

// ---------------------------------------------------------------- permission profiles

const Network = oneOf(["restricted", "enabled"]);

const ProjectRoots = z.object({ subpath: z.string().nullish() })
  .transform(({ subpath }): SpecialPath => ({ kind: "project_roots", subpath: subpath ?? null }));

const Special = tagged("kind", {
  root: z.unknown().transform((): SpecialPath => ({ kind: "root" })),
  minimal: z.unknown().transform((): SpecialPath => ({ kind: "minimal" })),
  project_roots: ProjectRoots,
  /** The name `project_roots` had before there could be several. */
  current_working_directory: ProjectRoots,
  tmpdir: z.unknown().transform((): SpecialPath => ({ kind: "tmpdir" })),
  slash_tmp: z.unknown().transform((): SpecialPath => ({ kind: "slash_tmp" })),
  unknown: z.object({ path: z.string(), subpath: z.string().nullish() })
    .transform((): SpecialPath => ({ kind: "unknown" })),
});

const Entry = z.object({
  path: tagged("type", {
    path: z.object({ type: z.literal("path"), path: EntryPathText }),
    glob_pattern: z.object({ type: z.literal("glob_pattern"), pattern: z.string() }),
    special: z.object({ type: z.literal("special"), value: Special }),
  }),
  /** `none` is what `deny` was called at first. */
  access: oneOf(["read", "write", "deny", "none"]).transform((word): PathAccess => (word === "none" ? "deny" : word)),
  /** Accepted, and without effect in the reference: a missing path is protected from being made either way. */
  missing_path_behavior: oneOf(["skip"]).nullish(),
}).transform(({ path, access }): SandboxEntry => ({ path, access }));

const FileSystem = tagged("type", {
  unrestricted: z.unknown().transform((): FileSystemPermissions => ({ type: "unrestricted" })),
  restricted: z.object({
    entries: z.array(Entry),
    glob_scan_max_depth: z.int().min(1, "glob_scan_max_depth must be at least 1").nullish(),
  }).transform(({ entries, glob_scan_max_depth }): FileSystemPermissions => ({
    type: "restricted",
    entries,
    globScanMaxDepth: glob_scan_max_depth ?? null,
  })),
});

const PermissionsField = tagged("type", {
  managed: z.object({ file_system: FileSystem, network: Network }).transform((
    { file_system, network },
  ): Permissions => ({ type: "managed", fileSystem: file_system, network })),
  disabled: z.unknown().transform((): Permissions => ({ type: "disabled" })),
  external: z.object({ network: Network }).transform(({ network }): Permissions => ({ type: "external", network })),
});

// ---------------------------------------------------------------- named policies

const networkAccess = z.boolean().default(false);

const NamedPolicy = tagged("type", {
  "read-only": z.object({ type: z.literal("read-only"), network_access: networkAccess }),
  "workspace-write": z.object({
    type: z.literal("workspace-write"),
    writable_roots: z.array(EntryPathText).default([]),
    network_access: networkAccess,
    exclude_tmpdir_env_var: z.boolean().default(false),
    exclude_slash_tmp: z.boolean().default(false),
  }),
  "danger-full-access": z.object({ type: z.literal("danger-full-access") }),
});
type NamedPolicy = z.output<typeof NamedPolicy>;

/** The profile a named policy stands for; null when it needs a cwd and there is none. */
function profileOf(policy: NamedPolicy, cwd: string | null): Permissions | null {
  if (policy.type === "danger-full-access") return { type: "disabled" };
  const network = policy.network_access ? "enabled" : "restricted";
  const entries: SandboxEntry[] = [{ path: { type: "special", value: { kind: "root" } }, access: "read" }];
  if (policy.type === "workspace-write") {
    if (cwd === null) return null;
    for (const path of [cwd, ...policy.writable_roots]) entries.push({ path: { type: "path", path }, access: "write" });
    const temporary: SpecialPath[] = [];
    if (!policy.exclude_tmpdir_env_var) temporary.push({ kind: "tmpdir" });
    if (!policy.exclude_slash_tmp) temporary.push({ kind: "slash_tmp" });
    for (const value of temporary) entries.push({ path: { type: "special", value }, access: "write" });
  }
  return { type: "managed", fileSystem: { type: "restricted", entries, globScanMaxDepth: null }, network };
}

// ---------------------------------------------------------------- the object

const WindowsLevel = oneOf(["disabled", "restricted-token", "elevated", "mxc"]);

/** A sandbox object. Which fields may be null is the reference's choice, field by field. */
export const SandboxParam = z.object({
  permissions: PermissionsField.optional(),
  sandboxPolicy: NamedPolicy.optional(),
  cwd: ContextPath.nullish(),
  workspaceRoots: z.array(ContextPath).optional(),
  /** What the permissions were written for, when that differs from where the command runs. It then counts alone. */
  policyContext: z.object({ cwd: ContextPath.nullish(), workspaceRoots: z.array(ContextPath).default([]) }).nullish(),

  // Checked, and without effect here: they are about other systems, or about what the client does before it asks.
  windowsSandboxLevel: WindowsLevel.optional(),
  windowsSandboxPrivateDesktop: z.boolean().nullish(),
  windowsSandboxProxySettingsMode: oneOf(["reconcile", "preserve"]).nullish(),
  useLegacyLandlock: z.boolean().optional(),
  sandboxOverride: oneOf(["noOverride", "escalatedSandboxWithRestrictions", "bypassSandboxFirstAttempt"]).optional(),
  userHomeDir: ContextPath.nullish(),
  temporaryDirectories: z.array(ContextPath).nullish(),
}).transform((wire, context): Sandbox => {
  const missing = (field: string) =>
    context.addIssue({ code: "invalid_type", expected: "object", path: [field], input: undefined });
  const stated = wire.policyContext ?? wire;
  const place = {
    isPlaced: (wire.policyContext ?? wire.cwd ?? null) !== null,
    cwd: stated.cwd?.path ?? null,
    workspaceRoots: stated.workspaceRoots === undefined ? impliedRoots(stated.cwd) : pathsOf(stated.workspaceRoots),
  };

  if (wire.permissions !== undefined) {
    if (wire.sandboxPolicy !== undefined) {
      context.addIssue({ code: "custom", message: "give either `permissions` or `sandboxPolicy`, not both" });
    }
    if (wire.windowsSandboxLevel === undefined) missing("windowsSandboxLevel");
    return { permissions: wire.permissions, ...place };
  }
  if (wire.sandboxPolicy === undefined) {
    missing("permissions");
    return z.NEVER;
  }
  const permissions = profileOf(wire.sandboxPolicy, place.cwd);
  if (permissions !== null) return { permissions, ...place };
  context.addIssue({ code: "custom", message: "sandbox policy `workspace-write` requires cwd" });
  return z.NEVER;
});

/** Before there were workspace roots, and paths were native, the working directory was the one root. */
function impliedRoots(cwd: ContextPath | null | undefined): string[] {
  return cwd?.form === "native" && cwd.path !== null ? [cwd.path] : [];
}

function pathsOf(fields: readonly ContextPath[]): string[] {
  return fields.map((field) => field.path).filter((path) => path !== null);
}
