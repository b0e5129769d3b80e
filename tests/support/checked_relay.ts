/**
 * A relay that holds every message of the websockets it passes on against the table and the document. For clients that
 * are programs of their own: those of `examples/`, and our commands.
 */

import { OPCODE, readFrame, type Role } from "../../src/transport/websocket/websocket_frames.ts";
import { AnswerCheck, loadPromises, type Promises } from "./answer_check.ts";
import { Relay } from "./relay.ts";

export class CheckedRelay extends Relay {
  /** Methods of the results and notifications that were as they should be. */
  readonly checked = new Set<string>();
  readonly #promises: Promises;
  readonly #conversations = new WeakMap<object, Conversation>();

  private constructor(port: number, promises: Promises) {
    super(port);
    this.#promises = promises;
  }

  /** To the server that listens at this URL, `ws://127.0.0.1:PORT` and whatever follows. */
  static async to(url: string): Promise<CheckedRelay> {
    return new CheckedRelay(Number(new URL(url).port), await loadPromises());
  }

  /** The same URL, by way of this relay. */
  urlFor(url: string): string {
    const through = new URL(url);
    through.port = String(this.port);
    // As the server prints it: without a slash that nobody wrote.
    return url.endsWith("/") ? through.href : through.href.replace(/\/(?=\?|$)/, "");
  }

  protected override onBytes(connection: object, from: "client" | "server", bytes: Uint8Array<ArrayBuffer>): void {
    let conversation = this.#conversations.get(connection);
    if (conversation === undefined) {
      conversation = new Conversation(new AnswerCheck(this.#promises, (method) => this.checked.add(method)));
      this.#conversations.set(connection, conversation);
    }
    try {
      conversation.take(from, bytes);
    } catch (error) {
      // Fails the test that runs. Thrown, it would look like a lost connection.
      reportError(error);
    }
  }
}

class Conversation {
  readonly #client: MessageReader;
  readonly #server: MessageReader;

  constructor(check: AnswerCheck) {
    // Each is read as the other end reads it.
    this.#client = new MessageReader("server", (text) => check.sent(text));
    this.#server = new MessageReader("client", (text) => check.received(JSON.parse(text)));
  }

  take(from: "client" | "server", bytes: Uint8Array<ArrayBuffer>): void {
    (from === "client" ? this.#client : this.#server).take(bytes);
  }
}

/** One direction: an HTTP head, then frames. */
class MessageReader {
  readonly #role: Role;
  readonly #onMessage: (text: string) => void;
  #pending = new Uint8Array(0);
  #isUpgraded = false;
  #message = "";
  #decoder = new TextDecoder();

  constructor(role: Role, onMessage: (text: string) => void) {
    this.#role = role;
    this.#onMessage = onMessage;
  }

  take(bytes: Uint8Array<ArrayBuffer>): void {
    // A copy: the frames are unmasked in place, and the bytes go on to the server.
    const all = new Uint8Array(this.#pending.length + bytes.length);
    all.set(this.#pending);
    all.set(bytes, this.#pending.length);
    this.#pending = all.subarray(this.#readAll(all));
  }

  /** How far whole frames reached. */
  #readAll(all: Uint8Array<ArrayBuffer>): number {
    let at = this.#isUpgraded ? 0 : headEnd(all);
    this.#isUpgraded ||= at > 0;
    while (this.#isUpgraded) {
      const read = readFrame(all, at, all.length, { role: this.#role, maxFrameBytes: Infinity });
      if (read.type === "violation") throw new Error(`the ${this.#role}'s peer sent a wrong frame: ${read.reason}`);
      if (read.type === "incomplete") break;
      at = read.end;
      if (read.opcode >= OPCODE.close) continue;
      this.#message += this.#decoder.decode(all.subarray(read.payloadStart, read.end), { stream: !read.isFinal });
      if (!read.isFinal) continue;
      const message = this.#message;
      this.#message = "";
      this.#onMessage(message);
    }
    return at;
  }
}

/** Where the frames begin; 0 while the head has not come whole. */
function headEnd(bytes: Uint8Array): number {
  const end = new TextDecoder("latin1").decode(bytes).indexOf("\r\n\r\n");
  return end < 0 ? 0 : end + 4;
}
