/**
 * The named policies of codex, as its MCP clients send them: its own type, which ignores members that it does not know,
 * and which had members in some versions that it has no more. What they mean is honoured here. The rest is ignored, as
 * the reference ignores it, and handed back: it may have been meant to forbid something.
 *
 * The websocket server has such policies as a form of its own, and refuses unknown members.
 */

import { realpathSync } from "node:fs";
import * as z from "zod/mini";
import { invalidParams } from "../errors.ts";
import { isObject } from "../json_object.ts";
import { expandEntry } from "../launch/policy/policy_entries.ts";
import { decodeParams } from "../protocol/decode_params.ts";
import { oneOf } from "../protocol/primitives.ts";
import {
  policyMembers,
  type Sandbox,
  type SandboxEntry,
  SandboxEntryField,
  SandboxParam,
} from "../protocol/sandbox.ts";
import { isWithin } from "../text_path.ts";

/** Where a policy applies, as members of a sandbox object. */
export interface PolicyPlace {
  readonly cwd: string;
  readonly workspaceRoots: readonly string[];
}

export interface DecodedPolicy {
  readonly sandbox: Sandbox;
  /** Members that mean nothing here. */
  readonly ignored: readonly string[];
}

/**
 * Codex 0.100 and some later versions could restrict what is read: to these directories, the working directory, what
 * may be written, and (unless it is told otherwise) what programs need to start.
 */
const READ_ACCESS_MEMBERS: Readonly<Record<string, string>> = {
  "read-only": "access",
  "workspace-write": "read_only_access",
};

const ReadAccess = z.object({
  type: oneOf(["restricted", "full-access", "fullAccess"]),
  include_platform_defaults: z._default(z.boolean(), true),
  readable_roots: z._default(z.array(z.string()), []),
});
const READ_ACCESS = Object.keys(ReadAccess.shape);

type Members = Readonly<Record<string, unknown>>;

/** `tmpdir` as commands have it. Throws a domain error when it does not decode. */
export function decodePolicy(policy: unknown, place: PolicyPlace, tmpdir: string | undefined): DecodedPolicy {
  if (!isObject(policy)) {
    return { sandbox: decodeParams(SandboxParam, { sandboxPolicy: policy, ...place }), ignored: [] };
  }
  const { type, ...members } = policy as Members;
  if (type === "external-sandbox") {
    const { network_access: network, ...ignored } = members;
    const permissions = { type: "external", network: network ?? "restricted" };
    return {
      sandbox: decodeParams(SandboxParam, { permissions, windowsSandboxLevel: "disabled", ...place }),
      ignored: Object.keys(ignored),
    };
  }
  const known = policyMembers(type);
  if (known === null) return { sandbox: decodeParams(SandboxParam, { sandboxPolicy: policy, ...place }), ignored: [] };
  const accessMember = READ_ACCESS_MEMBERS[known.name];
  const means = (written: string, member: string | undefined) => inSnakeCase(written) === member;
  const names = Object.keys(members);
  const meant = names.filter((name) => known.members.some((member) => means(name, member)));
  const [access, ...more] = names.filter((name) => means(name, accessMember));
  if (more.length > 0) throw invalidParams(`sandbox policy \`${known.name}\` has \`${accessMember}\` in two spellings`);
  const sandbox = decodeParams(SandboxParam, {
    sandboxPolicy: { type, ...Object.fromEntries(meant.map((name) => [name, members[name]])) },
    ...place,
  });
  const ignored = names.filter((name) => name !== access && !meant.includes(name));
  if (access === undefined) return { sandbox, ignored };
  return withReadAccess({ sandbox, ignored }, { member: access, raw: members[access], tmpdir });
}

/** The places that an entry is about: as it is written, and without links. */
export function placesOf(entry: SandboxEntry, sandbox: Sandbox, tmpdir: string | undefined): string[] {
  return expandEntry(entry, sandbox, { tmpdir: tmpdir ?? null }).flatMap(({ path }) => [path, realPath(path)]);
}

/** The path without links. If nothing is there: the path as it is. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

interface ReadAccessMember {
  /** Its name, and what the client has sent under it. */
  readonly member: string;
  readonly raw: unknown;
  readonly tmpdir: string | undefined;
}

function withReadAccess({ sandbox, ignored }: DecodedPolicy, { member, raw, tmpdir }: ReadAccessMember): DecodedPolicy {
  const written = isObject(raw) ? Object.entries(raw) : null;
  const access = decodeParams(
    ReadAccess,
    written === null ? raw : Object.fromEntries(written.map(([name, content]) => [inSnakeCase(name), content])),
  );
  const more = (written ?? []).filter(([name]) => !READ_ACCESS.includes(inSnakeCase(name)));
  const told = [...ignored, ...more.map(([name]) => `${member}.${name}`)];
  const { permissions } = sandbox;
  if (access.type !== "restricted" || permissions.type !== "managed" || permissions.fileSystem.type !== "restricted") {
    return { sandbox, ignored: told };
  }
  const readable = [
    ...(access.include_platform_defaults ? [{ type: "special", value: { kind: "minimal" } }] : []),
    ...[...access.readable_roots, ...(sandbox.cwd === null ? [] : [sandbox.cwd])].map((path) => ({
      type: "path",
      path,
    })),
  ].map((path) => decodeParams(SandboxEntryField, { path, access: "read" }));
  const others = permissions.fileSystem.entries.filter((entry) => !isWholeDisk(entry));
  // What can be written can be read already, and an entry below it would make it read-only.
  const covered = others.flatMap((entry) => placesOf(entry, sandbox, tmpdir));
  const isCovered = ({ path }: SandboxEntry): boolean =>
    path.type === "path" && [path.path, realPath(path.path)].some((at) => covered.some((place) => isWithin(at, place)));
  const entries = [...readable.filter((entry) => !isCovered(entry)), ...others];
  const fileSystem = { ...permissions.fileSystem, entries };
  return { sandbox: { ...sandbox, permissions: { ...permissions, fileSystem } }, ignored: told };
}

function isWholeDisk({ path }: SandboxEntry): boolean {
  return path.type === "special" && path.value.kind === "root";
}

function inSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
