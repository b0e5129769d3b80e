/**
 * Text to message and back. Malformed input is a value here, not an exception: it is answered like any other message.
 *
 * A request id is kept as the JSON text it came in, because it must be echoed exactly and 64-bit integers do not fit a
 * number.
 */

import { isObject } from "../json_object.ts";
import { endOfString, type JsonLimits, parseStrictJson, StrictJsonError } from "./strict_json.ts";
import type { TraceContext } from "./trace_context.ts";

/** The JSON text of a request id: `7`, `9007199254740993` or `"abc"`. */
export type RequestId = string & { readonly __brand: "RequestId" };

/** The id of answers to messages whose own id is not known. */
export const NO_REQUEST_ID = "-1" as RequestId;

export interface WireError {
  readonly code: number;
  readonly message: string;
}

export type Message =
  | { readonly type: "request"; readonly id: RequestId; readonly method: string; readonly params: unknown }
    & { readonly trace?: TraceContext }
  | { readonly type: "notification"; readonly method: string; readonly params: unknown }
  | { readonly type: "result"; readonly id: RequestId; readonly result: unknown }
  | { readonly type: "error"; readonly id: RequestId; readonly error: WireError }
  /** Has the id if it could be read. */
  | { readonly type: "malformed"; readonly reason: string; readonly id?: RequestId };

/** How parameters with long content are decoded before the rest is parsed. */
export interface LongContent {
  /** Whether a parameter of this name holds content. */
  isContent(name: string): boolean;
  /** The bytes of a base64 text; they take the place of the text. Null: it is not base64. */
  decode(text: string): Uint8Array<ArrayBuffer> | null;
}

/** How much one message may hold. */
export interface MessageLimits extends JsonLimits {
  /** Of an id that is a text: it comes back in the answer, and stands in every log line about its request. */
  readonly maxIdCharacters: number;
}

export interface DecodeOptions {
  readonly limits: MessageLimits;
  readonly content: LongContent;
}

/** Classifies one message. Never throws. A parameter with long content may hold its bytes in place of the text. */
export function decodeMessage(text: string, options: DecodeOptions): Message {
  const long = text.length < LONG_MESSAGE_CHARACTERS ? null : findLongBase64(text, options.content);
  return (long === null ? null : decodeAround(text, long, options)) ?? decodeWhole(text, options.limits);
}

/** The same for a caller that hands content on as the text it came in. */
export function decodeWhole(text: string, limits: MessageLimits): Message {
  try {
    return classify(parseStrictJson(text, limits), text, limits);
  } catch (error) {
    if (error instanceof StrictJsonError) return malformed(error.message);
    throw error;
  }
}

/** From these lengths on, a long string is looked for and treated separately. */
const LONG_MESSAGE_CHARACTERS = 16 * 1024;
const LONG_STRING_CHARACTERS = 8 * 1024;
/** Strings before the long one: ids, names and a handful of parameters. */
const STRINGS_BEFORE = 32;

/** Stands in for a long string while the rest is parsed. Nobody outside can know it. */
const placeholder = crypto.randomUUID();

interface LongString {
  readonly start: number;
  readonly end: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Finds a long base64 text between two quotes near the beginning: most likely a parameter with content. */
function findLongBase64(text: string, { decode }: LongContent): LongString | null {
  let start = text.indexOf('"') + 1;
  for (let strings = 0; strings < 2 * STRINGS_BEFORE && start > 0; strings++) {
    const end = text.indexOf('"', start);
    if (end - start >= LONG_STRING_CHARACTERS) {
      const bytes = decode(text.slice(start, end));
      return bytes === null ? null : { start, end, bytes };
    }
    start = end + 1;
  }
  return null;
}

/**
 * Decodes a message without letting `JSON.parse` read and copy its content. Base64 has no character that is special in
 * a JSON string, so if the rest is valid, the whole is valid. Null: the rest is not valid, or the content is not a
 * parameter with content after all.
 */
function decodeAround(text: string, { start, end, bytes }: LongString, options: DecodeOptions): Message | null {
  const rest = text.slice(0, start) + placeholder + text.slice(end);
  let value: unknown;
  try {
    value = parseStrictJson(rest, options.limits);
  } catch {
    return null; // The reason is found by looking at the whole.
  }
  const params = isObject(value) ? value.params : undefined;
  if (!isObject(params)) return null;
  const name = Object.keys(params).find((name) => params[name] === placeholder);
  if (name === undefined || !options.content.isContent(name)) return null;
  params[name] = bytes;
  return classify(value, rest, options.limits);
}

function classify(value: unknown, text: string, { maxIdCharacters }: MessageLimits): Message {
  if (!isObject(value)) return malformed("message must be a JSON object");

  const hasMethod = "method" in value;
  if (hasMethod && typeof value.method !== "string") return malformed("method must be a string");
  if (!("id" in value)) {
    if (!hasMethod) return malformed("message has neither a method nor an id");
    return { type: "notification", method: value.method as string, params: value.params };
  }

  const id = decodeId(value.id, text, maxIdCharacters);
  if (id === null) {
    const isLong = typeof value.id === "string";
    return malformed(
      isLong ? `id has more than ${maxIdCharacters} characters` : "id must be a string or a 64-bit integer",
    );
  }
  if (hasMethod) return decodeRequest(id, value);
  if ("result" in value) return { type: "result", id, result: value.result };
  if (isObject(value.error) && Number.isInteger(value.error.code) && typeof value.error.message === "string") {
    return { type: "error", id, error: { code: value.error.code as number, message: value.error.message } };
  }
  return malformed("message is neither a request, a notification nor an answer", id);
}

export function encodeNotification(method: string, params: unknown): string {
  return `{"method":${JSON.stringify(method)}${params === undefined ? "" : `,"params":${JSON.stringify(params)}`}}`;
}

export function encodeResult(id: RequestId, result: unknown): string {
  return `{"id":${id},"result":${JSON.stringify(result)}}`;
}

export function encodeError(id: RequestId, error: WireError): string {
  return `{"id":${id},"error":${JSON.stringify({ code: error.code, message: error.message })}}`;
}

function decodeRequest(id: RequestId, value: Record<string, unknown>): Message {
  const request = { type: "request", id, method: value.method as string, params: value.params } as const;
  const trace = value.trace;
  if (trace === undefined || trace === null) return request;
  if (!isObject(trace)) return malformed("trace must be an object");
  for (const name of ["traceparent", "tracestate"] as const) {
    const member = trace[name];
    if (member !== undefined && member !== null && typeof member !== "string") {
      return malformed(`trace.${name} must be a string`);
    }
  }
  return { ...request, trace: trace as TraceContext };
}

const SMALLEST_ID = -(2n ** 63n);
const LARGEST_ID = 2n ** 63n - 1n;
/** Longest text of a 64-bit integer, so that a number of a million digits is not handed to BigInt. */
const LONGEST_INTEGER = 20;
const INTEGER = /^-?(?:0|[1-9][0-9]*)$/;

function decodeId(id: unknown, text: string, maxCharacters: number): RequestId | null {
  if (typeof id === "string") return id.length > maxCharacters ? null : JSON.stringify(id) as RequestId;
  if (typeof id !== "number") return null;
  const digits = String(id);
  if (isLeadingId(text, digits) && Number.isSafeInteger(id)) return digits as RequestId;
  const source = idSource(text);
  // `1.0` and `1e2` are not integers to the reference, whatever their value. `-0` is one, and comes back as `0`.
  if (source.length > LONGEST_INTEGER || !INTEGER.test(source)) return null;
  if (id === 0) return "0" as RequestId;
  if (Number.isSafeInteger(id)) return source as RequestId;
  const exact = BigInt(source);
  return exact >= SMALLEST_ID && exact <= LARGEST_ID ? source as RequestId : null;
}

const LEADING = '{"id":';
const COMMA = 0x2c;

/** Whether a compact text begins with this id, as most do: a look at a few characters instead of a search. */
function isLeadingId(text: string, digits: string): boolean {
  return text.startsWith(LEADING) && text.startsWith(digits, LEADING.length) &&
    text.charCodeAt(LEADING.length + digits.length) === COMMA;
}

/** Where clients put the id: first, or after `jsonrpc` and `method`. */
const LEADING_ID = /^\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*)*"id"\s*:\s*([^\s,}]+)/;

/** The characters of the numeric top-level member `id`, in a text that is known to be a valid object having one. */
function idSource(text: string): string {
  const leading = LEADING_ID.exec(text);
  if (leading) return leading[1]!;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") depth--;
    else if (char === '"') {
      const end = endOfString(text, at);
      if (depth === 1) {
        const match = /^\s*:\s*(-?[0-9][^\s,}]*)/.exec(text.slice(end + 1, end + 64));
        if (match && JSON.parse(text.slice(at, end + 1)) === "id") return match[1]!;
      }
      at = end;
    }
  }
  return "";
}

function malformed(reason: string, id?: RequestId): Message {
  return { type: "malformed", reason, ...(id === undefined ? {} : { id }) };
}
