/**
 * The few HTTP answers this server gives, as data and as bytes. Bodies that come piece by piece are in
 * `streamed_response.ts`.
 *
 * Every answer but 101 closes the connection, so one connection carries one request, and no second one can hide behind
 * it. No banner and no date: an answer reveals nothing about the machine.
 */

/** The statuses in use, with their reason phrases. */
const STATUS_TEXT = {
  200: "OK",
  202: "Accepted",
  204: "No Content",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  406: "Not Acceptable",
  408: "Request Timeout",
  409: "Conflict",
  411: "Length Required",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  501: "Not Implemented",
  503: "Service Unavailable",
  505: "HTTP Version Not Supported",
} as const;

export type HttpStatus = keyof typeof STATUS_TEXT;

export interface HttpResponse {
  readonly type: "response";
  readonly status: HttpStatus;
  /** Lower-case names. Headers that follow from the body or that every answer has are not in it. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Plain text, unless a header says otherwise. Null: there is no body (204), or it is left out (HEAD). Then its length
   * is not stated either.
   */
  readonly body: string | null;
  /** The reason for the log, if the reference's answer does not say it. */
  readonly reason?: string;
}

export function httpResponse(
  status: HttpStatus,
  body: string | null = "",
  headers: Readonly<Record<string, string>> = {},
): HttpResponse {
  return { type: "response", status, headers, body };
}

export function serializeResponse(response: HttpResponse): Uint8Array<ArrayBuffer> {
  const body = new TextEncoder().encode(response.body ?? "");
  const fields: Record<string, string> = { ...response.headers, connection: "close" };
  if (response.body !== null) fields["content-length"] = String(body.length);
  if (body.length > 0) fields["content-type"] ??= "text/plain; charset=utf-8";

  const head = serializeHead(statusLine(response.status), fields);
  const bytes = new Uint8Array(head.length + body.length);
  bytes.set(head);
  bytes.set(body, head.length);
  return bytes;
}

/** The 101 that turns the connection into a websocket. No extension is ever agreed to. */
export function serializeUpgrade(
  upgrade: { accept: string; requestId: string | null; protocol?: string },
): Uint8Array<ArrayBuffer> {
  const fields: Record<string, string> = {
    connection: "upgrade",
    upgrade: "websocket",
    "sec-websocket-accept": upgrade.accept,
  };
  if (upgrade.protocol !== undefined) fields["sec-websocket-protocol"] = upgrade.protocol;
  if (upgrade.requestId !== null) fields["x-request-id"] = upgrade.requestId;
  return serializeHead("101 Switching Protocols", fields);
}

/** The status line. */
export function statusLine(status: HttpStatus): string {
  return `${status} ${STATUS_TEXT[status]}`;
}

/** Whether this server uses the status. */
export function isHttpStatus(status: number): status is HttpStatus {
  return Object.hasOwn(STATUS_TEXT, status);
}

export function serializeHead(status: string, fields: Readonly<Record<string, string>>): Uint8Array<ArrayBuffer> {
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
  const text = [`HTTP/1.1 ${status}`, ...lines, "", ""].join("\r\n");
  // One character is one byte, so an echoed value leaves as it came.
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}
