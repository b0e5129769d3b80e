/**
 * The standard input of one command. Takes texts at once, passes them on as the command reads, and knows what of them
 * it has not taken: a command that does not read keeps nobody waiting.
 */

import { invalidParams, invalidRequest } from "../errors.ts";
import { MAX_WAITING_INPUT_BYTES } from "./limits.ts";
import type { SupervisedShell } from "./supervised_shell.ts";

/** The kernel takes this much into a pipe as a whole or not at all, so what was taken is known to the byte. */
const PIECE_BYTES = 4096;

export class CommandInput {
  readonly #isOpen: boolean;
  readonly #shell = Promise.withResolvers<Pick<SupervisedShell, "write" | "closeStdin">>();
  #waitingBytes = 0;
  #lostBytes = 0;
  #isEnded = false;

  /** `isOpen`: whether the command has a standard input that can be written. */
  constructor(isOpen: boolean) {
    this.#isOpen = isOpen;
    this.#shell.promise.catch(() => {});
  }

  /** Bytes for which the command's pipe has no room yet. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Bytes that can reach the command no more. */
  get lostBytes(): number {
    return this.#lostBytes;
  }

  /** From now on there is somebody to write to. What was written before follows at once. */
  begins(shell: Pick<SupervisedShell, "write" | "closeStdin">): void {
    this.#shell.resolve(shell);
  }

  /** The command has ended. */
  ends(): void {
    this.#shell.reject(new Error("the command has ended"));
    this.#lostBytes += this.#waitingBytes;
    this.#waitingBytes = 0;
    this.#isEnded = true;
  }

  /** Throws, and takes nothing, when nobody could read it or too much waits already. */
  write(text: string): void {
    if (!this.#isOpen) {
      throw invalidParams(
        "the text was not written, because the command has an empty standard input: start it with stdin: true",
      );
    }
    const bytes = new TextEncoder().encode(text);
    if (this.#waitingBytes > 0 && this.#waitingBytes + bytes.length > MAX_WAITING_INPUT_BYTES) {
      throw invalidRequest(
        `Cannot write the text: ${this.#waitingBytes} bytes that were written before have not been read yet; ` +
          "wait with shell_poll until there are fewer, or end the command with shell_stop",
      );
    }
    if (this.#isEnded) {
      this.#lostBytes += bytes.length;
      return;
    }
    this.#waitingBytes += bytes.length;
    void this.#shell.promise.then((shell) => {
      for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
        const piece = bytes.subarray(start, start + PIECE_BYTES);
        void shell.write(piece).then((outcome) => this.#settled(piece.length, outcome));
      }
    }, () => {});
  }

  /** After everything that was written before. */
  close(): void {
    void this.#shell.promise.then((shell) => shell.closeStdin(), () => {});
  }

  #settled(bytes: number, outcome: "written" | "closed"): void {
    if (this.#isEnded) return;
    this.#waitingBytes -= bytes;
    if (outcome === "closed") this.#lostBytes += bytes;
  }
}
