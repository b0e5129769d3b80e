/** A fixed number of places. Callers that find none free wait in line. */
export class Places {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Resolves with a function that gives the place back. Calling it twice does no harm. */
  take(): Promise<() => void> {
    let isTaken = true;
    const leave = () => {
      if (!isTaken) return;
      isTaken = false;
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next(); // The place is handed over, not freed.
    };
    if (this.#free === 0) return new Promise((resolve) => this.#waiting.push(() => resolve(leave)));
    this.#free--;
    return Promise.resolve(leave);
  }
}
