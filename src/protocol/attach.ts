/** What `process/attach` and `process/detach` take: a process by the names that hold in the whole server. */

import * as z from "zod/mini";
import { addIssue, convert, type Payload } from "./convert.ts";
import { oneOf, UnsignedInt } from "./primitives.ts";

/** `view`: looks on. `control`: may also write, resize and signal. */
export const ATTACH_ROLES = ["view", "control"] as const;
export type AttachRole = (typeof ATTACH_ROLES)[number];

/** Either is null, and not both. */
export interface SharedName {
  readonly uid: string | null;
  readonly name: string | null;
}

const names = { uid: z.nullish(z.string()), name: z.nullish(z.string()) };

export const ProcessAttachParams = convert(
  z.object({ ...names, role: z.nullish(oneOf(ATTACH_ROLES)), afterSeq: z.nullish(UnsignedInt) }),
  (params, payload) => ({
    ...sharedName(params, payload),
    role: params.role ?? "view",
    /** Null: everything that is retained. */
    afterSeq: params.afterSeq ?? null,
  }),
);
export type ProcessAttachParams = z.output<typeof ProcessAttachParams>;

export const ProcessDetachParams = convert(z.object(names), sharedName);
export type ProcessDetachParams = z.output<typeof ProcessDetachParams>;

function sharedName(params: z.output<z.ZodMiniObject<typeof names>>, payload: Payload): SharedName {
  const { uid = null, name = null } = params;
  if ((uid === null) === (name === null)) {
    addIssue(payload, { code: "custom", message: "a process is attached to by uid or by name: give one of them" });
  }
  return { uid, name };
}
