/**
 * Those who could read a session's processes, as far as can be seen from here: a connection may stand for minutes while
 * nobody is at its other end any more.
 */

export interface Audience {
  /** When somebody was there for certain. By the same clock as the processes'. */
  readonly heardAtMs: number;
  /** Asks for a sign of life, and calls back once with the next one. Returns what takes that back. */
  ask(onHeard: () => void): () => void;
}

/** Somebody whose end would be seen at once. */
export const PRESENT: Audience = { heardAtMs: Infinity, ask: () => () => {} };
