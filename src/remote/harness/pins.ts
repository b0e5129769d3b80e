/**
 * Which key belongs to which executor: the client remembers this, and no rendezvous can change it.
 *
 * The registry hands out the executor's key. Its operator could hand out another one and read everything; a client that
 * remembers the key notices. The first time there is nothing to compare with, unless the user gives the fingerprint.
 */

/** Where fingerprints are kept. `name` is rendezvous and executor together. */
export interface PinStore {
  /** Null: never seen. */
  get(name: string): Promise<string | null>;
  /** Called once for a new name, after the executor has proven that the key is its own. */
  set(name: string, fingerprint: string): Promise<void>;
}

/** The executor has another key than before: it was set up again, or someone intercepts the connection. */
export class ExecutorKeyChanged extends Error {
  override readonly name = "ExecutorKeyChanged";
  readonly expected: string;
  readonly found: string;

  constructor(executor: string, expected: string, found: string) {
    super(
      `the key of executor ${executor} has changed: expected ${expected}, found ${found}. Either it was set up anew, or ` +
        `someone intercepts the connection. Run \`exec-server doctor\` on its machine: if that shows the new ` +
        `fingerprint, remove the old one here and connect again`,
    );
    this.expected = expected;
    this.found = found;
  }
}

export function pinName(rendezvous: string, executor: string): string {
  return `${new URL(rendezvous).host} ${executor}`;
}

/** Remembers only while the program runs. */
export function memoryPins(): PinStore {
  const pins = new Map<string, string>();
  return {
    get: (name) => Promise.resolve(pins.get(name) ?? null),
    set: (name, fingerprint) => Promise.resolve(void pins.set(name, fingerprint)),
  };
}
