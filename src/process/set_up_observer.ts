/**
 * Listens to a child whose sandbox may not stand: hands everything on to the command's observer, unless there never was a
 * command. Then what the wrapper wrote is kept as its complaint, and nobody takes it for the command's output.
 */

import type { ExitStatus, OutputStream, ProcessObserver } from "./backend.ts";

/** Enough for any message, and small if a wrapper will not stop talking. */
const MAX_COMPLAINT_CHARACTERS = 4096;

export class SetUpObserver implements ProcessObserver {
  complaint = "";
  /** Null once there is nobody to hand anything on to. */
  #observer: ProcessObserver | null;

  constructor(observer: ProcessObserver) {
    this.#observer = observer;
  }

  /** There will be no command. To be told before the child is watched. */
  failed(): void {
    this.#observer = null;
  }

  output(stream: OutputStream, bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#observer !== null) this.#observer.output(stream, bytes);
    else if (this.complaint.length < MAX_COMPLAINT_CHARACTERS) this.complaint += new TextDecoder().decode(bytes);
  }

  exited(status: ExitStatus): void {
    this.#observer?.exited(status);
  }

  outputEnded(): void {
    this.#observer?.outputEnded();
  }
}
