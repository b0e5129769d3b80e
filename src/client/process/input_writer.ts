/**
 * Writes to the input of a process, in order. Nothing is written twice and nothing is lost.
 *
 * Every write has an id that the server remembers. A write whose answer was lost with the connection is sent again
 * under the same id. A few are under way at a time; further writes wait.
 */

import { ERROR_CODES } from "../../protocol/error_codes.ts";
import type { ProcessRef } from "../../protocol/process_ref.ts";
import { encodeBase64 } from "../base64.ts";
import { ServerError } from "../errors.ts";
import type { Session } from "../session/session.ts";

/**
 * The longest write on the wire. Longer ones are divided, so that a process that reads slowly delays little at a time.
 */
const MAX_WRITE_BYTES = 64 * 1024;
/** How many writes may be under way: as many as the server queues, so that a fast process never waits for us. */
const MAX_BYTES_UNDER_WAY = 1024 * 1024;
const MAX_WRITES_UNDER_WAY = 128;
/** The default end-of-file character of a terminal. */
const END_OF_TRANSMISSION = Uint8Array.of(0x04);

const REFUSALS = {
  stdinClosed: "its input is closed",
  unknownProcess: "there is no such process any more",
  starting: "it is still being started",
} as const;

/** See the head of the module. */
export class InputWriter {
  readonly #session: Session;
  readonly #reference: ProcessRef;
  readonly #isTerminal: boolean;
  /** Makes this writer's ids different from those of another program that writes to the same process. */
  readonly #prefix = crypto.randomUUID().slice(0, 8);
  #nextId = 1;
  #bytesUnderWay = 0;
  #writesUnderWay = 0;
  #waiters: (() => void)[] = [];
  #failure: unknown = null;
  #lastWrite: Promise<void> = Promise.resolve();

  constructor(session: Session, reference: ProcessRef, { isTerminal }: { isTerminal: boolean }) {
    this.#session = session;
    this.#reference = reference;
    this.#isTerminal = isTerminal;
  }

  /** Resolves when these bytes are under way and there is room for more. A later write reports a failure. */
  async push(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; at += MAX_WRITE_BYTES) {
      await this.#room();
      this.#send(bytes.subarray(at, at + MAX_WRITE_BYTES));
    }
    await this.#room();
  }

  /** Resolves when the server has accepted these bytes and all before them. */
  async write(bytes: Uint8Array): Promise<void> {
    await this.push(bytes);
    await this.flushed();
  }

  /** Resolves when the server has accepted everything. */
  async flushed(): Promise<void> {
    await this.#lastWrite;
    if (this.#failure !== null) throw this.#failure;
  }

  /** Ends the input after everything that was written. A terminal gets Ctrl-D. */
  async close(): Promise<void> {
    if (this.#isTerminal) return await this.write(END_OF_TRANSMISSION);
    if (!this.#session.has("processCloseStdin")) {
      throw new ServerError(
        "process/closeStdin",
        ERROR_CODES.invalidRequest,
        "this server cannot close the input of a process",
      );
    }
    // The server keeps the order of requests about one input.
    const closing = this.#session.call("process/closeStdin", this.#reference);
    await Promise.all([closing, this.flushed()]);
  }

  async #room(): Promise<void> {
    while (
      this.#failure === null &&
      (this.#bytesUnderWay >= MAX_BYTES_UNDER_WAY || this.#writesUnderWay >= MAX_WRITES_UNDER_WAY)
    ) await new Promise<void>((resolve) => this.#waiters.push(resolve));
    if (this.#failure !== null) throw this.#failure;
  }

  #send(bytes: Uint8Array): void {
    const writeId = `${this.#prefix}-${this.#nextId++}`;
    this.#bytesUnderWay += bytes.length;
    this.#writesUnderWay++;
    const written = this.#request(encodeBase64(bytes), writeId).then(
      () => this.#settled(bytes.length),
      (error) => {
        this.#failure ??= error;
        this.#settled(bytes.length);
      },
    );
    this.#lastWrite = Promise.all([this.#lastWrite, written]).then(() => {});
  }

  async #request(chunk: string, writeId: string): Promise<void> {
    const { status } = await this.#session.call("process/write", { ...this.#reference, writeId, chunk });
    if (status === "accepted") return;
    throw new ServerError(
      "process/write",
      ERROR_CODES.invalidRequest,
      `cannot write to the process: ${REFUSALS[status]}`,
    );
  }

  #settled(bytes: number): void {
    this.#bytesUnderWay -= bytes;
    this.#writesUnderWay--;
    for (const wake of this.#waiters.splice(0)) wake();
  }
}
