/**
 * Methods by name: how their parameters decode, what they claim of the scheduler, and the function that does the work.
 *
 * Knows no method itself. Order of checks on a request is the contract's: the method exists, its parameters decode, and
 * only then whether the handshake allows it.
 */

import { invalidParams } from "../errors.ts";
import type { Claim, Lane } from "./scheduler.ts";

/** The part of a zod schema that is used here. */
export interface ParamsSchema<Params> {
  safeParse(value: unknown): { success: true; data: Params } | { success: false; error: { issues: readonly Issue[] } };
}

interface Issue {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly errors?: readonly (readonly Issue[])[];
}

/** One row of the protocol's method list. */
export interface MethodRow<Params> {
  readonly name: string;
  /** How refusals of the handshake call the method's group. */
  readonly family: string;
  readonly params: ParamsSchema<Params>;
  lane(params: Params): Lane;
  claims(params: Params): readonly Claim[];
}

export type Handler<Params, Context> = (params: Params, context: Context) => unknown;

/** A method whose parameters have been decoded, ready to be scheduled. */
export interface PreparedCall<Context> {
  readonly family: string;
  readonly lane: Lane;
  readonly claims: readonly Claim[];
  /** Null when this server knows the method's shape and does not implement it. */
  readonly run: ((context: Context) => unknown) | null;
}

/** A handler whose module is loaded with its first call. Calls after that are as direct as any. */
export function lazily<Params, Context>(
  load: () => Promise<Handler<Params, Context>>,
): Handler<Params, Context> {
  let handler: Handler<Params, Context> | null = null;
  return (params, context) => {
    if (handler !== null) return handler(params, context);
    return load().then((loaded) => (handler = loaded)(params, context));
  };
}

export class MethodTable<Context> {
  readonly #methods = new Map<string, (params: unknown) => PreparedCall<Context>>();

  /** Adds a method. Without a handler it is known and answered as not implemented once the handshake allows it. */
  bind<Params>(row: MethodRow<Params>, handler: Handler<Params, Context> | null): void {
    if (this.#methods.has(row.name)) throw new Error(`method ${row.name} is bound twice`);
    this.#methods.set(row.name, (raw) => {
      const params = decodeParams(row.params, raw);
      return {
        family: row.family,
        lane: row.lane(params),
        claims: row.claims(params),
        run: handler === null ? null : (context) => handler(params, context),
      };
    });
  }

  /** Undefined: no such method. Throws a domain error when the parameters do not decode. */
  prepare(method: string, params: unknown): PreparedCall<Context> | undefined {
    return this.#methods.get(method)?.(params);
  }
}

export function decodeParams<Params>(schema: ParamsSchema<Params>, raw: unknown): Params {
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  throw invalidParams(describeIssue(parsed.error.issues[0]));
}

const GENERAL_TEXT = /^(Invalid|Too small|Too big|Unrecognized)/;

/** The first problem in the words the reference uses for the same: they reach people through its clients. */
function describeIssue(issue: Issue | undefined): string {
  if (issue === undefined) return "invalid params";
  const branches = issue.errors ?? [];
  if (issue.code === "invalid_union" && branches.length > 0) {
    // The branch that got furthest is the one the client meant.
    const best = branches.map((branch) => branch[0]).filter((first) => first !== undefined)
      .reduce((a, b) => (b.path.length > a.path.length ? b : a), branches[0]![0]!);
    if (best !== undefined) return describeIssue({ ...best, path: [...issue.path, ...best.path] });
  }
  const field = issue.path.at(-1);
  if (issue.code === "invalid_type" && issue.message.endsWith("received undefined") && field !== undefined) {
    return `missing field \`${String(field)}\``;
  }
  // A schema's own text names its field; the library's general ones do not.
  if (!GENERAL_TEXT.test(issue.message) || issue.path.length === 0) return issue.message;
  return `${issue.path.map(String).join(".")}: ${issue.message}`;
}
