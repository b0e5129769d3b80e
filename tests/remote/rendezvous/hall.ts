/** A rendezvous within the test's own process, and the requests that executors and clients send to it. */

import assert from "node:assert/strict";
import { systemClock } from "../../../src/clock.ts";
import { createLogger } from "../../../src/log.ts";
import type { RendezvousLimits } from "../../../src/remote/rendezvous/limits.ts";
import { Rendezvous, type RendezvousOptions } from "../../../src/remote/rendezvous/rendezvous.ts";
import { decodeRelayFrame, type RelayFrame, RelayFrameEncoder } from "../../../src/remote/relay/relay_frame.ts";
import { Admissions } from "../../../src/transport/tokens/admissions.ts";
import { TokenDigest } from "../../../src/transport/tokens/token_digest.ts";
import type { TokenEntry } from "../../../src/transport/tokens/token_file.ts";
import { TokenTable } from "../../../src/transport/tokens/token_table.ts";
import { RawWebSocket } from "../../support/raw_websocket.ts";

export const TOKENS = {
  executor: "token-of-the-executors",
  client: "token-of-the-clients",
  viewer: "token-of-a-viewer",
};

const LIMITS: RendezvousLimits = {
  clientsPerExecutor: 8,
  connectionsPerToken: 1000,
  connectionsPerAddress: 1000,
  requestsPerSecond: 1000,
  connections: { waiting: 100, served: 2000 },
};

export interface HallOptions extends Partial<Omit<RendezvousOptions, "limits">> {
  readonly limits?: Partial<RendezvousLimits>;
  readonly entries?: readonly TokenEntry[];
}

export class Hall implements AsyncDisposable {
  readonly rendezvous: Rendezvous;
  readonly admissions: Admissions;
  readonly lines: string[];

  private constructor(rendezvous: Rendezvous, admissions: Admissions, lines: string[]) {
    this.rendezvous = rendezvous;
    this.admissions = admissions;
    this.lines = lines;
  }

  static async open({ limits, entries, ...options }: HallOptions = {}): Promise<Hall> {
    const table = new TokenTable(entries ?? await standardEntries());
    const admissions = new Admissions({ table, clock: systemClock });
    const lines: string[] = [];
    const rendezvous = await Rendezvous.open({
      address: { type: "tcp", hostname: "127.0.0.1", port: 0 },
      tls: null,
      admissions,
      publicUrl: null,
      isBehindProxy: false,
      clock: systemClock,
      log: createLogger({ level: "debug", format: "json", write: (line) => lines.push(line) }),
      ...options,
      limits: { ...LIMITS, ...limits },
    });
    return new Hall(rendezvous, admissions, lines);
  }

  get url(): string {
    return this.rendezvous.url.replace(/^ws/, "http");
  }

  async request(
    method: string,
    path: string,
    { token, body, headers = {} }: { token?: string; body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const response = await fetch(this.url + path, {
      method,
      headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, text, json: text.startsWith("{") ? JSON.parse(text) : null };
  }

  registerSeed(id: string, idempotencyId = `process-of-${id}`, token = TOKENS.executor): Promise<Answer> {
    const body = { idempotency_id: idempotencyId, executor_id: id, name: "Box", labels: {}, metadata: {} };
    return this.request("POST", `/cloud/executor/${id}/register`, { token, body });
  }

  registerNoise(id: string, key = KEY, token = TOKENS.executor, about: object = {}): Promise<Answer> {
    const body = { security_profile: "noise_hybrid_ik_v1", executor_public_key: key, ...about };
    return this.request("POST", `/cloud/environment/${id}/register`, { token, body });
  }

  connect(id: string, key = HARNESS_KEY, token = TOKENS.client): Promise<Answer> {
    return this.request("POST", `/cloud/environment/${id}/connect`, { token, body: { harness_public_key: key } });
  }

  /** The websocket of an executor in the seed's form. */
  async seedExecutor(id: string): Promise<RawWebSocket> {
    return await RawWebSocket.connect(okay(await this.registerSeed(id)).url);
  }

  /** The websocket of an executor in the noise form, and how it was registered. */
  // deno-lint-ignore no-explicit-any
  async noiseExecutor(id: string, about: object = {}): Promise<{ socket: RawWebSocket; answer: any }> {
    const answer = okay(await this.registerNoise(id, KEY, TOKENS.executor, about));
    return { socket: await RawWebSocket.connect(answer.url), answer };
  }

  async harness(id: string): Promise<RawWebSocket> {
    return await RawWebSocket.connect(okay(await this.connect(id)).url);
  }

  /** A client with a plain URL. */
  client(id: string, token = TOKENS.client, query = ""): Promise<RawWebSocket> {
    const url = `${this.rendezvous.url}/connect/${id}${query}`;
    return RawWebSocket.connect(url, { Authorization: `Bearer ${token}` });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.rendezvous.shutDown();
    this.admissions[Symbol.dispose]();
  }
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  // deno-lint-ignore no-explicit-any
  readonly json: any;
}

/** The JSON of an answer that is a success. */
// deno-lint-ignore no-explicit-any
export function okay({ status, text, json }: Answer): any {
  assert.equal(status, 200, text);
  return json;
}

export async function entryOf(token: string, change: Partial<TokenEntry>): Promise<TokenEntry> {
  const digest = await TokenDigest.ofToken(token);
  return { name: token, digest, roles: ["client"], ids: ["*"], createdAt: new Date(), expiresAt: null, ...change };
}

async function standardEntries(): Promise<TokenEntry[]> {
  return await Promise.all([
    entryOf(TOKENS.executor, { name: "executors", roles: ["executor"] }),
    entryOf(TOKENS.client, { name: "clients", roles: ["client"] }),
    entryOf(TOKENS.viewer, { name: "viewer", roles: ["viewer"], ids: ["box-*"] }),
  ]);
}

export function publicKey(fill: number) {
  return {
    suite: "Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256",
    x25519_public_key: new Uint8Array(32).fill(fill).toBase64(),
    mlkem768_public_key: new Uint8Array(1184).fill(fill).toBase64(),
  };
}

export const KEY = publicKey(1);
export const HARNESS_KEY = publicKey(2);

/** The frames of one stream, as an end of it sends them. */
export function stream(id: string): RelayFrameEncoder {
  return new RelayFrameEncoder(id);
}

/** The next binary message, without pings. */
export async function nextMessage(socket: RawWebSocket): Promise<Uint8Array<ArrayBuffer> | null> {
  for (;;) {
    const frame = await socket.readFrame();
    if (frame === null || frame.opcode === 0x8) return null;
    if (frame.opcode === 0x2 || frame.opcode === 0x1) return frame.payload;
  }
}

/** The code and reason of the close frame that comes next. */
export async function closing(socket: RawWebSocket): Promise<[number, string]> {
  for (;;) {
    const frame = await socket.readFrame();
    assert.ok(frame !== null, "the connection ended without a close frame");
    if (frame.opcode !== 0x8) continue;
    return [new DataView(frame.payload.buffer).getUint16(0), new TextDecoder().decode(frame.payload.subarray(2))];
  }
}

export function text(content: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(content);
}

/** Sends relay frames. */
export async function send(socket: RawWebSocket, ...frames: Uint8Array[]): Promise<void> {
  for (const frame of frames) await socket.sendFrame(0x2, frame);
}

/** The next relay frame. */
export async function nextFrame(socket: RawWebSocket): Promise<Pick<RelayFrame, "streamId" | "body">> {
  const message = await nextMessage(socket);
  assert.ok(message !== null, "the connection has ended");
  const { streamId, body } = decodeRelayFrame(message);
  return { streamId, body };
}
