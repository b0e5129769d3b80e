/**
 * The head of one HTTP/1.x request, from bytes to data: request line, target and fields, or why it is refused.
 *
 * A pure function of the bytes received so far, called again as more arrive. It is strict where tolerance lets two
 * parsers disagree (line ends, folding, white space, repeated Host and length), and refuses as soon as a byte proves
 * the head wrong. It knows no routes and does not look at bytes after the head.
 */

/** Room for a browser's cookies or a long signed token, and small enough to hold for every half-open connection. */
export const MAX_REQUEST_HEAD_BYTES = 16_384;

/** Several times what any client sends; bounds the work of looking through the fields. */
export const MAX_HEADER_FIELDS = 100;

export interface RequestHead {
  readonly type: "head";
  /** Case-sensitive, as received. */
  readonly method: string;
  /** The request target as received. */
  readonly target: string;
  /** The path of the target: not decoded, not normalised, without the query. Begins with a slash. */
  readonly path: string;
  readonly version: "1.0" | "1.1";
  /** The host the request is meant for, without port, IPv6 in brackets; null when an HTTP/1.0 request names none. */
  readonly hostname: string | null;
  /** Lower-case name -> values in the order received. One byte is one character (U+0000 to U+00FF). */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  /** The length of the head with its closing empty line. */
  readonly headBytes: number;
}

export interface MalformedHead {
  readonly type: "malformed";
  readonly status: 400 | 431 | 505;
  /** Safe for the body of the answer: it quotes nothing that the peer sent. */
  readonly reason: string;
}

export type HeadResult = { readonly type: "incomplete" } | MalformedHead | RequestHead;

/** Reads the head at the start of `bytes`. Costs one pass; never throws. */
export function parseHead(bytes: Uint8Array): HeadResult {
  const scan = scanHead(bytes);
  if (typeof scan !== "number") return scan;
  // One byte, one character. TextDecoder's "latin1" is windows-1252, which is not that.
  const text = String.fromCharCode(...bytes.subarray(0, scan - "\r\n\r\n".length));
  const [requestLine = "", ...fieldLines] = text.split("\r\n");

  const request = parseRequestLine(requestLine);
  if (request.type === "malformed") return request;
  const headers = parseFields(fieldLines);
  if ("type" in headers) return headers;
  const host = parseHost(headers.get("host") ?? [], request.version);
  if (host.type === "malformed") return host;
  const lengths = headers.get("content-length") ?? [];
  if (lengths.length > 1 || lengths.some((length) => !/^\d+$/.test(length))) {
    return malformed(400, "invalid Content-Length header");
  }

  const { method, target, path, version } = request;
  // The authority of an absolute target overrides the field (RFC 9112, section 3.2.2).
  const hostname = request.hostname ?? host.hostname;
  return { type: "head", method, target, path, version, hostname, headers, headBytes: scan };
}

const HTAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const DELETE = 0x7f;

/**
 * The length of a complete head; or whether it is incomplete or wrong for good. Every call looks at all bytes again,
 * which is less work than receiving them, even byte by byte.
 */
function scanHead(bytes: Uint8Array): number | { readonly type: "incomplete" } | MalformedHead {
  const end = Math.min(bytes.length, MAX_REQUEST_HEAD_BYTES);
  for (let i = 0; i < end; i++) {
    const byte = bytes[i]!;
    if (byte >= SPACE && byte !== DELETE) continue;
    if (i === 0) return malformed(400, "request does not begin with a method");
    if (byte === LF) {
      if (bytes[i - 1] !== CR) return malformed(400, "line feed without carriage return");
      if (bytes[i - 2] === LF) return i + 1;
    } else if (byte === CR) {
      if (i + 1 < bytes.length && bytes[i + 1] !== LF) return malformed(400, "carriage return without line feed");
    } else if (byte !== HTAB) {
      return malformed(400, "control character in request head");
    }
  }
  if (end < MAX_REQUEST_HEAD_BYTES) return { type: "incomplete" };
  return malformed(431, `request head exceeds ${MAX_REQUEST_HEAD_BYTES} bytes`);
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const PCHAR = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})";
const PATH = `(?:/${PCHAR}*)+`;
const QUERY = `\\?(?:${PCHAR}|[/?])*`;
const HOSTNAME = "(?:\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9._~!$&'()*+,;=%-]+)";

const REQUEST_LINE = new RegExp(`^(${TOKEN}) ([\\x21-\\x7e]+) HTTP/(\\d\\.\\d)$`);
const ORIGIN_FORM = new RegExp(`^(${PATH})(?:${QUERY})?$`);
const ABSOLUTE_FORM = new RegExp(`^(?:http|ws)://(${HOSTNAME})(?::\\d*)?(${PATH})?(?:${QUERY})?$`, "i");
const HOST_VALUE = new RegExp(`^(${HOSTNAME}|)(?::\\d*)?$`);
const FIELD_LINE = new RegExp(`^(${TOKEN}):(.*)$`);

type RequestLine =
  & { readonly type: "requestLine"; readonly hostname: string | null }
  & Pick<RequestHead, "method" | "target" | "path" | "version">;

function parseRequestLine(line: string): RequestLine | MalformedHead {
  const [, method, target, version] = REQUEST_LINE.exec(line) ?? [];
  if (method === undefined || target === undefined) return malformed(400, "invalid request line");
  if (version !== "1.0" && version !== "1.1") return malformed(505, "only HTTP/1.0 and HTTP/1.1 are spoken here");

  const path = ORIGIN_FORM.exec(target)?.[1];
  if (path !== undefined) return { type: "requestLine", method, target, path, version, hostname: null };
  const absolute = ABSOLUTE_FORM.exec(target);
  if (absolute === null) return malformed(400, "invalid request target");
  return { type: "requestLine", method, target, path: absolute[2] ?? "/", version, hostname: absolute[1]! };
}

function parseFields(lines: readonly string[]): Map<string, string[]> | MalformedHead {
  if (lines.length > MAX_HEADER_FIELDS) return malformed(431, `more than ${MAX_HEADER_FIELDS} header fields`);
  const headers = new Map<string, string[]>();
  for (const line of lines) {
    if (line.startsWith(" ") || line.startsWith("\t")) return malformed(400, "folded header field");
    const [, name, padded] = FIELD_LINE.exec(line) ?? [];
    if (name === undefined || padded === undefined) return malformed(400, "invalid header field");
    const value = trimSpaceAndTab(padded);
    const key = name.toLowerCase();
    const values = headers.get(key);
    if (values === undefined) headers.set(key, [value]);
    else values.push(value);
  }
  return headers;
}

type Host = { readonly type: "host"; readonly hostname: string | null };

function parseHost(values: readonly string[], version: "1.0" | "1.1"): Host | MalformedHead {
  const [value] = values;
  if (values.length > 1) return malformed(400, "more than one Host header");
  if (value === undefined) {
    return version === "1.0" ? { type: "host", hostname: null } : malformed(400, "Host header missing");
  }
  const hostname = HOST_VALUE.exec(value)?.[1];
  return hostname === undefined ? malformed(400, "invalid Host header") : { type: "host", hostname };
}

/** Whether a body follows the head. No route takes one, and every answer but an upgrade ends the connection. */
export function announcesBody(head: RequestHead): boolean {
  if (head.headers.has("transfer-encoding")) return true;
  return (head.headers.get("content-length") ?? []).some((length) => /[1-9]/.test(length));
}

/** The entries of a comma-separated field, from all its lines, without the white space around them. */
export function listEntries(head: RequestHead, name: string): string[] {
  return (head.headers.get(name) ?? []).flatMap((value) => value.split(",")).map(trimSpaceAndTab);
}

/** Not `String.trim`, which also removes characters such as U+00A0. Those belong to the value here. */
function trimSpaceAndTab(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && (text[start] === " " || text[start] === "\t")) start++;
  while (end > start && (text[end - 1] === " " || text[end - 1] === "\t")) end--;
  return text.slice(start, end);
}

function malformed(status: MalformedHead["status"], reason: string): MalformedHead {
  return { type: "malformed", status, reason };
}
