/**
 * The wire forms of a sandbox object: permission profiles, their older native-path form, and named policies.
 *
 * All of them decode into one `Sandbox`. In profiles unknown members are ignored, since newer clients send them, and
 * listed by `profile_members.ts`. Around and inside a named policy they are an error: nobody sends newer ones, so they
 * ask for something that would not be done. An unknown type, kind, access or policy is an error in both, because
 * guessing what it permits would be worse. Nothing here looks at the disk: what a profile means on this host is decided
 * in `launch/`.
 *
 * More than 300 lines: three wire forms of one object, which share their parts.
 */

import * as z from "zod/mini";
import { DomainError } from "../errors.ts";
import { isObject } from "../json_object.ts";
import { MAX_PATH_BYTES, type ParsedPath, parsePeerPath, PathTooLongError } from "../path_uri.ts";
import { OF_SANDBOXES, refuseNames } from "./confinable.ts";
import { addIssue, convert, type Payload, preprocess } from "./convert.ts";
import { decode } from "./decode_params.ts";
import { AbsolutePath, oneOf, unknownVariant } from "./primitives.ts";
import { noted } from "./wire_notes.ts";

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

type Variants = Readonly<Record<string, z.ZodMiniType>>;
type VariantOutput<V extends Variants> = { [Word in keyof V]: z.output<V[Word]> }[keyof V];

/**
 * An object whose member `tag` selects its schema. Unlike a zod union it reports a missing tag as a missing field, and
 * everything else as the selected schema does.
 */
function tagged<V extends Variants>(tag: string, variants: V) {
  return noted(
    convert(z.unknown(), (value, payload): VariantOutput<V> => {
      if (!isObject(value)) {
        addIssue(payload, { code: "invalid_type", expected: "object", input: value });
        return z.NEVER;
      }
      const word = value[tag];
      if (typeof word !== "string") {
        addIssue(payload, { code: "invalid_type", expected: "string", input: word, path: [tag] });
        return z.NEVER;
      }
      const schema = Object.hasOwn(variants, word) ? variants[word] : undefined;
      if (schema === undefined) {
        const message = unknownVariant(word, Object.keys(variants));
        addIssue(payload, { code: "custom", input: word, path: [tag], message });
        return z.NEVER;
      }
      const parsed = decode(schema, value);
      if (parsed.success) return parsed.data as VariantOutput<V>;
      for (const { path, ...issue } of parsed.error.issues) addIssue(payload, { ...issue, path: [...path] });
      return z.NEVER;
    }),
    { tagged: { tag, variants } },
  );
}

/**
 * Mount arguments and rule texts are made of strings, so a path that is not UTF-8 cannot be confined by name. Nor one that
 * the kernel does not take; and each level of a path is looked at by itself.
 */
function utf8Only({ native }: ParsedPath, payload: Payload): string {
  if (native.length >= MAX_PATH_BYTES) throw new PathTooLongError();
  if (typeof native === "string") return native;
  addIssue(payload, { code: "custom", message: "sandbox paths must be UTF-8" });
  return z.NEVER;
}

/** A path that grants or denies something: one of another machine is refused as an invalid request. */
const EntryPathText = noted(convert(AbsolutePath, utf8Only), { constraints: ["utf8SandboxPath"] });

/** A path of the request's surroundings: one of another machine is as good as none. */
const ContextPath = noted(
  convert(z.string(), (text, payload): { path: string | null; form: ParsedPath["form"] } => {
    try {
      const parsed = parsePeerPath(text);
      return { path: utf8Only(parsed, payload), form: parsed.form };
    } catch (error) {
      if (!(error instanceof DomainError) || error instanceof PathTooLongError) throw error;
      if (error.kind !== "invalidParams") return { path: null, form: "uri" };
      addIssue(payload, { code: "custom", message: error.message });
      return z.NEVER;
    }
  }),
  { constraints: ["absolutePath", "utf8SandboxPath"] },
);
type ContextPath = z.output<typeof ContextPath>;

// ---------------------------------------------------------------- permission profiles

const Network = oneOf(["restricted", "enabled"]);

const ProjectRoots = convert(
  z.object({ subpath: z.nullish(z.string()) }),
  ({ subpath }): SpecialPath => ({ kind: "project_roots", subpath: subpath ?? null }),
);

export const SpecialPathField = tagged("kind", {
  root: convert(z.unknown(), (): SpecialPath => ({ kind: "root" })),
  minimal: convert(z.unknown(), (): SpecialPath => ({ kind: "minimal" })),
  project_roots: ProjectRoots,
  /** The name `project_roots` had before there could be several. */
  current_working_directory: ProjectRoots,
  tmpdir: convert(z.unknown(), (): SpecialPath => ({ kind: "tmpdir" })),
  slash_tmp: convert(z.unknown(), (): SpecialPath => ({ kind: "slash_tmp" })),
  unknown: convert(
    z.object({ path: z.string(), subpath: z.nullish(z.string()) }),
    (): SpecialPath => ({ kind: "unknown" }),
  ),
});

export const EntryPathField = tagged("type", {
  path: z.object({ type: z.literal("path"), path: EntryPathText }),
  glob_pattern: z.object({
    type: z.literal("glob_pattern"),
    pattern: noted(z.string(), { constraints: ["globPattern"] }),
  }),
  special: z.object({ type: z.literal("special"), value: SpecialPathField }),
});

export const SandboxEntryField = convert(
  z.object({
    path: EntryPathField,
    /** `none` is what `deny` was called at first. */
    access: convert(oneOf(["read", "write", "deny", "none"]), (word): PathAccess => (word === "none" ? "deny" : word)),
    /** Accepted, and without effect in the reference: a missing path is protected from being made either way. */
    missing_path_behavior: z.nullish(oneOf(["skip"])),
  }),
  ({ path, access }): SandboxEntry => ({ path, access }),
);

export const FileSystemField = tagged("type", {
  unrestricted: convert(z.unknown(), (): FileSystemPermissions => ({ type: "unrestricted" })),
  restricted: convert(
    z.object({
      entries: z.array(SandboxEntryField),
      glob_scan_max_depth: z.nullish(z.int().check(z.minimum(1, "glob_scan_max_depth must be at least 1"))),
    }),
    ({ entries, glob_scan_max_depth }): FileSystemPermissions => ({
      type: "restricted",
      entries,
      globScanMaxDepth: glob_scan_max_depth ?? null,
    }),
  ),
});

export const PermissionsField = tagged("type", {
  managed: convert(z.object({ file_system: FileSystemField, network: Network }), (
    { file_system, network },
  ): Permissions => ({ type: "managed", fileSystem: file_system, network })),
  disabled: convert(z.unknown(), (): Permissions => ({ type: "disabled" })),
  external: convert(z.object({ network: Network }), ({ network }): Permissions => ({ type: "external", network })),
});

// ---------------------------------------------------------------- named policies

const networkAccess = z._default(z.boolean(), false);

const POLICY_FORMS = {
  "read-only": z.object({ type: z.literal("read-only"), network_access: networkAccess }),
  "workspace-write": z.object({
    type: z.literal("workspace-write"),
    writable_roots: z._default(z.array(EntryPathText), []),
    network_access: networkAccess,
    exclude_tmpdir_env_var: z._default(z.boolean(), false),
    exclude_slash_tmp: z._default(z.boolean(), false),
  }),
  "danger-full-access": z.object({ type: z.literal("danger-full-access") }),
};
const NamedPolicyForm = tagged("type", POLICY_FORMS);
type NamedPolicy = z.output<typeof NamedPolicyForm>;

/** The members of each policy besides its type. */
const POLICY_MEMBERS: Readonly<Record<NamedPolicy["type"], readonly string[]>> = {
  "read-only": ["network_access"],
  "workspace-write": ["writable_roots", "network_access", "exclude_tmpdir_env_var", "exclude_slash_tmp"],
  "danger-full-access": [],
};

/** Every accepted spelling of a policy's name: `read-only`, `read_only`, `readOnly` and `ReadOnly`. */
const POLICY_NAMES: ReadonlyMap<string, NamedPolicy["type"]> = new Map(
  (Object.keys(POLICY_MEMBERS) as NamedPolicy["type"][]).flatMap((name) => {
    const camel = name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
    const pascal = camel[0]!.toUpperCase() + camel.slice(1);
    return [name, name.replaceAll("-", "_"), camel, pascal].map((spelling) => [spelling, name] as const);
  }),
);

/** The name of a policy in its plain spelling, and its members besides `type`. Null: there is no such policy. */
export function policyMembers(type: unknown): { name: string; members: readonly string[] } | null {
  const name = typeof type === "string" ? POLICY_NAMES.get(type) : undefined;
  return name === undefined ? null : { name, members: POLICY_MEMBERS[name] };
}

/** A policy in any spelling, in the one of `NamedPolicyForm`. What is not a policy is left for that to refuse. */
export const NamedPolicy = noted(
  preprocess((value, payload) => {
    if (!isObject(value)) return value;
    const { type, ...members } = value;
    const name = typeof type === "string" ? POLICY_NAMES.get(type) : undefined;
    if (name === undefined) return value;
    const form = new Map<string, unknown>([["type", name]]);
    for (const [written, content] of Object.entries(members)) {
      const member = written.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      const message = !POLICY_MEMBERS[name].includes(member)
        ? `unknown field \`${written}\` in sandbox policy \`${name}\``
        : form.has(member)
        ? `sandbox policy \`${name}\` has \`${member}\` in two spellings`
        : null;
      if (message !== null) {
        addIssue(payload, { code: "custom", path: [written], message });
        return z.NEVER;
      }
      form.set(member, content);
    }
    return Object.fromEntries(form);
  }, NamedPolicyForm),
  {
    constraints: ["oneSpelling"],
    tagged: { tag: "type", variants: POLICY_FORMS, spellings: POLICY_NAMES },
  },
);

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

export const PolicyContextField = z.object({
  cwd: z.nullish(ContextPath),
  workspaceRoots: z._default(z.array(ContextPath), []),
});

const MEMBERS = {
  permissions: z.optional(PermissionsField),
  sandboxPolicy: z.optional(NamedPolicy),
  cwd: z.nullish(ContextPath),
  workspaceRoots: z.optional(z.array(ContextPath)),
  /** What the permissions were written for, when that differs from where the command runs. It then counts alone. */
  policyContext: z.nullish(PolicyContextField),

  // Checked, and without effect here: they are about other systems, or about what the client does before it asks.
  windowsSandboxLevel: z.optional(WindowsLevel),
  windowsSandboxPrivateDesktop: z.nullish(z.boolean()),
  windowsSandboxProxySettingsMode: z.nullish(oneOf(["reconcile", "preserve"])),
  useLegacyLandlock: z.optional(z.boolean()),
  sandboxOverride: z.optional(oneOf(["noOverride", "escalatedSandboxWithRestrictions", "bypassSandboxFirstAttempt"])),
  userHomeDir: z.nullish(ContextPath),
  temporaryDirectories: z.nullish(z.array(ContextPath)),
};

/** The members of a sandbox object that have a meaning. */
export const SANDBOX_MEMBERS: readonly string[] = Object.keys(MEMBERS);

/** A sandbox object. Which members may be null is the reference's choice, member by member. */
export const SandboxParam = noted(
  convert(z.looseObject(MEMBERS), (wire, payload): Sandbox => {
    if (refuseNames(wire, OF_SANDBOXES, payload, "a sandbox has `permissions` or `sandboxPolicy`")) return z.NEVER;
    const missing = (field: string) =>
      addIssue(payload, { code: "invalid_type", expected: "object", path: [field], input: undefined });
    const stated = wire.policyContext ?? wire;
    const place = {
      isPlaced: (wire.policyContext ?? wire.cwd ?? null) !== null,
      cwd: stated.cwd?.path ?? null,
      workspaceRoots: stated.workspaceRoots === undefined ? impliedRoots(stated.cwd) : pathsOf(stated.workspaceRoots),
    };

    if (wire.permissions !== undefined) {
      if (wire.sandboxPolicy !== undefined) {
        addIssue(payload, { code: "custom", message: "give either `permissions` or `sandboxPolicy`, not both" });
      }
      if (wire.windowsSandboxLevel === undefined) missing("windowsSandboxLevel");
      return { permissions: wire.permissions, ...place };
    }
    if (wire.sandboxPolicy === undefined) {
      missing("permissions");
      return z.NEVER;
    }
    const unknown = Object.keys(wire).find((member) => !Object.hasOwn(MEMBERS, member));
    if (unknown !== undefined) {
      const message = `unknown field \`${unknown}\` beside \`sandboxPolicy\``;
      addIssue(payload, { code: "custom", path: [unknown], message });
      return z.NEVER;
    }
    const permissions = profileOf(wire.sandboxPolicy, place.cwd);
    if (permissions !== null) return { permissions, ...place };
    addIssue(payload, { code: "custom", message: "sandbox policy `workspace-write` requires cwd" });
    return z.NEVER;
  }),
  {
    constraints: ["oneConfinement", "policyMembers", "sandboxPlace", "sandboxPaths"],
    json: { oneOf: [{ required: ["permissions", "windowsSandboxLevel"] }, { required: ["sandboxPolicy"] }] },
  },
);

/** Before there were workspace roots, and paths were native, the working directory was the one root. */
function impliedRoots(cwd: ContextPath | null | undefined): string[] {
  return cwd?.form === "native" && cwd.path !== null ? [cwd.path] : [];
}

function pathsOf(fields: readonly ContextPath[]): string[] {
  return fields.map((field) => field.path).filter((path) => path !== null);
}
