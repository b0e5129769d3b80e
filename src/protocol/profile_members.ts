/**
 * Which members of a sandbox object with `permissions` nothing here knows.
 *
 * They are ignored, as the reference ignores them, and may have been meant to forbid something. So they are told to the
 * operator, by their place: `permissions.file_system.entries.owner`.
 */

import { SANDBOX_MEMBERS } from "./sandbox.ts";

/** The members of an object, and what is known of each: null for a value that is not looked into. */
interface Known {
  readonly [member: string]: Known | null;
}

const PLACE: Known = { cwd: null, workspaceRoots: null };

const ENTRY: Known = {
  path: {
    type: null,
    path: null,
    pattern: null,
    value: { kind: null, path: null, subpath: null },
  },
  access: null,
  missing_path_behavior: null,
};

const SANDBOX: Known = {
  ...Object.fromEntries(SANDBOX_MEMBERS.map((member) => [member, null])),
  policyContext: PLACE,
  permissions: {
    type: null,
    network: null,
    file_system: { type: null, entries: ENTRY, glob_scan_max_depth: null },
  },
};

/** The places of unknown members, as they come: the same one for every entry of a list that has it. */
export function* unknownMembers(sandbox: unknown): Generator<string> {
  yield* unknownIn(sandbox, SANDBOX, "");
}

function* unknownIn(value: unknown, known: Known, place: string): Generator<string> {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) yield* unknownIn(item, known, place);
    return;
  }
  for (const [member, content] of Object.entries(value)) {
    const inside = Object.hasOwn(known, member) ? known[member] : undefined;
    if (inside === undefined) yield place + member;
    else if (inside !== null) yield* unknownIn(content, inside, `${place}${member}.`);
  }
}
