/** What a wrapper wrote that could not make its sandbox: the reason, in its own words. Nobody takes it for output. */

import type { OutputStream, ProcessObserver } from "../backend.ts";

/** Enough for any message, and small if a wrapper does not stop writing. */
const MAX_COMPLAINT_CHARACTERS = 4096;

export class SetUpComplaint implements ProcessObserver {
  text = "";

  output(_: OutputStream, bytes: Uint8Array<ArrayBuffer>): void {
    if (this.text.length < MAX_COMPLAINT_CHARACTERS) this.text += new TextDecoder().decode(bytes);
  }

  exited(): void {}

  outputEnded(): void {}
}
