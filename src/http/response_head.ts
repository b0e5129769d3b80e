/** The head of a response, parsed: status, headers, and how its body is framed. Pure; strict where leniency is a risk. */

import { MAX_RESPONSE_HEADERS } from "./limits.ts";
import type { HttpHeader } from "./outgoing_request.ts";

export interface ResponseHead {
  readonly status: number;
  /** In the order received, with repeats. */
  readonly headers: readonly HttpHeader[];
}

/** How the end of a body is known. */
export type BodyFraming =
  | { readonly type: "none" }
  | { readonly type: "length"; readonly bytes: number }
  | { readonly type: "chunked" }
  | { readonly type: "untilClose" };

/** The other side does not speak HTTP/1, or stopped in the middle. The message may be shown to the peer. */
export class HttpProtocolError extends Error {
  override readonly name = "HttpProtocolError";
}

const LF = 0x0a;
const STATUS_LINE = /^HTTP\/1\.[01] ([1-9]\d\d)(?: .*)?$/;
/** No blank before the colon, and no line that continues another: both have been used for smuggling. */
const HEADER_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):(.*)$/;
// deno-lint-ignore no-control-regex
const FORBIDDEN_IN_VALUE = /[\x00-\x08\x0a-\x1f\x7f]/;

/** Takes the bytes up to and without the empty line. */
export function parseResponseHead(bytes: Uint8Array): ResponseHead {
  const [statusLine = "", ...lines] = linesOf(bytes);
  const status = STATUS_LINE.exec(statusLine)?.[1];
  if (status === undefined) throw new HttpProtocolError("invalid HTTP status line");
  const headers = lines.map((line) => {
    const [, name, value] = HEADER_LINE.exec(line) ?? [];
    if (name === undefined || value === undefined || FORBIDDEN_IN_VALUE.test(value)) {
      throw new HttpProtocolError("invalid HTTP header");
    }
    return { name: name.toLowerCase(), value: withoutBlanksAround(value) };
  });
  return { status: Number(status), headers };
}

/** By the rules of RFC 9112, section 6.3. */
export function bodyFraming(method: string, { status, headers }: ResponseHead): BodyFraming {
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) return { type: "none" };
  if (method === "CONNECT" && status < 300) return { type: "none" };

  const codings = valuesOf(headers, "transfer-encoding");
  if (codings.length > 0) {
    if (codings.length !== 1 || codings[0]?.toLowerCase() !== "chunked") {
      throw new HttpProtocolError(`unsupported transfer coding: ${codings.join(", ")}`);
    }
    return { type: "chunked" };
  }
  const lengths = new Set(valuesOf(headers, "content-length"));
  if (!headers.some(({ name }) => name === "content-length")) return { type: "untilClose" };
  const [length = ""] = lengths;
  if (lengths.size > 1 || !/^\d{1,15}$/.test(length)) throw new HttpProtocolError("invalid content-length");
  return { type: "length", bytes: Number(length) };
}

/** All values of a header whose value is a list. */
function valuesOf(headers: readonly HttpHeader[], wanted: string): string[] {
  return headers.filter(({ name }) => name === wanted)
    .flatMap(({ value }) => value.split(","))
    .map((value) => value.trim())
    .filter((value) => value !== "");
}

/** Not by a pattern: one would look at every blank inside as often as there are blanks behind it. */
function withoutBlanksAround(text: string): string {
  const isBlank = (char: string | undefined): boolean => char === " " || char === "\t";
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text[start])) start++;
  while (end > start && isBlank(text[end - 1])) end--;
  return text.slice(start, end);
}

/** Each decoded by itself: one header that is not UTF-8 does not affect the others. */
function linesOf(bytes: Uint8Array): string[] {
  const lines: string[] = [];
  for (let start = 0; start <= bytes.length;) {
    const lineFeed = bytes.indexOf(LF, start);
    const end = lineFeed === -1 ? bytes.length : lineFeed;
    // The first line is the status.
    if (lines.length > MAX_RESPONSE_HEADERS) {
      throw new HttpProtocolError(`more than ${MAX_RESPONSE_HEADERS} HTTP headers`);
    }
    lines.push(decode(bytes.subarray(start, end)).replace(/\r$/, ""));
    start = end + 1;
  }
  return lines;
}

/** UTF-8 if it is valid, else one character per byte, as old servers mean it. */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return new TextDecoder("latin1").decode(bytes);
  }
}
