/**
 * Writes log lines to a stream that may be slow or stuck: nobody may be reading the server's stderr.
 *
 * Lines leave in order, one write at a time. A full queue drops the newest lines and says how many, so logging never
 * blocks and never grows.
 */

/**
 * How many characters may wait for a stream that is not read: some hundred lines of context. Further lines are counted.
 */
const MAX_QUEUED_CHARS = 256 * 1024;

/** How long the last lines may take to leave when the program ends. */
const FLUSH_MS = 500;

export class LogSink {
  readonly #write: (bytes: Uint8Array) => Promise<number>;
  readonly #encoder = new TextEncoder();
  #queue: string[] = [];
  #queuedChars = 0;
  #dropped = 0;
  #flushing: Promise<void> | null = null;

  constructor(stream: { write(bytes: Uint8Array): Promise<number> }) {
    this.#write = (bytes) => stream.write(bytes);
  }

  write(line: string): void {
    if (this.#queuedChars + line.length > MAX_QUEUED_CHARS) {
      this.#dropped++;
      return;
    }
    this.#queue.push(line);
    this.#queuedChars += line.length;
    this.#flushing ??= this.#flush();
  }

  /** Waits for queued lines, but not forever. */
  async drain(): Promise<void> {
    if (this.#flushing === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([this.#flushing, new Promise((resolve) => timer = setTimeout(resolve, FLUSH_MS))]);
    clearTimeout(timer);
  }

  async #flush(): Promise<void> {
    // One macrotask later, so that the lines of one event leave in one write and do not delay the event.
    await new Promise((resolve) => setTimeout(resolve, 0));
    while (this.#queue.length > 0) {
      const lines = this.#queue.join("");
      this.#queue = [];
      try {
        await this.#writeAll(this.#encoder.encode(lines));
      } catch {
        // stderr is closed, so nobody can read the log. The server goes on without it.
      }
      this.#queuedChars -= lines.length;
      if (this.#dropped > 0) {
        const dropped = this.#dropped;
        this.#dropped = 0;
        this.write(`${dropped} log lines were dropped because nobody read them\n`);
      }
    }
    // In the same turn as the check of the queue: a line that comes a moment later must see that flushing has ended.
    this.#flushing = null;
  }

  async #writeAll(bytes: Uint8Array): Promise<void> {
    let written = 0;
    while (written < bytes.length) written += await this.#write(bytes.subarray(written));
  }
}
