/** Whether a box is connected, for users who want to show it. */

/**
 * The connection as it is now.
 *
 * ```ts
 * box.onConnectionChange((state: ConnectionState) => {
 *   if (state.state === "reconnecting") console.log(`attempt ${state.attempt}: ${state.reason}`);
 * });
 * ```
 */
export type ConnectionState =
  | { readonly state: "connected" }
  /** The connection is lost. Requests wait and streams stand still until it is back. */
  | {
    readonly state: "reconnecting";
    /** Why it was lost, or why the last attempt failed. */
    readonly reason: string;
    /** Counted from 1. */
    readonly attempt: number;
  }
  /** It is over. With an error it was not closed on purpose. */
  | { readonly state: "closed"; readonly error: Error | null };

/** Holds the state and reports its changes. */
export class StateCell {
  #state: ConnectionState = { state: "connected" };
  readonly #listeners = new Set<(state: ConnectionState) => void>();

  /** The state as it is now. */
  get current(): ConnectionState {
    return this.#state;
  }

  /** An error of a listener does not affect the others: it goes to the runtime. */
  set(state: ConnectionState): void {
    this.#state = state;
    for (const listener of [...this.#listeners]) {
      try {
        listener(state);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  /** Calls the listener with every change; returns the function that stops it. */
  listen(listener: (state: ConnectionState) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
