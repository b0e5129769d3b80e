/**
 * Recorded frames: pages of requests with the answers a real server gave, one frame per line.
 *
 * A page is a text. `>` is sent, `<` was received, `#` is for people. `~ METHOD` waits for a notification of that method,
 * and `~ ID` for an answer to something that has no id of its own. In an exchange the answer comes first, then the
 * notifications in the order of their arrival. `$DIR` is an empty directory and `$HTTP` the address of a small web server, `$PORT` its port.
 * What differs from run to run (ids, times, facts about the machine) is written as `…`.
 */

import { RawHttpServer } from "../support/raw_http_server.ts";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";

/** Members whose values differ from run to run, or from machine to machine. */
const VOLATILE = new Set([
  "sessionId",
  "environmentInfo",
  "uid",
  "pid",
  "ageMs",
  "hostname",
  "createdAtMs",
  "modifiedAtMs",
  "gid",
]);

/** For one frame. A page that waits for something that never comes must fail and say so. */
const FRAME_LIMIT_MS = 60_000;

/** Methods whose result describes the machine, or is very long: its members are kept, their values are not. */
const MEMBERS_ONLY = new Set(["environment/info", "environment/sandbox", "rpc.discover"]);

type Frame = Record<string, unknown>;

/** The names of the pages beside this file. */
export function pageNames(): string[] {
  return [...Deno.readDirSync(new URL(".", import.meta.url))]
    .map(({ name }) => name).filter((name) => name.endsWith(".txt")).sort();
}

export function pageUrl(name: string): URL {
  return new URL(name, import.meta.url);
}

/** Plays the requests of a page against a server of its own, and returns the page with what it answered. */
export async function replay(page: string): Promise<string> {
  let replayed = "";
  await inScratchDirectory(async (directory) => {
    await using web = new RawHttpServer((connection) => connection.send(ANSWER));
    const home = `${directory}/home`;
    await using server = await TestServer.start({
      args: ["--allow-tunnel"],
      env: { HOME: home, CODEX_HOME: `${home}/.codex` },
    });
    using socket = await RawWebSocket.connect(server.url);
    const places: readonly (readonly [string, string])[] = [["$DIR", directory], [
      "$HTTP",
      `http://127.0.0.1:${web.port}`,
    ], ["$PORT", String(web.port)]];
    replayed = await new Player(socket, places).play(page);
  });
  return replayed;
}

class Player {
  readonly #socket: RawWebSocket;
  readonly #places: readonly (readonly [string, string])[];
  readonly #methods = new Map<unknown, string>();

  constructor(socket: RawWebSocket, places: readonly (readonly [string, string])[]) {
    this.#socket = socket;
    this.#places = places;
  }

  async play(page: string): Promise<string> {
    const lines = page.split("\n").filter((line) => !line.startsWith("<"));
    const played: string[] = [];
    for (let at = 0; at < lines.length; at++) {
      const line = lines[at]!;
      played.push(line);
      if (!line.startsWith("> ")) continue;
      const awaited: string[] = [];
      while (lines[at + 1]?.startsWith("~ ")) {
        awaited.push(lines[++at]!.slice(2));
        played.push(lines[at]!);
      }
      for (const frame of await this.#exchange(line.slice(2), awaited)) played.push(`< ${this.#written(frame)}`);
    }
    return played.join("\n");
  }

  async #exchange(request: string, awaited: readonly string[]): Promise<Frame[]> {
    const text = this.#places.reduce((text, [name, value]) => text.replaceAll(name, value), request);
    const own = asRequest(text);
    if (own !== null) this.#methods.set(own.id, own.method);
    await this.#socket.sendText(text);
    const missing = [...awaited, ...own === null ? [] : [String(own.id)]];
    const [answers, notifications]: [Frame[], Frame[]] = [[], []];
    while (missing.length > 0) {
      const frame = await this.#nextFrame(`${missing.join(" and ")} after ${request}`);
      const name = String(frame.method ?? frame.id);
      const index = missing.indexOf(name);
      if (index < 0) throw new Error(`nothing on the page waits for ${JSON.stringify(frame)} after ${request}`);
      missing.splice(index, 1);
      if ("method" in frame) notifications.push(frame);
      else answers.push(frame);
    }
    return [...answers, ...notifications];
  }

  async #nextFrame(wanted: string): Promise<Frame> {
    const { promise, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error(`the server never sent ${wanted}`)), FRAME_LIMIT_MS);
    try {
      return await Promise.race([this.#socket.readMessage(), promise]) as Frame;
    } finally {
      clearTimeout(timer);
    }
  }

  #written(frame: Frame): string {
    const hidesAll = MEMBERS_ONLY.has(this.#methods.get(frame.id) ?? "");
    const text = JSON.stringify(
      "result" in frame ? { ...frame, result: masked(frame.result, hidesAll) } : masked(frame),
    );
    return this.#places.reduce((text, [name, value]) => text.replaceAll(value, name), text);
  }
}

function asRequest(text: string): { id: unknown; method: string } | null {
  try {
    const { id, method } = JSON.parse(text);
    return id === undefined || typeof method !== "string" ? null : { id, method };
  } catch {
    return null; // Sent to see how a server answers what is no JSON.
  }
}

/** `hidesAll`: of every member only its name stays. */
function masked(value: unknown, hidesAll = false): unknown {
  if (Array.isArray(value)) return value.map((item) => masked(item));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      return [name, hidesAll || (VOLATILE.has(name) && member !== null) ? "…" : masked(member)];
    }),
  );
}

/** Answers every request with the same few bytes. */
const ANSWER = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 6\r\n\r\nhello\n";
