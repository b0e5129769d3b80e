/**
 * Decodes parameters from the wire, and says what is wrong when they do not decode.
 *
 * `zod/mini` has no texts of its own. The English ones are passed to each parse, so that nothing is set for the whole
 * program: an embedding program may use zod as well.
 */

import english from "zod/v4/locales/en.js";
import { invalidParams } from "../errors.ts";

/** The part of a zod schema that is used here. */
export interface ParamsSchema<Params> {
  safeParse(value: unknown, context?: ParseContext): Parsed<Params>;
}

export type Parsed<Params> =
  | { success: true; data: Params }
  | { success: false; error: { issues: readonly Issue[] } };

/** How issues without a text of their own are described. */
export type ParseContext = Readonly<{ error: ReturnType<typeof english>["localeError"] }>;

interface Issue {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly errors?: readonly (readonly Issue[])[];
}

const IN_ENGLISH: ParseContext = { error: english().localeError };

/** Decodes, or says what is wrong in English. */
export function decode<Params>(schema: ParamsSchema<Params>, raw: unknown): Parsed<Params> {
  return schema.safeParse(raw, IN_ENGLISH);
}

/** Throws a domain error that names the first problem. */
export function decodeParams<Params>(schema: ParamsSchema<Params>, raw: unknown): Params {
  const parsed = decode(schema, raw);
  if (parsed.success) return parsed.data;
  throw invalidParams(describeIssue(parsed.error.issues[0]));
}

const GENERAL_TEXT = /^(Invalid|Too small|Too big|Unrecognized)/;

/** The first problem in the reference's words: they reach people through its clients. */
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
