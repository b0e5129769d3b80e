/**
 * What the code of a schema does and its structure does not show, written beside it for the specification: the form on the
 * wire where the library cannot derive it, and the constraints that JSON Schema has no words for.
 *
 * A server loads the notes with the schemas, so they are names and small objects. The sentences are in
 * `spec/constraints.ts`, which only the specification loads; a name without a sentence does not compile.
 */

import type { ConstraintName } from "./spec/constraints.ts";

export interface WireNote {
  /** Reasons for -32602 that the JSON Schema cannot express. */
  readonly constraints?: readonly ConstraintName[];
  /** Members of the JSON Schema, besides or in place of what the library derives. Undefined takes one away. */
  readonly json?: Readonly<Record<string, unknown>>;
  /** An object whose member `tag` selects a schema by its word. `spellings`: further words for the same. */
  readonly tagged?: {
    readonly tag: string;
    readonly variants: Readonly<Record<string, unknown>>;
    readonly spellings?: ReadonlyMap<string, string>;
  };
  /** Takes `sandboxPolicy` beside its own members. */
  readonly takesPolicy?: boolean;
  /** The schema of what is not looked into when the parameters are decoded, by its name in `spec/types.ts`. */
  readonly decodedLater?: "Sandbox";
}

const NOTES = new WeakMap<object, WireNote>();

/** The schema itself, with a note. */
export function noted<Schema extends object>(schema: Schema, note: WireNote): Schema {
  NOTES.set(schema, note);
  return schema;
}

export function noteOf(schema: object): WireNote | undefined {
  return NOTES.get(schema);
}
