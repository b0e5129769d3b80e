/** Another thread that keeps exchanging two names, so that a path leads here and there by turns. */

const MUST_PAUSE = 0;
const IS_PAUSED = 1;

export class LinkSwapper {
  readonly #control = new Int32Array(new SharedArrayBuffer(8));
  readonly #worker = new Worker(new URL("../fixtures/link_swapper.ts", import.meta.url), { type: "module" });

  /** Begins paused. */
  constructor(one: string, other: string) {
    Atomics.store(this.#control, MUST_PAUSE, 1);
    this.#worker.postMessage({ one, other, control: this.#control.buffer });
  }

  resume(): void {
    Atomics.store(this.#control, MUST_PAUSE, 0);
    Atomics.notify(this.#control, MUST_PAUSE);
  }

  /** Resolves when the names stay where they are. */
  async pause(): Promise<void> {
    Atomics.store(this.#control, MUST_PAUSE, 1);
    while (Atomics.load(this.#control, IS_PAUSED) === 0) await Atomics.waitAsync(this.#control, IS_PAUSED, 0).value;
  }

  end(): void {
    this.#worker.terminate();
  }
}
