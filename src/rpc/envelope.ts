/**
 * Text to message and back. Malformed input is a value here, not an exception: it is answered like any other message.
 *
 * A request id is kept as the JSON text it came in, because it must be echoed exactly and 64-bit integers do not fit a
 * number.
 */

import { type ByteSource, sourceOf } from "../bytes.ts";
import { decodeBase64Ahead } from "../protocol/base64.ts";
import type { AsciiParts } from "./link.ts";
import { StreamedMessage } from "./streamed_message.ts";
import { endOfString, parseStrictJson, StrictJsonError } from "./strict_json.ts";
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
  | { readonly type: "malformed"; readonly reason: string };

/** Classifies one message. Never throws. */
export function decodeMessage(text: string): Message {
  const long = text.length < LONG_MESSAGE_CHARACTERS ? null : findLongBase64(text);
  return (long === null ? null : decodeAround(text, long)) ?? decodeWhole(text);
}

function decodeWhole(text: string): Message {
  try {
    return classify(parseStrictJson(text), text);
  } catch (error) {
    if (error instanceof StrictJsonError) return malformed(error.message);
    throw error;
  }
}

/** From here on a long string is looked for, and worth being treated apart. */
const LONG_MESSAGE_CHARACTERS = 16 * 1024;
const LONG_STRING_CHARACTERS = 8 * 1024;
/** Strings before the long one: ids, names and a handful of parameters. */
const MAX_STRINGS_BEFORE = 32;

/** Stands in for a long string while the rest is parsed. Nobody outside can know it. */
const placeholder = crypto.randomUUID();

interface LongString {
  readonly start: number;
  readonly end: number;
  readonly content: string;
}

/** What lies between two quotes near the beginning and is long and base64: most likely a parameter with content. */
function findLongBase64(text: string): LongString | null {
  let start = text.indexOf('"') + 1;
  for (let strings = 0; strings < 2 * MAX_STRINGS_BEFORE && start > 0; strings++) {
    const end = text.indexOf('"', start);
    if (end - start >= LONG_STRING_CHARACTERS) {
      const content = text.slice(start, end);
      return decodeBase64Ahead(content) ? { start, end, content } : null;
    }
    start = end + 1;
  }
  return null;
}

/**
 * Decodes a message without having `JSON.parse` go through and copy its content. Base64 holds nothing that JSON minds, so
 * what is true of the rest is true of the whole. Null when the content is not just what it seemed: a parameter.
 */
function decodeAround(text: string, { start, end, content }: LongString): Message | null {
  const rest = text.slice(0, start) + placeholder + text.slice(end);
  let value: unknown;
  try {
    value = parseStrictJson(rest);
  } catch {
    return null; // The reason is found by looking at the whole.
  }
  const params = isObject(value) ? value.params : undefined;
  if (!isObject(params)) return null;
  const name = Object.keys(params).find((name) => params[name] === placeholder);
  // The second is no name one can assign to.
  if (name === undefined || name === "__proto__") return null;
  params[name] = content;
  return classify(value, rest);
}

function classify(value: unknown, text: string): Message {
  if (!isObject(value)) return malformed("message must be a JSON object");

  const hasMethod = "method" in value;
  if (hasMethod && typeof value.method !== "string") return malformed("method must be a string");
  if (!("id" in value)) {
    if (!hasMethod) return malformed("message has neither a method nor an id");
    return { type: "notification", method: value.method as string, params: value.params };
  }

  const id = decodeId(value.id, text);
  if (id === null) return malformed("id must be a string or a 64-bit integer");
  if (hasMethod) return decodeRequest(id, value);
  if ("result" in value) return { type: "result", id, result: value.result };
  if (isObject(value.error) && Number.isInteger(value.error.code) && typeof value.error.message === "string") {
    return { type: "error", id, error: { code: value.error.code as number, message: value.error.message } };
  }
  return malformed("message is neither a request, a notification nor an answer");
}

export function encodeRequest(id: RequestId, method: string, params: unknown): string {
  return `{"id":${id},"method":${JSON.stringify(method)}${encodeParams(params)}}`;
}

export function encodeNotification(method: string, params: unknown): string {
  return `{"method":${JSON.stringify(method)}${encodeParams(params)}}`;
}

export function encodeResult(id: RequestId, result: unknown): string {
  return `{"id":${id},"result":${JSON.stringify(result)}}`;
}

/** A result that is already JSON, around content too long to be copied once more. All of it is ASCII. */
export class EncodedResult {
  readonly #before: string;
  readonly #content: string;
  readonly #after: string;

  constructor(before: string, content: string, after: string) {
    this.#before = before;
    this.#content = content;
    this.#after = after;
  }

  encode(id: RequestId): AsciiParts {
    return [`{"id":${asciiId(id)},"result":${this.#before}`, this.#content, `${this.#after}}`];
  }
}

/** From here on base64 is made as it leaves, in steps: a long string takes longer to make than to send. */
export const LONG_CONTENT_BYTES = 96 * 1024;

/** A result that is these bytes' base64 between two ASCII texts. The bytes belong to it from now on. */
export function contentResult(before: string, bytes: Uint8Array, after: string): EncodedResult | StreamedResult {
  if (bytes.length < LONG_CONTENT_BYTES) return new EncodedResult(before, bytes.toBase64(), after);
  return new StreamedResult(before, sourceOf([bytes]), after);
}

/** A result with the base64 of bytes that are fetched as it leaves. */
export class StreamedResult {
  readonly #before: string;
  readonly #source: ByteSource;
  readonly #after: string;
  /** The request counts as running until this resolves: what it reads must not be written meanwhile. */
  readonly done: Promise<void> | undefined;

  constructor(before: string, source: ByteSource, after: string, done?: Promise<void>) {
    this.#before = before;
    this.#source = source;
    this.#after = after;
    this.done = done;
  }

  encode(id: RequestId): StreamedMessage {
    const before = `{"id":${asciiId(id)},"result":${this.#before}`;
    return new StreamedMessage(before, this.#source, `${this.#after}}`);
  }
}

/** Numbers are ASCII. */
function asciiId(id: RequestId): string {
  return id.startsWith('"') ? escapeToAscii(id) : id;
}

/** JSON text with every character beyond ASCII written as its escape. */
export function escapeToAscii(json: string): string {
  return json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function encodeError(id: RequestId, error: WireError): string {
  return `{"id":${id},"error":${JSON.stringify({ code: error.code, message: error.message })}}`;
}

function encodeParams(params: unknown): string {
  return params === undefined ? "" : `,"params":${JSON.stringify(params)}`;
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

const MIN_ID = -(2n ** 63n);
const MAX_ID = 2n ** 63n - 1n;
/** Longest text of a 64-bit integer, so that a number of a million digits is not handed to BigInt. */
const MAX_ID_DIGITS = 20;
const INTEGER = /^-?(?:0|[1-9][0-9]*)$/;

function decodeId(id: unknown, text: string): RequestId | null {
  if (typeof id === "string") return JSON.stringify(id) as RequestId;
  if (typeof id !== "number") return null;
  const digits = String(id);
  if (isLeadingId(text, digits) && Number.isSafeInteger(id)) return digits as RequestId;
  const source = idSource(text);
  // `1.0` and `1e2` are not integers to the reference, whatever their value. `-0` is, and comes back as the zero it is.
  if (source.length > MAX_ID_DIGITS || !INTEGER.test(source)) return null;
  if (id === 0) return "0" as RequestId;
  if (Number.isSafeInteger(id)) return source as RequestId;
  const exact = BigInt(source);
  return exact >= MIN_ID && exact <= MAX_ID ? source as RequestId : null;
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

function malformed(reason: string): Message {
  return { type: "malformed", reason };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
