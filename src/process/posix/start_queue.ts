/**
 * In which order, and how many at a time, children are started: first come, first served, normally one by one.
 *
 * One by one, because a child inherits its mark from this whole process (`os/children/process_mark.ts`), and two at a
 * time would inherit one that says "one of these two". That is corrected within a millisecond, and until then matters
 * only to what the child has already forked. A long queue is worth that: starts then overlap, and the rate nearly
 * doubles.
 */

/**
 * How many at a time when many wait. Each occupies a thread of the runtime's pool of about 32 for as long as exec
 * takes, which is long on a slow network mount. On two cores more than three were no faster.
 */
const MAX_STARTS = 4;

/** This many may wait for starts one by one, which take about a millisecond each. */
const PATIENCE = 8;

export class StartQueue {
  #underWay = 0;
  readonly #waiting: Array<() => void> = [];
  readonly #uponEmpty: Array<() => void> = [];

  /** Resolves when it is the caller's turn, with the function that ends it. */
  async enter(): Promise<() => void> {
    const turn = Promise.withResolvers<void>();
    this.#waiting.push(turn.resolve);
    this.#admit();
    await turn.promise;
    return () => this.#leave();
  }

  /** Resolves once nobody is starting or waiting to. */
  async empty(): Promise<void> {
    if (this.#underWay > 0) await new Promise<void>((resolve) => this.#uponEmpty.push(resolve));
  }

  #leave(): void {
    this.#underWay--;
    this.#admit();
    if (this.#underWay === 0) this.#uponEmpty.splice(0).forEach((resolve) => resolve());
  }

  #admit(): void {
    while (this.#waiting.length > 0 && this.#hasRoom()) {
      this.#underWay++;
      this.#waiting.shift()!();
    }
  }

  #hasRoom(): boolean {
    return this.#underWay === 0 || (this.#underWay < MAX_STARTS && this.#waiting.length > PATIENCE);
  }
}
