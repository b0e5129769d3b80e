/**
 * A websocket client that shows everything: status line, single frames, abrupt ends. Sends what it is told, legal or not.
 * What is sent and answered is checked as in `answer_check.ts`.
 */

import { concatBytes } from "../../src/bytes.ts";
import type { MethodTypes } from "../../src/protocol/method_types.ts";
import { OPCODE } from "../../src/transport/websocket/websocket_frames.ts";
import { AnswerCheck, loadPromises } from "./answer_check.ts";
import { connectTls } from "./test_tls.ts";

export interface RawFrame {
  readonly isFinal: boolean;
  readonly opcode: number;
  readonly payload: Uint8Array<ArrayBuffer>;
}

export class RawWebSocket implements Disposable {
  readonly #conn: Deno.Conn;
  #storage = new Uint8Array(64 * 1024);
  #start = 0;
  #end = 0;
  /** Null: the server is not ours, and answers as it likes. */
  readonly #check: AnswerCheck | null;
  /** Of a message whose last frame is not sent yet. */
  #sentParts: Uint8Array[] = [];

  private constructor(conn: Deno.Conn, check: AnswerCheck | null) {
    this.#conn = conn;
    this.#check = check;
  }

  /** Connects and upgrades; throws when the server refuses. */
  static async connect(url: string, headers: Record<string, string> = {}): Promise<RawWebSocket> {
    return await RawWebSocket.#open(url, headers, new AnswerCheck(await loadPromises()));
  }

  /** The same to a server of another program or version, whose answers are not as our own method table says. */
  static connectToForeign(url: string, headers: Record<string, string> = {}): Promise<RawWebSocket> {
    return RawWebSocket.#open(url, headers, null);
  }

  static async #open(url: string, headers: Record<string, string>, check: AnswerCheck | null): Promise<RawWebSocket> {
    const socket = new RawWebSocket(await dial(url), check);
    const fields = {
      Host: "127.0.0.1",
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
      ...headers,
    };
    const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const target = url.startsWith("unix:") ? "/" : new URL(url).pathname + new URL(url).search;
    await socket.write(new TextEncoder().encode(`GET ${target} HTTP/1.1\r\n${head}\r\n`));
    const answer = await socket.#readHead();
    if (!answer.startsWith("HTTP/1.1 101 ")) {
      socket.drop();
      throw new Error(`upgrade refused: ${answer.split("\r\n")[0]}`);
    }
    return socket;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) at += await this.#conn.write(bytes.subarray(at));
  }

  async sendText(text: string): Promise<void> {
    await this.sendFrame(OPCODE.text, new TextEncoder().encode(text));
  }

  async sendFrame(opcode: number, payload: Uint8Array, options: FrameOptions = {}): Promise<void> {
    if (opcode === OPCODE.text || opcode === OPCODE.binary) this.#sentParts = [];
    if (opcode <= OPCODE.binary) this.#sentParts.push(payload);
    if (opcode <= OPCODE.binary && options.isFinal !== false) {
      this.#check?.sent(new TextDecoder().decode(concatBytes(this.#sentParts.splice(0))));
    }
    await this.write(clientFrame(opcode, payload, options));
  }

  /** The next frame, or null when the server has closed the connection. */
  async readFrame(): Promise<RawFrame | null> {
    const frame = await this.#nextFrame();
    if (frame?.opcode === OPCODE.text && frame.isFinal) {
      const message = parsedMessage(frame.payload);
      if (message !== null) this.#check?.received(message);
    }
    return frame;
  }

  async #nextFrame(): Promise<RawFrame | null> {
    const head = await this.readFrameHead();
    if (head === null || !await this.#fill(head.length)) return null;
    const payload = this.#buffer.slice(0, head.length);
    this.#consume(head.length);
    return { isFinal: head.isFinal, opcode: head.opcode, payload };
  }

  /** The next frame without its payload, which is to be skipped then. */
  async readFrameHead(): Promise<{ isFinal: boolean; opcode: number; length: number } | null> {
    if (!await this.#fill(2)) return null;
    let length = this.#buffer[1]! & 0x7f;
    let header = 2;
    if (length === 126) {
      if (!await this.#fill(header = 4)) return null;
      length = new DataView(this.#storage.buffer, this.#start).getUint16(2);
    } else if (length === 127) {
      if (!await this.#fill(header = 10)) return null;
      length = Number(new DataView(this.#storage.buffer, this.#start).getBigUint64(2));
    }
    const first = this.#buffer[0]!;
    this.#consume(header);
    return { isFinal: (first & 0x80) !== 0, opcode: first & 0x0f, length };
  }

  /** Passes over a payload without keeping more than its first bytes, which are returned. */
  async skipPayload(length: number, keptBytes: number): Promise<Uint8Array<ArrayBuffer>> {
    const kept = Math.min(length, keptBytes);
    if (!await this.#fill(kept)) throw new Error("connection closed");
    const start = this.#buffer.slice(0, kept);
    for (let left = length; left > 0;) {
      if (!await this.#fill(1)) throw new Error("connection closed");
      const count = Math.min(left, this.#buffer.length);
      this.#consume(count);
      left -= count;
    }
    return start;
  }

  /** The next message, skipping pings and pongs, or null at the end. */
  // deno-lint-ignore no-explicit-any
  async readMessage(): Promise<any> {
    for (;;) {
      const frame = await this.#nextFrame();
      if (frame === null || frame.opcode === OPCODE.close) return null;
      if (frame.opcode !== OPCODE.text) continue;
      const message = JSON.parse(new TextDecoder().decode(frame.payload));
      this.#check?.received(message);
      return message;
    }
  }

  /** The next message that matches. */
  // deno-lint-ignore no-explicit-any
  async readUntil(matches: (message: any) => boolean): Promise<any> {
    for (;;) {
      const message = await this.readMessage();
      if (message === null) throw new Error("connection closed");
      if (matches(message)) return message;
    }
  }

  async handshake(params: Record<string, unknown> = {}): Promise<MethodTypes["initialize"]["result"]> {
    await this.sendText(JSON.stringify({ id: 0, method: "initialize", params: { clientName: "raw", ...params } }));
    const answer = await this.readUntil((message) => message.id === 0);
    if (answer.error) throw Object.assign(new Error(answer.error.message), answer.error);
    await this.sendText('{"method":"initialized"}');
    return answer.result;
  }

  /** Ends without a close frame, as a vanished peer would. */
  drop(): void {
    try {
      this.#conn.close();
    } catch {
      // Dropped already.
    }
  }

  [Symbol.dispose](): void {
    this.drop();
  }

  async #readHead(): Promise<string> {
    for (;;) {
      const text = new TextDecoder("latin1").decode(this.#buffer);
      const end = text.indexOf("\r\n\r\n");
      if (end >= 0) {
        this.#consume(end + 4);
        return text.slice(0, end);
      }
      if (!await this.#fill(this.#buffer.length + 1)) return text;
    }
  }

  /** What has arrived and not been taken. */
  get #buffer(): Uint8Array<ArrayBuffer> {
    return this.#storage.subarray(this.#start, this.#end);
  }

  #consume(bytes: number): void {
    this.#start += bytes;
  }

  /** Waits until this many bytes are there. False at the end of the connection. */
  async #fill(bytes: number): Promise<boolean> {
    while (this.#end - this.#start < bytes) {
      if (this.#storage.length - this.#start < Math.max(bytes, 16 * 1024)) {
        const pending = this.#buffer;
        const room = new Uint8Array(Math.max(64 * 1024, 2 * bytes));
        room.set(pending);
        [this.#storage, this.#start, this.#end] = [room, 0, pending.length];
      }
      const read = await this.#conn.read(this.#storage.subarray(this.#end)).catch(() => null);
      if (read === null) return false;
      this.#end += read;
    }
    return true;
  }
}

export interface FrameOptions {
  isFinal?: boolean;
  isMasked?: boolean;
  reservedBits?: number;
  /** Written into the header instead of the true one. */
  claimedLength?: number;
}

/** A frame as a client sends it. */
export function clientFrame(opcode: number, payload: Uint8Array, options: FrameOptions = {}): Uint8Array<ArrayBuffer> {
  const { isFinal = true, isMasked = true, reservedBits = 0, claimedLength = payload.length } = options;
  const header = claimedLength < 126 ? 2 : claimedLength < 65536 ? 4 : 10;
  const mask = isMasked ? [0x12, 0x34, 0x56, 0x78] : [];
  const frame = new Uint8Array(header + mask.length + payload.length);
  const view = new DataView(frame.buffer);
  frame[0] = (isFinal ? 0x80 : 0) | (reservedBits << 4) | opcode;
  frame[1] = (isMasked ? 0x80 : 0) | (header === 2 ? claimedLength : header === 4 ? 126 : 127);
  if (header === 4) view.setUint16(2, claimedLength);
  if (header === 10) view.setBigUint64(2, BigInt(claimedLength));
  frame.set(mask, header);
  for (let i = 0; i < payload.length; i++) {
    frame[header + mask.length + i] = payload[i]! ^ (mask[i & 3] ?? 0);
  }
  return frame;
}

/** Null when it is none of our protocol's: some peers of this class speak another one, and their tests look at it. */
// deno-lint-ignore no-explicit-any
function parsedMessage(payload: Uint8Array): any {
  try {
    const message = JSON.parse(new TextDecoder().decode(payload));
    return typeof message === "object" ? message : null;
  } catch {
    return null;
  }
}

async function dial(url: string): Promise<Deno.Conn> {
  if (url.startsWith("unix:")) return await Deno.connect({ transport: "unix", path: url.slice("unix:".length) });
  const { protocol, hostname, port } = new URL(url);
  if (protocol === "wss:") return await connectTls(Number(port));
  return await Deno.connect({ hostname: hostname.replace(/^\[|\]$/g, ""), port: Number(port) });
}

/** Of one frame; a frame has 16 MiB at most. */
const FRAGMENT_BYTES = 8 * 1024 * 1024;

/** A text as one message of frames that are not too long. */
export function fragments(payload: Uint8Array): Uint8Array {
  const frames: Uint8Array<ArrayBuffer>[] = [];
  for (let at = 0; at < payload.length; at += FRAGMENT_BYTES) {
    const isFinal = at + FRAGMENT_BYTES >= payload.length;
    const opcode = at === 0 ? OPCODE.text : OPCODE.continuation;
    frames.push(clientFrame(opcode, payload.subarray(at, at + FRAGMENT_BYTES), { isFinal }));
  }
  return concatBytes(frames);
}
