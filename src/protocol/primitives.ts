/**
 * The building blocks of every parameter schema: words, byte strings, numbers and paths.
 *
 * Schemas decode: what comes out is bytes and native paths, never base64 or URIs. All of them are cheap enough to run
 * on every message. Texts that begin like zod's own do not name their field: the path of the issue does.
 */

import * as z from "zod";
import { DomainError } from "../errors.ts";
import { decodeBase64 } from "./base64.ts";
import { ForeignPathError, type ParsedPath, parsePath } from "../path_uri.ts";

/** Base64 on the wire, bytes inside. */
export const Base64Bytes = z.string().transform((text, context): Uint8Array<ArrayBuffer> => {
  const bytes = decodeBase64(text);
  if (bytes !== null) return bytes;
  context.addIssue({ code: "custom", message: "Invalid base64: expected padded standard base64 without white space" });
  return z.NEVER;
});

/** One of some words. A wrong one is answered in the words of the reference. */
export function oneOf<const Words extends readonly [string, ...string[]]>(words: Words) {
  // By way of a string, so that an absent word is a missing field and not a wrong one.
  return z.string().pipe(z.enum(words, { error: ({ input }) => unknownVariant(String(input), words) }));
}

export function unknownVariant(given: string, words: readonly string[]): string {
  const quoted = words.map((word) => `\`${word}\``);
  const expected = quoted.length > 2 ? `one of ${quoted.join(", ")}` : quoted.join(" or ");
  return `unknown variant \`${given}\`, expected ${expected}`;
}

/** The largest unsigned 64-bit integer, which clients send for "no limit", is read as this. */
const UNSIGNED_MAX = 2 ** 64;

/** An unsigned 64-bit integer. Above 2^53 the value is rounded, which only "as long as possible" ever means. */
export const UnsignedInt = z.number().refine(
  (value) => value >= 0 && value <= UNSIGNED_MAX && Number.isInteger(value),
  {
    error: "Invalid input: expected a non-negative integer",
  },
);

/** A duration that must not be zero. */
export const PositiveMs = z.number().refine((value) => value >= 1 && value <= UNSIGNED_MAX && Number.isInteger(value), {
  error: "Invalid input: expected a positive integer of milliseconds",
});

export const Uint16 = z.int().min(0).max(0xffff);

/** Rows or columns of a terminal. */
export const TerminalExtent = z.int().min(1).max(0xffff);

/**
 * An absolute path for methods that refuse another machine's path as an invalid request: parsing throws the
 * `ForeignPathError` itself, past zod.
 */
export const AbsolutePath = z.string().transform((text, context): ParsedPath => {
  try {
    return parsePath(text);
  } catch (error) {
    if (error instanceof ForeignPathError || !(error instanceof DomainError)) throw error;
    context.addIssue({ code: "custom", message: error.message });
    return z.NEVER;
  }
});

/** An absolute path for fields where another machine's path is just one more invalid parameter. */
export const LocalAbsolutePath = z.string().transform((text, context): ParsedPath => {
  try {
    return parsePath(text);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    context.addIssue({ code: "custom", message: error.message });
    return z.NEVER;
  }
});

/**
 * An object of strings, handed on as it came. Not `z.record`, which drops a key called `__proto__`: a legal, if odd,
 * name for a variable.
 */
export const StringMap = z.unknown().transform((value, context): Readonly<Record<string, string>> => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    context.addIssue({ code: "invalid_type", expected: "record", input: value });
    return z.NEVER;
  }
  for (const [name, text] of Object.entries(value)) {
    if (typeof text === "string") continue;
    context.addIssue({ code: "invalid_type", expected: "string", input: text, path: [name] });
    return z.NEVER;
  }
  return value as Record<string, string>;
});

/** The parameters of a method that has none: absent, null or an empty object. */
export const NoParams = z.strictObject({}).nullish();
