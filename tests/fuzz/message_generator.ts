/** Messages a server should never see: malformed, half-valid, and valid ones at the wrong time. */

import { Random } from "../support/random.ts";

export interface FuzzMessage {
  readonly payload: Uint8Array<ArrayBuffer>;
  readonly isBinary: boolean;
}

/** Methods with parameters that do no harm when they happen to be valid. */
const REQUESTS: readonly [string, unknown][] = [
  ["environment/info", null],
  ["environment/status", {}],
  ["initialize", { clientName: "fuzz" }],
  ["process/start", { processId: "p", argv: ["/bin/true"], cwd: "file:///", env: { A: "b" }, tty: false }],
  ["process/start", {
    processId: "t",
    argv: ["/bin/true"],
    cwd: "/",
    env: {},
    io: { type: "pty", rows: 24, cols: 80 },
  }],
  ["process/read", { processId: "p", afterSeq: 0, maxBytes: 10, waitMs: 0 }],
  ["process/write", { processId: "p", chunk: "aGk=", writeId: "w" }],
  ["process/signal", { processId: "p", signal: "interrupt" }],
  ["process/terminate", { processId: "p", mode: { type: "graceful", timeoutMs: 10 } }],
  ["process/resize", { processId: "t", rows: 10, cols: 10 }],
  ["process/wait", { processId: "p", timeoutMs: 0, until: "exited" }],
  ["process/snapshot", { processId: "p" }],
  ["process/closeStdin", { processId: "p" }],
  ["process/list", null],
  ["no/such/method", {}],
];

const SCALARS = [
  "null",
  "true",
  "0",
  "-1",
  "1.5",
  "1e400",
  "9007199254740993",
  "18446744073709551616",
  '""',
  '"\\ud800"',
  '"\\u0000"',
  '"file:///"',
  "[]",
  "{}",
  '[[[["x"]]]]',
  '{"a":1,"a":2}',
];

const encoder = new TextEncoder();

export class MessageGenerator {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  next(): FuzzMessage {
    const payload = encoder.encode(this.#text());
    const isBinary = this.#random.chance(0.2);
    // Broken bytes only where the protocol calls them a parse error: a text frame must be UTF-8.
    if (isBinary && this.#random.chance(0.3)) this.#flipBytes(payload);
    return { payload, isBinary };
  }

  #text(): string {
    const random = this.#random;
    switch (random.int(8)) {
      case 0:
        return this.#request();
      case 1:
        return this.#cut(this.#request());
      case 2:
        return this.#swapScalar(this.#request());
      case 3:
        return this.#request() + random.pick(["x", "{}", "\0", "]", " ", "\n\t"]);
      case 4:
        return this.#noise();
      case 5:
        return random.pick([
          "",
          " ",
          "null",
          "[]",
          "{}",
          '"x"',
          "[{}]",
          '{"id":1}',
          '{"id":1.0,"method":"m"}',
          "\ufeff{}",
        ]);
      case 6: {
        const depth = 1 + random.int(400);
        return `{"id":1,"method":"environment/status","params":${"[".repeat(depth)}${"]".repeat(depth)}}`;
      }
      default:
        return this.#request().replaceAll(/[:,]/g, (mark) => mark + random.pick(["", "", " ", "\n"]));
    }
  }

  #request(): string {
    const [method, params] = this.#random.pick(REQUESTS);
    const id = this.#random.chance(0.9) ? String(this.#random.int(1e9)) : this.#random.pick(SCALARS);
    return `{"id":${id},"method":${JSON.stringify(method)},"params":${JSON.stringify(params)}}`;
  }

  #cut(text: string): string {
    const at = this.#random.int(text.length);
    return this.#random.chance(0.5) ? text.slice(0, at) : text.slice(0, at) + text.slice(at + 1 + this.#random.int(5));
  }

  /** Puts another value where one stands. Program and directory stay, so that a valid start remains harmless. */
  #swapScalar(text: string): string {
    const values = [...text.matchAll(/(?<=:)("[^"]*"|-?\d+|true|false|null)/g)]
      .filter((match) => match[0] !== '"/bin/true"');
    if (values.length === 0) return text;
    const { index, 0: old } = this.#random.pick(values);
    return text.slice(0, index) + this.#random.pick(SCALARS) + text.slice(index + old.length);
  }

  #noise(): string {
    const alphabet = '{}[]":,\\ntrue0123456789.eE+- \u00fc\ud83d\ude00\u0000';
    return Array.from({ length: this.#random.int(80) }, () => alphabet[this.#random.int(alphabet.length)]).join("");
  }

  #flipBytes(payload: Uint8Array): void {
    for (let i = 0; i < 3 && payload.length > 0; i++) {
      payload[this.#random.int(payload.length)]! ^= 1 << this.#random.int(8);
    }
  }
}
