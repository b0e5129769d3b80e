/**
 * Requests that ask for confinement by other names than `sandbox`: understood as meant, or refused. None of them runs
 * unconfined.
 *
 * `sandboxPolicy` beside a request's own members is the older place of `sandbox.sandboxPolicy`, and means the same.
 * Other names for such an object in related protocols are refused by name. Null asks for nothing. Any other unknown
 * member is ignored, since newer clients exist. The object itself is read in `sandbox.ts`.
 */

import * as z from "zod/mini";
import { addIssue, type Payload, preprocess } from "./convert.ts";
import { noted } from "./wire_notes.ts";

/** Names of a policy or profile elsewhere in the family. No request of ours has them at its top. */
const OTHER_WORDS = ["sandbox_policy", "sandboxProfile", "permissionProfile", "permission_profile", "permissions"];

/** Those that do not belong into a `sandbox` object either. */
export const WORDS_BESIDE_PERMISSIONS = OTHER_WORDS.filter((word) => word !== "permissions");

const REFUSED_WITH_SANDBOX = ["sandbox", "sandboxPolicy", ...OTHER_WORDS];

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
      if (refuse(params, OTHER_WORDS, payload, "a request is confined by `sandbox`")) return z.NEVER;
      const { sandbox, sandboxPolicy, cwd } = params;
      if (isAbsent(sandboxPolicy)) return params;
      if (!isConfinable(params)) {
        refuse(params, ["sandboxPolicy"], payload, "this request cannot be confined");
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
      return isObject(params) && refuse(params, REFUSED_WITH_SANDBOX, payload, why) ? z.NEVER : params;
    }, schema),
    { constraints: ["notConfinable"] },
  );
}

/** Adds an issue for the first of these words that is given; whether there was one. */
export function refuse(members: Members, words: readonly string[], payload: Payload, why: string): boolean {
  for (const word of words) {
    // An inherited member is never one of these words.
    if (isAbsent(members[word])) continue;
    addIssue(payload, { code: "custom", path: [word], message: `\`${word}\` is not accepted here: ${why}` });
    return true;
  }
  return false;
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}
