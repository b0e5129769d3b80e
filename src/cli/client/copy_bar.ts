/** The line that shows how far a copy is. On standard error, and only if that is a terminal. */

import type { CopyProgress, CopyResult } from "../../client/fs/copy/copy_options.ts";
import { printable } from "../../printable.ts";
import { byteText } from "./human_text.ts";

/** How often the line is drawn: often enough to look smooth. */
const INTERVAL_MS = 100;
const BAR_CHARS = 20;
const DEFAULT_COLUMNS = 80;

/** One line of at most this many characters. */
export function barText(progress: CopyProgress, elapsedMs: number, columns: number): string {
  const { files, bytes, totalFiles, totalBytes, path } = progress;
  const share = totalBytes === 0 ? (totalFiles === 0 ? 0 : files / totalFiles) : Math.min(1, bytes / totalBytes);
  const filled = Math.round(share * BAR_CHARS);
  const bar = `[${"=".repeat(filled)}${" ".repeat(BAR_CHARS - filled)}]`;
  const rate = elapsedMs === 0 ? 0 : bytes / (elapsedMs / 1000);
  const text = `${bar} ${String(Math.floor(share * 100)).padStart(3)}% ${byteText(bytes)}/${byteText(totalBytes)} ` +
    `${files}/${totalFiles} files ${byteText(rate)}/s ${printable(path)}`;
  return text.slice(0, Math.max(0, columns - 1)).trimEnd();
}

/** See the head of the module. */
export class CopyBar implements Disposable {
  readonly #isShown: boolean;
  readonly #startedAtMs = performance.now();
  /** Totals of the sources that are complete. */
  #done = { files: 0, bytes: 0 };
  #shownAtMs = -Infinity;
  #isOnScreen = false;

  constructor({ isShown }: { isShown: boolean }) {
    this.#isShown = isShown;
  }

  readonly progress = (progress: CopyProgress): void => {
    const nowMs = performance.now();
    if (!this.#isShown || nowMs - this.#shownAtMs < INTERVAL_MS) return;
    this.#shownAtMs = nowMs;
    const { files, bytes } = this.#done;
    const whole = {
      path: progress.path,
      files: progress.files + files,
      bytes: progress.bytes + bytes,
      totalFiles: progress.totalFiles + files,
      totalBytes: progress.totalBytes + bytes,
    };
    this.#write(`\r${barText(whole, nowMs - this.#startedAtMs, columns())}\x1b[K`);
    this.#isOnScreen = true;
  };

  /** A source is complete. */
  next({ files, bytes }: CopyResult): void {
    this.#done = { files: this.#done.files + files, bytes: this.#done.bytes + bytes };
  }

  /** Removes the line, before something else is written. */
  clear(): void {
    if (this.#isOnScreen) this.#write("\r\x1b[K");
    this.#isOnScreen = false;
  }

  [Symbol.dispose](): void {
    this.clear();
  }

  #write(text: string): void {
    try {
      Deno.stderr.writeSync(new TextEncoder().encode(text));
    } catch {
      // The terminal is gone; the copy goes on.
    }
  }
}

function columns(): number {
  try {
    // A terminal without a size says 0.
    return Deno.consoleSize().columns || DEFAULT_COLUMNS;
  } catch {
    return DEFAULT_COLUMNS;
  }
}
