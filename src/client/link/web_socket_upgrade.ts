/**
 * The client's half of opening a websocket over any byte stream: the request and the answer. Unlike the runtimes' own
 * sockets it sees why a server refuses.
 */

import { concatBytes } from "../../bytes.ts";
import type { ByteStream } from "../../transport/byte_stream.ts";
import { encodeBase64 } from "../base64.ts";
import { ConnectionRefusedError, UnauthorisedError } from "../errors.ts";

/** The longest head and the longest text of an answer. No exec-server sends that much. */
const MAX_ANSWER_BYTES = 64 * 1024;
const ACCEPT_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** The request. */
export interface UpgradeOptions {
  /** Where the stream leads, for people. */
  readonly name: string;
  /** Host and port, as in the URL. */
  readonly host: string;
  /** Path and query. */
  readonly path: string;
  /** Further headers. */
  readonly headers: Readonly<Record<string, string>>;
  readonly token: string | null;
}

/**
 * Returns the bytes that came after the answer.
 *
 * @throws {UnauthorisedError} when the server asks for another token
 * @throws {ConnectionRefusedError} when it refuses for any other reason
 */
export async function upgradeToWebSocket(stream: ByteStream, options: UpgradeOptions): Promise<Uint8Array> {
  const { name, host, path, headers, token } = options;
  const attempted = `cannot connect to ${name}`;
  const key = encodeBase64(crypto.getRandomValues(new Uint8Array(16)));
  const fields = {
    Host: host,
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": key,
    ...headers,
    ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
  };
  const lines = Object.entries(fields).map(([name, value]) => {
    if (/[\r\n\0]/.test(name + value)) throw new TypeError(`${attempted}: header ${name} holds a line break`);
    return `${name}: ${value}\r\n`;
  });
  const request = new TextEncoder().encode(`GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
  for (let at = 0; at < request.length;) at += await stream.write(request.subarray(at));

  const answer = await readHead(stream);
  if (answer === null) throw new ConnectionRefusedError(`${attempted}: the answer to the upgrade is not HTTP`);
  const { head, rest } = answer;
  const [, status = ""] = /^HTTP\/1\.1 (\d{3})/.exec(head) ?? [];
  if (status !== "101") {
    const text = await readText(stream, head, rest);
    if (status === "401") throw new UnauthorisedError(`${attempted}: ${text || "401 Unauthorized"}`);
    throw new ConnectionRefusedError(`${attempted}: ${text || head.split("\r\n")[0]}`);
  }
  const [, accept = ""] = /^sec-websocket-accept:\s*(\S+)/im.exec(head) ?? [];
  const expected = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(key + ACCEPT_GUID));
  if (accept !== encodeBase64(new Uint8Array(expected))) {
    throw new ConnectionRefusedError(`${attempted}: the answer belongs to another request`);
  }
  return rest;
}

/** Null: what came is not the head of an answer. */
async function readHead(stream: ByteStream): Promise<{ head: string; rest: Uint8Array } | null> {
  const buffer = new Uint8Array(MAX_ANSWER_BYTES);
  for (let filled = 0; filled < buffer.length;) {
    const count = await stream.read(buffer.subarray(filled));
    if (count === null) return null;
    filled += count;
    const text = new TextDecoder("latin1").decode(buffer.subarray(0, filled));
    const end = text.indexOf("\r\n\r\n");
    if (end !== -1) return { head: text.slice(0, end), rest: buffer.slice(end + 4, filled) };
  }
  return null;
}

/** The body of the answer, for people. Empty if the server does not state its length. */
async function readText(stream: ByteStream, head: string, first: Uint8Array): Promise<string> {
  const length = Math.min(Number(/^content-length:\s*(\d+)/im.exec(head)?.[1] ?? 0), MAX_ANSWER_BYTES);
  const parts = [first];
  const buffer = new Uint8Array(length);
  for (let missing = length - first.length; missing > 0;) {
    const count = await stream.read(buffer.subarray(0, missing));
    if (count === null) break;
    parts.push(buffer.slice(0, count));
    missing -= count;
  }
  return new TextDecoder().decode(concatBytes(parts).subarray(0, length)).trim();
}
