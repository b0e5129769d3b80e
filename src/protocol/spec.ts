/**
 * The table as an OpenRPC 1.3 document with JSON Schema draft 07: what `exec-server spec` prints, `rpc.discover` answers,
 * and the reference part of `docs/protocol.md` is made from.
 *
 * Loaded only when it is asked for, with the texts of `spec/`. OpenRPC has no notifications: they are methods without a
 * result, and `x-from` says who sends them. It lists parameters one by one; where they depend on each other,
 * `x-paramsSchema` has the whole.
 */

import { VERSION } from "../version.ts";
import { ERROR_CODES } from "./error_codes.ts";
import { COMMON_ERRORS, METHODS, NOTIFICATIONS } from "./methods.ts";
import type { Errors, MethodRow, NotificationRow } from "./method_row.ts";
import { type ConstraintName, CONSTRAINTS } from "./spec/constraints.ts";
import { described, type JsonSchema, SchemaWriter } from "./spec/json_schema.ts";
import { METHOD_TEXTS, NOTIFICATION_TEXTS } from "./spec/texts.ts";
import { NAMED_TYPES } from "./spec/types.ts";

export type { JsonSchema } from "./spec/json_schema.ts";

/** A parameter, or a result. */
export interface ContentDescriptor {
  readonly name: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly schema: JsonSchema;
}

export interface SpecError {
  readonly code: number;
  readonly message: string;
}

export interface SpecConstraint {
  readonly name: ConstraintName;
  readonly rule: string;
  /** A regular expression for the message of the -32602. */
  readonly refusal: string;
}

interface SpecExample {
  readonly name: string;
  readonly params: readonly { readonly name: string; readonly value: unknown }[];
  readonly result?: { readonly name: string; readonly value: unknown };
}

export interface SpecMethod {
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly { readonly name: string }[];
  readonly paramStructure: "by-name";
  readonly params: readonly ContentDescriptor[];
  /** Left out: a notification. */
  readonly result?: ContentDescriptor;
  readonly errors?: readonly SpecError[];
  readonly examples: readonly SpecExample[];
  readonly "x-from": "client" | "server";
  readonly "x-since": string;
  /** The flag to look at before it is relied on. Null: every server has it. */
  readonly "x-capability": string | null;
  readonly "x-paramsSchema": JsonSchema;
  readonly "x-constraints"?: readonly SpecConstraint[];
}

// A type and not an interface, so that it is one of the forms of `RpcDiscoverResult`.
export type SpecDocument = {
  readonly openrpc: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly methods: SpecMethod[];
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
};

const OPENRPC_VERSION = "1.3.2";

/** Makes the document. */
export async function specDocument(): Promise<SpecDocument> {
  const writer = new SchemaWriter(NAMED_TYPES);
  const methods: SpecMethod[] = [];
  for (const row of Object.values<MethodRow>(METHODS)) methods.push(await requestOf(row, writer));
  for (const row of Object.values<NotificationRow>(NOTIFICATIONS)) methods.push(await notificationOf(row, writer));
  return {
    openrpc: OPENRPC_VERSION,
    info: {
      title: "exec-server",
      version: VERSION,
      description:
        "Runs processes and works on files for a remote agent. Requests carry no `jsonrpc` member. What holds " +
        "for all methods (transport, handshake, order, sessions) is in docs/protocol.md.",
    },
    methods,
    components: { schemas: writer.components },
  };
}

async function requestOf(row: MethodRow, writer: SchemaWriter): Promise<SpecMethod> {
  const text = METHOD_TEXTS[row.name]!;
  const met = new Set<ConstraintName>();
  const schema = described(writer.write(row.params, "input", met), text.params);
  const constraints = [...new Set([...met, ...text.constraints ?? []])].sort();
  const result = described(writer.write(await row.result(), "output"), text.result);
  const { params, result: value } = text.example;
  return {
    ...headOf(row, text.notes),
    params: descriptorsOf(schema),
    result: { name: "result", schema: result },
    errors: errorsOf(row.errors),
    examples: [{ name: "example", params: exampleParams(params), result: { name: "result", value } }],
    "x-from": "client",
    "x-since": row.since,
    "x-capability": row.capability,
    "x-paramsSchema": schema,
    ...(constraints.length === 0
      ? {}
      : { "x-constraints": constraints.map((name) => ({ name, ...CONSTRAINTS[name] })) }),
  };
}

async function notificationOf(row: NotificationRow, writer: SchemaWriter): Promise<SpecMethod> {
  const text = NOTIFICATION_TEXTS[row.name] ?? { params: {}, example: { params: {} } };
  const schema = described(writer.write(await row.params(), "output"), text.params);
  return {
    ...headOf(row, text.notes),
    params: descriptorsOf(schema),
    examples: [{ name: "example", params: exampleParams(text.example.params) }],
    "x-from": row.from,
    "x-since": row.since,
    "x-capability": row.capability,
    "x-paramsSchema": schema,
  };
}

function headOf({ name, description }: { name: string; description: string }, notes: readonly string[] | undefined) {
  return {
    name,
    summary: description,
    ...(notes === undefined ? {} : { description: notes.join("\n\n") }),
    tags: [{ name: name.split(/[/.]/)[0]! }],
    paramStructure: "by-name" as const,
  };
}

/** Each member as a parameter: required where every alternative requires it. */
function descriptorsOf(schema: JsonSchema): ContentDescriptor[] {
  // Parameters that may be null as a whole: nothing has to be given.
  const isNullable = schema.anyOf?.some(({ type }) => type === "null") ?? false;
  const alternatives = schema.oneOf ?? schema.anyOf?.filter(({ properties }) => properties !== undefined) ?? [];
  const forms = schema.properties === undefined ? alternatives : [schema];
  const names = new Set(forms.flatMap(({ properties }) => Object.keys(properties ?? {})));
  return [...names].map((name) => {
    const given = forms.map(({ properties }) => properties?.[name]).filter((schema) => schema !== undefined);
    const description = given[0]!.description;
    return {
      name,
      ...(description === undefined ? {} : { description }),
      required: !isNullable && forms.every(({ required }) => required?.includes(name) ?? false),
      schema: eitherOf(given.map(({ description: _, ...schema }) => schema)),
    };
  });
}

function eitherOf(schemas: readonly JsonSchema[]): JsonSchema {
  const different = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
  // One that may be null anyway says it all.
  const wide = different.filter(({ type }) => type !== "null");
  return wide.length === 1 ? wide[0]! : { anyOf: wide };
}

/** The same code may stand for what this method can meet and for what every request can: both are said. */
function errorsOf(own: Errors): SpecError[] {
  const kinds = Object.keys({ ...COMMON_ERRORS, ...own }) as (keyof typeof ERROR_CODES)[];
  return kinds.map((kind) => ({
    code: ERROR_CODES[kind],
    message: [own[kind], (COMMON_ERRORS as Errors)[kind]].filter((text) => text !== undefined).join(" "),
  }));
}

function exampleParams(params: unknown): { name: string; value: unknown }[] {
  return Object.entries((params ?? {}) as object).map(([name, value]) => ({ name, value }));
}
