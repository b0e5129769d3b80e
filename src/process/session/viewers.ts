/**
 * Who looks on at a process besides the client that started it.
 *
 * A viewer is only woken: it reads what is retained at its own pace, and a slow one misses output instead of holding up
 * the process. Costs nothing while nobody looks on.
 */

export interface TerminalSize {
  readonly rows: number;
  readonly cols: number;
}

export interface Viewer {
  /** There is output, or the process has exited or closed. Does not throw. */
  woken(): void;
  /** The size of the terminal has changed. `by` is the party that asked for it. */
  resized(size: TerminalSize, by: unknown): void;
}

export class Viewers {
  readonly #viewers = new Set<Viewer>();

  /** Returns the function that ends it. */
  add(viewer: Viewer): () => void {
    this.#viewers.add(viewer);
    return () => this.#viewers.delete(viewer);
  }

  wake(): void {
    if (this.#viewers.size === 0) return;
    for (const viewer of this.#viewers) viewer.woken();
  }

  resized(size: TerminalSize, by: unknown): void {
    for (const viewer of this.#viewers) viewer.resized(size, by);
  }
}
