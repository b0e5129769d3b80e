/**
 * Requests that ask for confinement by other names than `sandbox`: understood as meant, or refused. None of them runs
 * unconfined.
 *
 * `sandboxPolicy` beside a request's own members is the older place of `sandbox.sandboxPolicy`, and means the same.
 * Other names for such an object in related protocols, and other spellings, are refused by name. Null asks for nothing.
 * Any other unknown member is ignored, since newer clients exist. The object itself is read in `sandbox.ts`.
 */

import * as z from "zod/mini";
import { isAbsent, isObject } from "../json_object.ts";
import { addIssue, type Payload, preprocess } from "./convert.ts";
import { noted } from "./wire_notes.ts";

/**
 * What this family of programs calls a sandbox, a policy or a profile. `policy` alone is not among them: it may be about
 * anything, and newer clients may send it.
 */
const NAMES = [
  "sandbox",
  "sandboxPolicy",
  "sandboxProfile",
  "sandboxMode",
  "sandboxContext",
  "permissionProfile",
  "permissions",
];

/** One of them in camelCase, snake_case or any other capitals and separators. */
const ANY_SPELLING = new RegExp(`^[_-]*(?:${NAMES.map((name) => [...name].join("[_-]*")).join("|")})[_-]*$`, "i");

/** What a request that can be confined has at its top. */
const OF_REQUESTS = ["sandbox", "sandboxPolicy"];

/** What a `sandbox` object has. */
export const OF_SANDBOXES = ["permissions", "sandboxPolicy"];

type Members = Readonly<Record<string, unknown>>;

/** A policy beside the members of a request, as a client may write it. */
export interface PolicyBeside {
  sandboxPolicy?: unknown;
}

type Schema<S extends z.ZodMiniType, More = unknown> = z.ZodMiniType<z.output<S>, z.input<S> & More>;

export interface ConfinableOptions {
  /** Whether a request of this form may be confined at all. Where it may not, `sandboxPolicy` is refused. */
  readonly isConfinable?: (params: Members) => boolean;
}

/**
 * The parameters of a method that takes `sandbox`. A policy beside them applies where the request's own `cwd` is, if it
 * has one.
 */
export function confinable<S extends z.ZodMiniType>(
  schema: S,
  options: ConfinableOptions = {},
): Schema<S, PolicyBeside> {
  const { isConfinable = () => true } = options;
  const note = { constraints: ["oneConfinement"], takesPolicy: true } as const;
  return noted(
    preprocess((params, payload) => {
      if (!isObject(params)) return params;
      if (refuseNames(params, OF_REQUESTS, payload, "a request is confined by `sandbox`")) return z.NEVER;
      const { sandbox, sandboxPolicy, cwd } = params;
      if (isAbsent(sandboxPolicy)) return params;
      if (!isConfinable(params)) {
        refuseNames(params, ["sandbox"], payload, "this request cannot be confined");
        return z.NEVER;
      }
      if (!isAbsent(sandbox)) {
        addIssue(payload, { code: "custom", message: "give either `sandbox` or `sandboxPolicy`, not both" });
        return z.NEVER;
      }
      return { ...params, sandbox: cwd === undefined ? { sandboxPolicy } : { sandboxPolicy, cwd } };
    }, schema),
    note,
  );
}

/** The parameters of a method that cannot be confined itself: `why` says what can. */
export function unconfinable<S extends z.ZodMiniType>(schema: S, why: string): Schema<S> {
  return noted(
    preprocess((params, payload) => {
      return isObject(params) && refuseNames(params, [], payload, why) ? z.NEVER : params;
    }, schema),
    { constraints: ["notConfinable"] },
  );
}

/** Adds an issue for the first member that asks for confinement by a name that is not accepted; whether there was one. */
export function refuseNames(members: Members, accepted: readonly string[], payload: Payload, why: string): boolean {
  for (const name of Object.keys(members)) {
    if (!ANY_SPELLING.test(name) || accepted.includes(name) || isAbsent(members[name])) continue;
    addIssue(payload, { code: "custom", path: [name], message: `\`${name}\` is not accepted here: ${why}` });
    return true;
  }
  return false;
}
