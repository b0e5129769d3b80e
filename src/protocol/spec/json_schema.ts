/**
 * Schemas of the table as JSON Schema, draft 07.
 *
 * The library derives what the structure shows; notes beside the schemas (`wire_notes.ts`) add what their code does. Types
 * with a name (`types.ts`) stand once, in `components.schemas`, and are referred to. Parameters are described as they are
 * on the wire, before they are decoded; results as they are sent.
 */

import * as z from "zod/mini";
import { AboutProcess } from "../process_ref.ts";
import { noteOf, type WireNote } from "../wire_notes.ts";
import type { ConstraintName } from "./constraints.ts";

/** A JSON Schema, or a part of one. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly description?: string;
}

/** Which side of a schema: what is sent to the server, or what comes from it. */
export type Side = "input" | "output";

/** A type with a name: its schema, a sentence about it, and one about each of its members. */
export interface NamedType {
  readonly schema: object;
  readonly about: string;
  readonly members: Readonly<Record<string, string>>;
}

const COMPONENTS = "#/components/schemas/";

type Mutable = Record<string, unknown>;

export class SchemaWriter {
  readonly #types: Readonly<Record<string, NamedType>>;
  readonly #names = z.registry<{ id: string; description: string }>();
  /** References to types, with the constraints that come with them. */
  readonly #references = new Map<string, { readonly schema: JsonSchema; readonly met: ReadonlySet<ConstraintName> }>();
  /** Types that something has referred to. */
  readonly #components = new Map<string, JsonSchema>();

  constructor(types: Readonly<Record<string, NamedType>>) {
    this.#types = types;
    for (const [id, { schema, about }] of Object.entries(types)) {
      this.#names.add(schema as z.ZodMiniType, { id, description: about });
    }
  }

  /** Types that have been referred to so far, in the order of their names. */
  get components(): Record<string, JsonSchema> {
    return Object.fromEntries([...this.#components].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** The JSON Schema of parameters or a result; a type with a name is referred to. `met` gathers the constraints on the way. */
  write(schema: unknown, side: Side, met: Set<ConstraintName> = new Set()): JsonSchema {
    if (schema instanceof AboutProcess) return this.#aboutProcess(schema, met);
    return this.#convert(z.array(schema as z.ZodMiniType), side, met).items!;
  }

  #refer(name: string, met: Set<ConstraintName>): JsonSchema {
    let reference = this.#references.get(name);
    if (reference === undefined) {
      const inside = new Set<ConstraintName>();
      reference = { schema: this.write(this.#types[name]!.schema, "input", inside), met: inside };
      this.#references.set(name, reference);
    }
    for (const constraint of reference.met) met.add(constraint);
    return reference.schema;
  }

  /** The JSON Schema of a schema without a name. */
  #convert(schema: object, side: Side, met: Set<ConstraintName>): JsonSchema {
    const written = z.toJSONSchema(schema as z.ZodMiniType, {
      target: "draft-7",
      io: side,
      unrepresentable: "any",
      metadata: this.#names as unknown as typeof z.globalRegistry,
      override: ({ zodSchema, jsonSchema }) => {
        const enumeration = wordsOf(zodSchema);
        if (side === "input" && enumeration !== null) Object.assign(jsonSchema, { type: "string", enum: enumeration });
        const note = noteOf(zodSchema);
        if (note !== undefined && side === "input") this.#apply(note, jsonSchema as Mutable, met);
        if (note?.json !== undefined && side === "output") Object.assign(jsonSchema, note.json);
        // Readers of results ignore what a newer server adds.
        if (side === "output" && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      },
    }) as Mutable;
    const { $schema: _, definitions, ...rest } = tidy(written) as Mutable;
    for (const [id, definition] of Object.entries((definitions ?? {}) as Record<string, JsonSchema>)) {
      this.#components.set(id, described(definition, this.#types[id]!.members));
    }
    return rest as JsonSchema;
  }

  #apply(note: WireNote, json: Mutable, met: Set<ConstraintName>): void {
    for (const name of note.constraints ?? []) met.add(name);
    if (note.tagged !== undefined) Object.assign(json, this.#tagged(note.tagged, met));
    if (note.json !== undefined) Object.assign(json, note.json);
    if (note.decodedLater !== undefined) Object.assign(json, orNull(this.#refer(note.decodedLater, met)));
    if (note.takesPolicy === true) takePolicy(json, orNull(this.#refer("NamedPolicy", met)));
  }

  #tagged({ tag, variants, spellings }: NonNullable<WireNote["tagged"]>, met: Set<ConstraintName>): Mutable {
    const oneOf = Object.entries(variants).map(([word, variant]) => {
      const { properties = {}, required = [] } = this.#convert(variant as object, "input", met);
      const words = spellings === undefined
        ? [word]
        : [...spellings].filter(([, name]) => name === word).map(([spelling]) => spelling);
      return {
        type: "object",
        properties: {
          ...properties,
          ...(spellings === undefined ? {} : camelCased(properties)),
          [tag]: words.length === 1 ? { type: "string", const: word } : { type: "string", enum: words },
        },
        required: [tag, ...required.filter((name) => name !== tag)],
        ...(spellings === undefined ? {} : { additionalProperties: false }),
      };
    });
    return { oneOf };
  }

  /** One of two names, and the members of the method's own. */
  #aboutProcess(schema: AboutProcess<z.core.$ZodShape>, met: Set<ConstraintName>): JsonSchema {
    const { properties, required } = this.#convert(schema.byId, "input", met);
    const [nullableName, name, none] = [{ type: ["string", "null"] }, { type: "string" }, { type: "null" }];
    return {
      type: "object",
      properties: { ...properties, processId: nullableName, uid: nullableName },
      ...(required!.length === 1 ? {} : { required: required!.filter((member) => member !== "processId") }),
      oneOf: [
        { required: ["processId"], properties: { processId: name, uid: none } },
        { required: ["uid"], properties: { uid: name, processId: none } },
      ],
    };
  }
}

/** The words of `oneOf` in `primitives.ts`: a string first, for the sake of messages, and then one of these. */
function wordsOf(schema: { readonly _zod: { readonly def: unknown } }): unknown[] | null {
  const def = schema._zod.def as { type: string; out?: { _zod: { def: { type: string; entries?: object } } } };
  const out = def.type === "pipe" ? def.out!._zod.def : undefined;
  return out?.type === "enum" ? Object.values(out.entries!) : null;
}

/** Adds `sandboxPolicy` to an object, or to those of several that take `sandbox`. */
function takePolicy(json: Mutable, sandboxPolicy: JsonSchema): void {
  const alternatives = json.oneOf as Mutable[] | undefined;
  if (alternatives !== undefined) {
    json.oneOf = alternatives.map((alternative) => {
      const properties = alternative.properties as Readonly<Record<string, JsonSchema>>;
      if (properties.sandbox?.type === "null") {
        return { ...alternative, properties: { ...properties, sandboxPolicy: { type: "null" } } };
      }
      return { ...alternative, properties: { ...properties, sandboxPolicy } };
    });
    return;
  }
  json.properties = { ...json.properties as object, sandboxPolicy };
}

function orNull(schema: JsonSchema): JsonSchema {
  return { anyOf: [schema, { type: "null" }] };
}

function camelCased(properties: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
      schema,
    ]),
  );
}

/** A schema with a sentence at each of its members that has one, in all its alternatives. */
export function described(schema: JsonSchema, sentences: Readonly<Record<string, string>>): JsonSchema {
  const { properties, oneOf, anyOf, ...rest } = schema;
  const describeAll = (forms: readonly JsonSchema[]) => forms.map((form) => described(form, sentences));
  return {
    ...rest,
    ...(properties === undefined ? {} : {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, member]) => {
          const description = sentences[name] ?? sentences[snakeCased(name)];
          return [name, description === undefined ? member : withDescription(member, description)];
        }),
      ),
    }),
    ...(oneOf === undefined ? {} : { oneOf: describeAll(oneOf) }),
    // For parameters that may be null as a whole.
    ...(anyOf === undefined ? {} : { anyOf: describeAll(anyOf) }),
  };
}

function snakeCased(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Beside `$ref` draft 07 takes no other keyword. */
function withDescription(schema: JsonSchema, description: string): JsonSchema {
  return "$ref" in schema ? { description, allOf: [schema] } : { description, ...schema };
}

/** References lead to the document's components, nothing is wrapped that need not be, and nothing is undefined. */
function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidy);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined).map(([key, inner]) => {
    if (key === "$ref" && typeof inner === "string") return [key, inner.replace("#/definitions/", COMPONENTS)];
    return [key, tidy(inner)];
  });
  const tidied: Mutable = Object.fromEntries(entries);
  const { allOf, ...others } = tidied as { allOf?: unknown[] } & Mutable;
  return Object.keys(others).length === 0 && allOf?.length === 1 ? allOf[0] : tidied;
}
