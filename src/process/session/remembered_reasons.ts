/** Why ids mean nothing, or nothing any more: a bounded memory, the oldest entry goes first. */

/** Ids are the client's and may be of any length; a longer one is not worth remembering. */
const MAX_ID_CHARACTERS = 256;

export class RememberedReasons {
  readonly #capacity: number;
  readonly #reasons = new Map<string, string>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  add(id: string, reason: string): void {
    if (id.length > MAX_ID_CHARACTERS) return;
    this.#reasons.delete(id);
    this.#reasons.set(id, reason);
    if (this.#reasons.size <= this.#capacity) return;
    const [oldest] = this.#reasons.keys();
    this.#reasons.delete(oldest!);
  }

  /** The id means something again. */
  remove(id: string): void {
    this.#reasons.delete(id);
  }

  get(id: string): string | null {
    return this.#reasons.get(id) ?? null;
  }
}
