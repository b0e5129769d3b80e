/**
 * The way into a child's standard input: order, memory and repetition.
 *
 * Promises: bytes reach the child in the order of acceptance, and each accepted write id at most once; what the kernel
 * has not taken is bounded, and a write beyond the bound waits; no write waits for a child that is gone. The backend
 * passes the bytes to the kernel.
 */

import type { SpawnedProcess, StdinOutcome } from "../backend.ts";
import { MAX_QUEUED_INPUT_BYTES, MAX_QUEUED_INPUT_CHUNKS } from "../limits.ts";
import { WriteIds } from "./write_ids.ts";

export type InputStatus = "accepted" | "stdinClosed";

export interface InputWriteOptions {
  /** A write with an id accepted before is accepted again and not written. */
  readonly writeId: string | null;
  /** Cancels a write that is still waiting: it is then not written. */
  readonly signal?: AbortSignal | undefined;
}

interface WaitingWrite {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly writeId: string | null;
  readonly settle: (status: InputStatus) => void;
}

export class InputQueue {
  readonly #target: Pick<SpawnedProcess, "write" | "closeInput" | "queuedInputBytes">;
  readonly #acceptedIds = new WriteIds();
  /** Writes that found no room, in order. */
  readonly #waiting: WaitingWrite[] = [];
  #chunksInFlight = 0;
  /** `ending`: nothing more is taken, but what waits is still written before the end of file. */
  #state: "open" | "ending" | "closed" = "open";

  constructor(target: Pick<SpawnedProcess, "write" | "closeInput" | "queuedInputBytes">) {
    this.#target = target;
  }

  /** What remembering accepted ids takes. */
  get writeIdBytes(): number {
    return this.#acceptedIds.allocatedBytes;
  }

  /** Settled at once unless the queue is full. */
  write(bytes: Uint8Array<ArrayBuffer>, options: InputWriteOptions): InputStatus | Promise<InputStatus> {
    const { writeId, signal } = options;
    if (writeId !== null && this.#acceptedIds.has(writeId)) return "accepted";
    if (this.#state !== "open") return "stdinClosed";
    if (this.#waiting.length === 0 && this.#hasRoom) {
      this.#accept(bytes, writeId);
      return "accepted";
    }
    return this.#wait(bytes, writeId, signal);
  }

  /** End of file after everything accepted or waiting. False when it had been asked for, or the input is closed. */
  end(): boolean {
    if (this.#state !== "open") return false;
    this.#state = "ending";
    this.#advance();
    return true;
  }

  /** The child takes nothing more: waiting writes are told so. */
  close(): void {
    this.#state = "closed";
    for (const write of this.#waiting.splice(0)) write.settle(this.#statusAtClose(write));
  }

  get #hasRoom(): boolean {
    const queuedBytes = this.#target.queuedInputBytes;
    if (queuedBytes === 0) return true;
    return queuedBytes < MAX_QUEUED_INPUT_BYTES && this.#chunksInFlight < MAX_QUEUED_INPUT_CHUNKS;
  }

  #accept(bytes: Uint8Array<ArrayBuffer>, writeId: string | null): void {
    if (writeId !== null) this.#acceptedIds.add(writeId);
    if (bytes.length === 0) return;
    this.#chunksInFlight++;
    this.#target.write(bytes).then(this.#onHandedOver);
  }

  readonly #onHandedOver = (outcome: StdinOutcome): void => {
    this.#chunksInFlight--;
    if (outcome === "closed") this.close();
    else this.#advance();
  };

  /** Lets in what has found room, and the end of file after the last. */
  #advance(): void {
    while (this.#waiting.length > 0 && this.#hasRoom) {
      const { bytes, writeId, settle } = this.#waiting.shift()!;
      // A repeated write may have waited behind the one it repeats.
      if (writeId === null || !this.#acceptedIds.has(writeId)) this.#accept(bytes, writeId);
      settle("accepted");
    }
    if (this.#state === "ending" && this.#waiting.length === 0) {
      this.#state = "closed";
      this.#target.closeInput();
    }
  }

  #wait(
    bytes: Uint8Array<ArrayBuffer>,
    writeId: string | null,
    signal: AbortSignal | undefined,
  ): Promise<InputStatus> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(write), 1);
        this.#advance();
        reject(signal?.reason);
      };
      const write: WaitingWrite = {
        bytes,
        writeId,
        settle: (status) => {
          signal?.removeEventListener("abort", onAbort);
          resolve(status);
        },
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(write);
    });
  }

  #statusAtClose(write: WaitingWrite): InputStatus {
    return write.writeId !== null && this.#acceptedIds.has(write.writeId) ? "accepted" : "stdinClosed";
  }
}
