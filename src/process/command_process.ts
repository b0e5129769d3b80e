/**
 * One child of `Deno.Command`: its streams, its exit, and signals to its group.
 *
 * Nothing is read before `begin`. The backend knows all children and decides when they must end.
 */

import { messageOf } from "../errors.ts";
import {
  type ExitStatus,
  MAX_OUTPUT_CHUNK_BYTES,
  type OutputStream,
  type ProcessObserver,
  type SpawnedProcess,
  type StdinOutcome,
} from "./backend.ts";
import { signalText } from "./signals.ts";

export class CommandProcess implements SpawnedProcess {
  readonly pid: number;
  /** Nothing is confined here. */
  readonly networkDenials = null;
  readonly ended: Promise<void>;
  readonly #gone = Promise.withResolvers<void>();
  readonly #child: Deno.ChildProcess;
  /** Null before `begin`, and after `dispose`. */
  #observer: ProcessObserver | null = null;
  #hasBegun = false;
  readonly #input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>> | null;
  readonly #readers: ReadonlyArray<readonly [OutputStream, ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>]>;
  /** While paused: what readers wait for. */
  #resumed: PromiseWithResolvers<void> | null = null;
  #queuedInputBytes = 0;
  #isInputOpen: boolean;
  #isReading = true;
  #isDisposed = false;
  #hasExited = false;

  constructor(child: Deno.ChildProcess) {
    this.pid = child.pid;
    this.#child = child;
    this.#input = hasInput(child) ? child.stdin.getWriter() : null;
    this.#isInputOpen = this.#input !== null;
    this.#readers = [["stdout", child.stdout.getReader()], ["stderr", child.stderr.getReader()]];
    this.ended = child.status.then(() => {}, () => {});
  }

  begin(observer: ProcessObserver | null): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#observer = observer;
    const exit = this.#child.status.then(toExitStatus, (): ExitStatus => ({ type: "unknown" })).then((status) => {
      this.#hasExited = true;
      if (!this.#isDisposed) this.#observer?.exited(status);
    });
    const reading = Promise.all(this.#readers.map(([stream, reader]) => this.#read(stream, reader))).then(
      (failures) => {
        this.#isReading = false;
        if (!this.#isDisposed) this.#observer?.outputEnded(failures.find((failure) => failure !== null) ?? null);
      },
    );
    Promise.all([exit, reading]).then(() => this.#gone.resolve());
  }

  /** It has ended, no process is known to hold its output, and the observer knows. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  get queuedInputBytes(): number {
    return this.#queuedInputBytes;
  }

  pauseOutput(): void {
    if (this.#resumed === null && this.#isReading) this.#resumed = Promise.withResolvers<void>();
  }

  resumeOutput(): void {
    this.#resumed?.resolve();
    this.#resumed = null;
  }

  stopReading(): void {
    if (!this.#isReading) return;
    this.#isReading = false;
    this.resumeOutput();
    // Fails when the stream has already failed, which ends it too.
    for (const [, reader] of this.#readers) reader.cancel().catch(() => {});
  }

  async write(bytes: Uint8Array<ArrayBuffer>): Promise<StdinOutcome> {
    if (!this.#isInputOpen || this.#input === null) return "closed";
    this.#queuedInputBytes += bytes.length;
    try {
      await this.#input.write(bytes);
      return "written";
    } catch {
      // The child closed its input, or we did with this still queued: either way it was not taken.
      this.#isInputOpen = false;
      return "closed";
    } finally {
      this.#queuedInputBytes -= bytes.length;
    }
  }

  closeInput(): void {
    if (!this.#isInputOpen) return;
    this.#isInputOpen = false;
    // Fails when the child closed first, which is what was wanted.
    this.#input?.close().catch(() => {});
  }

  resize(): void {
    // There are no terminals here.
  }

  /**
   * The runtime reaps a child at once, so the group's number is safe only while a process is left in the group. Open
   * output is the sign of that. Without it nothing is signalled: the number may belong to a stranger.
   */
  signalGroup(signal: number): boolean {
    if (this.#hasExited && !this.#isReading) return false;
    try {
      Deno.kill(-this.pid, signalText(signal) as Deno.Signal);
      return true;
    } catch {
      // Nobody is left, and the runtime has not noticed yet.
      return false;
    }
  }

  signalForeground(): boolean {
    // There are no terminals here.
    return false;
  }

  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.begin(null);
    this.#observer = null;
    this.stopReading();
    this.#isInputOpen = false;
    // Fails when it was closed before.
    this.#input?.abort().catch(() => {});
  }

  /** Resolves at the end of the stream, with the reason if it could not be read so far. */
  async #read(
    stream: OutputStream,
    reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
  ): Promise<string | null> {
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return null;
        for (let offset = 0; offset < value.length; offset += MAX_OUTPUT_CHUNK_BYTES) {
          // Bytes that were under way when reading was paused wait here, and so does what follows in the pipe.
          while (this.#resumed !== null) await this.#resumed.promise;
          if (!this.#isReading) return null;
          this.#observer?.output(stream, value.slice(offset, offset + MAX_OUTPUT_CHUNK_BYTES));
        }
      }
    } catch (error) {
      // After the requested end nobody wants to know.
      return this.#isReading ? `${stream}: ${messageOf(error)}` : null;
    }
  }
}

/** Whether input is piped; the runtime throws when asked for a stream that is not. */
function hasInput(child: Deno.ChildProcess): boolean {
  try {
    return child.stdin !== null;
  } catch {
    return false;
  }
}

function toExitStatus(status: Deno.CommandStatus): ExitStatus {
  if (status.signal === null) return { type: "exited", code: status.code };
  // The runtime gives 128 and the number.
  return { type: "signaled", signal: status.code - 128 };
}
