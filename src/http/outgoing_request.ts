/**
 * A request as it goes out: checked, with its headers complete, and its bytes.
 *
 * Headers keep their order, with names in lower case and repeats kept. Only what the request needs is added: `accept`,
 * `host`, and the framing of the body. Framing headers of the caller are left out, since a wrong one could smuggle a
 * second request through a proxy.
 */

import { invalidParams } from "../errors.ts";
import { MAX_REQUEST_HEAD_CHARACTERS, MAX_URL_LENGTH } from "./limits.ts";

export interface HttpHeader {
  /** Lower case. */
  readonly name: string;
  readonly value: string;
  /** The value came, in whole or in part, from a variable of the server's environment: it is meant for one server. */
  readonly isSecret?: true;
}

/** What a caller asks for. */
export interface RequestDescription {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly { readonly name: string; readonly value: string; readonly valueEnvVar: string | null }[];
  readonly body: Uint8Array<ArrayBuffer> | null;
}

export interface OutgoingRequest {
  readonly method: string;
  /** Without credentials and fragment, which never travel in a request line. */
  readonly url: URL;
  readonly headers: readonly HttpHeader[];
  readonly body: Uint8Array<ArrayBuffer> | null;
}

/** How the request line names the target: by path, or in full for a proxy. */
export type TargetForm = "origin" | "absolute";

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Visible characters, blanks and tabs; what is not ASCII travels as UTF-8. */
// deno-lint-ignore no-control-regex
const HEADER_VALUE = /^[^\x00-\x08\x0a-\x1f\x7f]*$/;

/** We decide the framing. */
const FRAMING_HEADERS: ReadonlySet<string> = new Set(["content-length", "transfer-encoding"]);

/** Methods that are expected to have a body, so that an empty one is stated explicitly. */
const METHODS_WITH_BODY: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/**
 * Checks a request. The texts are the reference's, as far as they do not come from its libraries.
 *
 * @throws {DomainError} of kind "invalidParams"
 */
export function prepareRequest(
  description: RequestDescription,
  serverEnv: Readonly<Record<string, string>>,
): OutgoingRequest {
  const { method, body } = description;
  refuseLongHead(description);
  if (!TOKEN.test(method)) throw invalidParams("http/request method is invalid: invalid HTTP method");
  const url = parseUrl(description.url);
  const headers = description.headers.map((header) => prepareHeader(header, serverEnv))
    .filter(({ name }) => !FRAMING_HEADERS.has(name));
  return withoutCredentials({ method, url, headers, body });
}

/** Before anything of it is looked at: the rules read every character. */
function refuseLongHead({ method, headers }: RequestDescription): void {
  const characters = headers.reduce((sum, { name, value }) => sum + name.length + value.length, method.length);
  if (characters <= MAX_REQUEST_HEAD_CHARACTERS) return;
  throw invalidParams(
    `http/request is invalid: method and headers have more than ${MAX_REQUEST_HEAD_CHARACTERS} characters`,
  );
}

/** The bytes before the body. */
export function encodeHead(request: OutgoingRequest, form: TargetForm, extra: readonly HttpHeader[] = []): Uint8Array {
  const { method, url, headers, body } = request;
  const given = new Set(headers.map(({ name }) => name));
  const lines = [`${method} ${targetOf(request, form)} HTTP/1.1`];
  for (const { name, value } of headers) lines.push(`${name}: ${value}`);
  if (!given.has("accept")) lines.push("accept: */*");
  if (!given.has("host")) lines.push(`host: ${url.host}`);
  for (const { name, value } of extra) lines.push(`${name}: ${value}`);
  const length = body?.length ?? 0;
  if (length > 0 || METHODS_WITH_BODY.has(method)) lines.push(`content-length: ${length}`);
  return new TextEncoder().encode(lines.join("\r\n") + "\r\n\r\n");
}

function targetOf({ method, url }: OutgoingRequest, form: TargetForm): string {
  if (method === "CONNECT") return authorityOf(url);
  // Cut out of the whole, since `search` does not tell an empty query from none.
  return form === "absolute" ? url.href : url.href.slice(url.origin.length);
}

/** Host and port, the port always given. */
export function authorityOf(url: URL): string {
  return `${url.hostname}:${portOf(url)}`;
}

export function portOf(url: URL): number {
  return url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
}

function parseUrl(text: string): URL {
  if (text.length > MAX_URL_LENGTH) {
    throw invalidParams(`http/request url is invalid: longer than ${MAX_URL_LENGTH} characters`);
  }
  const url = URL.parse(text);
  if (url === null) {
    const reason = /^[a-z][a-z0-9+.-]*:/i.test(text) ? "not a valid URL" : "relative URL without a base";
    throw invalidParams(`http/request url is invalid: ${reason}`);
  }
  const scheme = url.protocol.slice(0, -1);
  if (scheme !== "http" && scheme !== "https") {
    throw invalidParams(`http/request only supports http and https URLs, got ${scheme}`);
  }
  return url;
}

function prepareHeader(
  { name, value, valueEnvVar }: RequestDescription["headers"][number],
  serverEnv: Readonly<Record<string, string>>,
): HttpHeader {
  if (!TOKEN.test(name)) throw invalidParams("http/request header name is invalid: invalid HTTP header name");
  const whole = valueEnvVar === null ? value : value + environmentValue(name, valueEnvVar, serverEnv);
  if (!HEADER_VALUE.test(whole)) {
    throw invalidParams(`http/request header value is invalid for ${name}: failed to parse header value`);
  }
  return { name: name.toLowerCase(), value: whole, ...(valueEnvVar === null ? {} : { isSecret: true }) };
}

function environmentValue(header: string, variable: string, env: Readonly<Record<string, string>>): string {
  const value = Object.hasOwn(env, variable) ? env[variable] : undefined;
  if (value === undefined) {
    throw invalidParams(`http/request header ${header} requires executor environment variable ${variable}`);
  }
  if (value === "") {
    throw invalidParams(`http/request header ${header} requires a non-empty executor environment variable ${variable}`);
  }
  return value;
}

/** Credentials in a URL become a header, unless there is one. */
function withoutCredentials(request: OutgoingRequest): OutgoingRequest {
  const url = new URL(request.url);
  const credentials = basicCredentials(url);
  url.username = "";
  url.password = "";
  url.hash = "";
  if (credentials === null || request.headers.some(({ name }) => name === "authorization")) return { ...request, url };
  return { ...request, url, headers: [...request.headers, { name: "authorization", value: credentials }] };
}

/** The `Basic` credentials that a URL holds, if it holds any. */
export function basicCredentials({ username, password }: URL): string | null {
  if (username === "" && password === "") return null;
  return `Basic ${btoa(`${decodePercent(username)}:${decodePercent(password)}`)}`;
}

/**
 * What a part of a URL stands for, one character per byte, text or not. A `%` that encodes nothing stands for itself.
 */
function decodePercent(text: string): string {
  return text.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}
