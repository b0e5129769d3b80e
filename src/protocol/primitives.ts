/**
 * The building blocks of every parameter schema: words, byte strings, numbers and paths.
 *
 * Schemas decode: what comes out is bytes and native paths, never base64 or URIs. All of them are cheap enough to run
 * on every message. Texts that begin like zod's own do not name their field: the path of the issue does.
 */

import * as z from "zod/mini";
import { DomainError } from "../errors.ts";
import { isObject } from "../json_object.ts";
import { type Base64Content, contentBytes } from "./base64.ts";
import { addIssue, convert } from "./convert.ts";
import { ForeignPathError, type ParsedPath, parsePeerPath, PathTooLongError } from "../path_uri.ts";
import { noted } from "./wire_notes.ts";

/** Base64 on the wire, as it came, to be decoded with `contentBytes`. */
export const Base64Text = noted(
  z.union([z.string(), z.instanceof(Uint8Array)]) as unknown as z.ZodMiniType<Base64Content, string>,
  { json: { type: "string", contentEncoding: "base64", anyOf: undefined } },
);

/** Base64 on the wire, bytes inside. */
export const Base64Bytes = noted(
  convert(Base64Text, (content, payload): Uint8Array<ArrayBuffer> => {
    const bytes = contentBytes(content);
    if (bytes !== null) return bytes;
    const message = "Invalid base64: expected padded standard base64 without white space";
    addIssue(payload, { code: "custom", message });
    return z.NEVER;
  }),
  { constraints: ["base64"] },
);

/** One of some words. A wrong one is answered in the words of the reference. */
export function oneOf<const Words extends readonly [string, ...string[]]>(words: Words) {
  // By way of a string, so that an absent word is a missing field and not a wrong one.
  return z.pipe(z.string(), z.enum(words, { error: ({ input }) => unknownVariant(String(input), words) }));
}

export function unknownVariant(given: string, words: readonly string[]): string {
  const quoted = words.map((word) => `\`${word}\``);
  const expected = quoted.length > 2 ? `one of ${quoted.join(", ")}` : quoted.join(" or ");
  return `unknown variant \`${given}\`, expected ${expected}`;
}

/** The largest unsigned 64-bit integer, which clients send for "no limit", is read as this. */
const UNSIGNED_MAX = 2 ** 64;

/** An unsigned 64-bit integer. Above 2^53 the value is rounded, which only "as long as possible" ever means. */
export const UnsignedInt = noted(
  z.number().check(z.refine(
    (value) => value >= 0 && value <= UNSIGNED_MAX && Number.isInteger(value),
    { error: "Invalid input: expected a non-negative integer" },
  )),
  { json: { type: "integer", minimum: 0, maximum: UNSIGNED_MAX } },
);

/** A duration that must not be zero. */
export const PositiveMs = noted(
  z.number().check(z.refine(
    (value) => value >= 1 && value <= UNSIGNED_MAX && Number.isInteger(value),
    { error: "Invalid input: expected a positive integer of milliseconds" },
  )),
  { json: { type: "integer", minimum: 1, maximum: UNSIGNED_MAX } },
);

export const Uint16 = z.int().check(z.minimum(0), z.maximum(0xffff));

/** Rows or columns of a terminal. */
export const TerminalExtent = z.int().check(z.minimum(1), z.maximum(0xffff));

/**
 * An absolute path for methods that refuse another machine's path as an invalid request: parsing throws the
 * `ForeignPathError` itself, past zod. A path that is too long is thrown past zod everywhere: it is the kernel's error.
 */
export const AbsolutePath = noted(
  convert(z.string(), (text, payload): ParsedPath => {
    try {
      return parsePeerPath(text);
    } catch (error) {
      if (error instanceof ForeignPathError || error instanceof PathTooLongError) throw error;
      if (!(error instanceof DomainError)) throw error;
      addIssue(payload, { code: "custom", message: error.message });
      return z.NEVER;
    }
  }),
  { constraints: ["absolutePath"] },
);

/** An absolute path for fields where another machine's path is just one more invalid parameter. */
export const LocalAbsolutePath = noted(
  convert(z.string(), (text, payload): ParsedPath => {
    try {
      return parsePeerPath(text);
    } catch (error) {
      if (!(error instanceof DomainError) || error instanceof PathTooLongError) throw error;
      addIssue(payload, { code: "custom", message: error.message });
      return z.NEVER;
    }
  }),
  { constraints: ["absolutePath", "localPath"] },
);

/**
 * An object of strings, handed on as it came. Not `z.record`, which drops a key called `__proto__`: a legal, if odd,
 * name for a variable.
 */
export const StringMap = noted(
  convert(z.unknown(), (value, payload): Readonly<Record<string, string>> => {
    if (!isObject(value)) {
      addIssue(payload, { code: "invalid_type", expected: "record", input: value });
      return z.NEVER;
    }
    for (const [name, text] of Object.entries(value)) {
      if (typeof text === "string") continue;
      addIssue(payload, { code: "invalid_type", expected: "string", input: text, path: [name] });
      return z.NEVER;
    }
    return value as Record<string, string>;
  }),
  { json: { type: "object", additionalProperties: { type: "string" } } },
);

/** The parameters of a method that has none: absent, null or an empty object. */
export const NoParams = z.nullish(z.strictObject({}));
