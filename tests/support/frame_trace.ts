/**
 * What our commands and their servers have said to each other, as `--trace-file` writes it down, held against the table
 * and the document. It sees every way to a server alike: sockets, ssh, and what is encrypted on the way.
 *
 * Our commands are held to more than other clients are: each of their requests and notifications has to fit the document.
 */

import assert from "node:assert/strict";
import { AnswerCheck, loadPromises } from "./answer_check.ts";

/** `PID.N > MESSAGE`, or `<` for what the server has sent. */
const LINE = /^(\d+\.\d+) ([<>]) (.*)$/;
const PIECE_BYTES = 1024 * 1024;
const LINE_END = 0x0a;

export class FrameTrace {
  readonly path: string;
  /** Methods of the results and notifications that were as they should be. */
  readonly checked = new Set<string>();
  readonly #conversations = new Map<string, AnswerCheck>();
  #readBytes = 0;
  /** Of a line whose end has not been read yet. */
  #begun: Uint8Array<ArrayBuffer>[] = [];
  #turn: Promise<void> = Promise.resolve();

  constructor(path: string) {
    this.path = path;
  }

  /** Checks what has come since the last time. Rejects at the first message that is not as it should be. */
  check(): Promise<void> {
    const checking = this.#turn.then(() => this.#checkRest());
    this.#turn = checking.catch(() => {});
    return checking;
  }

  async #checkRest(): Promise<void> {
    using file = await Deno.open(this.path);
    await file.seek(this.#readBytes, Deno.SeekMode.Start);
    const buffer = new Uint8Array(PIECE_BYTES);
    for (let count = await file.read(buffer); count !== null; count = await file.read(buffer)) {
      this.#readBytes += count;
      // All are taken before the first is checked: one that is wrong leaves no half of another behind.
      for (const line of await this.#lines(buffer.slice(0, count))) await this.#checkLine(line);
    }
  }

  /** The lines that end in these bytes. */
  async #lines(bytes: Uint8Array<ArrayBuffer>): Promise<string[]> {
    const lines: string[] = [];
    let from = 0;
    for (let end = bytes.indexOf(LINE_END); end >= 0; end = bytes.indexOf(LINE_END, from)) {
      lines.push(await new Blob([...this.#begun, bytes.subarray(from, end)]).text());
      this.#begun = [];
      from = end + 1;
    }
    this.#begun.push(bytes.subarray(from));
    return lines;
  }

  async #checkLine(line: string): Promise<void> {
    const [, connection, direction, message] = LINE.exec(line) ?? assert.fail(`no line of a trace: ${line}`);
    const promises = await loadPromises();
    let conversation = this.#conversations.get(connection!);
    if (conversation === undefined) {
      conversation = new AnswerCheck(promises, (method) => this.checked.add(method));
      this.#conversations.set(connection!, conversation);
    }
    if (direction === "<") return conversation.received(JSON.parse(message!));
    const { method, params } = JSON.parse(message!);
    assert.ok(promises.document.method(method) !== undefined, `the document has no ${method}, which a command sends`);
    const problem = promises.document.paramsProblem(method, params);
    assert.equal(
      problem,
      null,
      `the document says that these parameters of ${method}, which a command sends, are wrong`,
    );
    conversation.sent(message!);
  }
}
