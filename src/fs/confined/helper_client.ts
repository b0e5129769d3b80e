/**
 * The server's side of the conversation with one helper. It numbers requests, matches answers, and fails the open
 * requests when the helper is gone.
 *
 * The caller, who passes its port, starts and connects the helper.
 */

import type { Bytes } from "../../bytes.ts";
import { internalError } from "../../errors.ts";
import type { ByteSink } from "../file_system.ts";
import {
  encodeHelperFrame,
  type Frame,
  FrameError,
  FrameReader,
  REPLY_LIMITS,
  REQUEST_LIMITS,
} from "./helper_frames.ts";
import { errorOf, type Operation, parseReply, READY_ID, type WatchEvent } from "./helper_protocol.ts";

/** A helper's two pipes. */
export interface HelperPort {
  /** Queues bytes for the helper. They must not be changed afterwards. */
  write(bytes: Bytes): void;
  /** Lets the helper finish what it was asked and then end; kills it if it does not. */
  close(): void;
  /** Kills the helper at once. */
  kill(): void;
}

/** What the helper's owner is told. */
export interface HelperEvents {
  received(bytes: Bytes): void;
  /** Called once: nothing more will come, for the given reason. */
  ended(reason: string): void;
}

/** The helper ended before it answered. Whether it had begun the operation is not known. */
export class HelperLostError extends Error {
  override readonly name = "HelperLostError";
}

export interface CallOptions {
  readonly body?: Bytes;
  /** For content that comes in pieces. */
  readonly sink?: ByteSink;
  /** Where the body of the answer goes, if it fits. */
  readonly into?: Bytes;
  /** For a watch. */
  readonly onEvent?: (event: WatchEvent) => void;
  readonly signal?: AbortSignal | undefined;
}

export interface CallAnswer {
  readonly result: unknown;
  readonly body: Bytes;
}

interface PendingCall {
  readonly into?: Bytes | undefined;
  readonly sink?: ByteSink | undefined;
  readonly onEvent?: ((event: WatchEvent) => void) | undefined;
  resolve(answer: CallAnswer): void;
  reject(error: unknown): void;
}

export class HelperClient implements HelperEvents {
  readonly #pending = new Map<number, PendingCall>();
  readonly #ready = Promise.withResolvers<void>();
  readonly #reader = new FrameReader(REPLY_LIMITS, (head, bytes) => this.#placeFor(head, bytes));
  #port: HelperPort | null = null;
  #lastId = READY_ID;
  #openFiles = 0;
  #isClosing = false;
  #endReason: string | null = null;
  #onChange: () => void;

  /** `onChange` is called when the helper may have become idle, or has ended. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
    this.#pending.set(READY_ID, { resolve: () => this.#ready.resolve(), reject: this.#ready.reject });
  }

  /** Resolves when the helper accepts requests. To be called once, before the first request. */
  async connect(port: HelperPort): Promise<void> {
    this.#port = port;
    try {
      await this.#ready.promise;
    } catch (error) {
      const reason = error instanceof HelperLostError ? error.message : String(error);
      throw internalError(`Cannot start the confined file helper: ${reason}`, error);
    }
  }

  /** Why the helper is gone; null while it runs. */
  get endReason(): string | null {
    return this.#endReason;
  }

  get isIdle(): boolean {
    return this.#pending.size === 0 && this.#openFiles === 0;
  }

  /** Whether it holds files open, or watches, for the client. They would be lost with it. */
  get holdsFiles(): boolean {
    return this.#openFiles > 0;
  }

  fileOpened(): void {
    this.#openFiles++;
  }

  fileClosed(): void {
    this.#openFiles--;
    if (this.isIdle) this.#onChange();
  }

  /** Rejects with the helper's error, with the signal's reason, or with a `HelperLostError`. */
  call(operation: Operation, params: unknown, options: CallOptions = {}): Promise<CallAnswer> {
    const { body, sink, into, onEvent, signal } = options;
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#endReason !== null || this.#isClosing || this.#port === null) {
      return Promise.reject(new HelperLostError(this.#endReason ?? "the confined file helper is being closed"));
    }
    const id = ++this.#lastId;
    const frame = encodeHelperFrame({ id, operation, params }, body);
    const [head] = frame;
    if (head!.length > REQUEST_LIMITS.maxHeadBytes) return Promise.reject(tooLong());
    const { promise, resolve, reject } = Promise.withResolvers<CallAnswer>();
    const abandon = (): void => {
      // The number stays taken until the helper answers; whatever it still sends for it is dropped.
      this.#pending.set(id, { resolve: () => {}, reject: () => {} });
      this.#write(encodeHelperFrame({ cancel: id }));
      reject(signal?.reason);
    };
    const settled = (): void => signal?.removeEventListener("abort", abandon);
    signal?.addEventListener("abort", abandon, { once: true });
    this.#pending.set(id, {
      into,
      sink,
      onEvent,
      resolve: (answer) => {
        settled();
        resolve(answer);
      },
      reject: (error) => {
        settled();
        reject(error);
      },
    });
    this.#write(frame);
    return promise;
  }

  received(bytes: Bytes): void {
    if (this.#endReason !== null) return;
    try {
      this.#reader.push(bytes, (frame) => this.#reply(frame));
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      // Nothing that comes after this could be told from garbage.
      this.#port?.kill();
      this.ended(error.message);
    }
  }

  ended(reason: string): void {
    if (this.#endReason !== null) return;
    this.#endReason = reason;
    const calls = [...this.#pending.values()];
    this.#pending.clear();
    for (const call of calls) call.reject(new HelperLostError(reason));
    this.#onChange();
  }

  /** Lets the helper finish and end. Later requests are refused. */
  close(): void {
    this.#isClosing = true;
    this.#port?.close();
  }

  #reply({ head, body }: Frame): void {
    const reply = parseReply(head);
    const call = this.#pending.get(reply.id);
    if (call === undefined) throw new FrameError(`a reply to request ${reply.id}, which is not open`);
    if (reply.type === "piece") {
      call.sink?.(body);
      return;
    }
    if (reply.type === "event") {
      call.onEvent?.(reply.event);
      return;
    }
    this.#pending.delete(reply.id);
    if (reply.type === "done") call.resolve({ result: reply.result, body });
    else call.reject(errorOf(reply.failure));
    if (this.isIdle) this.#onChange();
  }

  #placeFor(head: unknown, bytes: number): Bytes {
    const into = this.#pending.get((head as { id?: number } | null)?.id ?? -1)?.into;
    return into !== undefined && bytes <= into.length ? into.subarray(0, bytes) : new Uint8Array(bytes);
  }

  #write(parts: readonly Bytes[]): void {
    for (const part of parts) this.#port?.write(part);
  }
}

/** The kernel's own text for a path that it would refuse too. */
function tooLong(): Error {
  return internalError("File name too long (os error 36)");
}
