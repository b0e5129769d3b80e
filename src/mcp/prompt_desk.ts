/**
 * The open questions of one command. The command's programs wait here for an answer. A call that can reach the client
 * at the moment asks the questions. Between two calls nobody can, and the questions wait.
 *
 * Knows which questions are open, and reports when the first opens and the last closes. The asker decides how a client
 * is asked.
 */

export type PromptAnswer =
  | { readonly action: "accept"; readonly isRemembered: boolean }
  | { readonly action: "decline" | "cancel" }
  /** Nobody could be asked. The reason is for the denied program's output. */
  | { readonly action: "unavailable"; readonly reason: string };

export interface OpenPrompt {
  readonly id: string;
  readonly message: string;
  /** Aborts when the answer is of no use any more. */
  readonly signal: AbortSignal;
  /** The first answer counts. */
  answer(answer: PromptAnswer): void;
}

/** Asks one question. The asker itself answers the prompt, at some later time. */
export type Asker = (prompt: OpenPrompt) => void;

export interface PromptDeskOptions {
  /** `onOpened` is called before the first question is open, `onClosed` after the last is answered. */
  readonly onOpened: () => void;
  readonly onClosed: () => void;
}

export class PromptDesk {
  readonly #options: PromptDeskOptions;
  readonly #open = new Map<string, OpenPrompt>();
  readonly #unasked = new Set<OpenPrompt>();
  /** Calls that can ask, the latest last. */
  readonly #askers: Asker[] = [];
  #unavailable: string | null = null;
  #opened = Promise.withResolvers<void>();
  #closed = Promise.withResolvers<void>();
  #nextId = 1;

  constructor(options: PromptDeskOptions) {
    this.#options = options;
  }

  /** Resolves with the answer, or `cancel` when the signal aborts. Never rejects. */
  ask(message: string, signal: AbortSignal): Promise<PromptAnswer> {
    if (this.#unavailable !== null) return Promise.resolve({ action: "unavailable", reason: this.#unavailable });
    if (signal.aborted) return Promise.resolve({ action: "cancel" });
    const { promise, resolve } = Promise.withResolvers<PromptAnswer>();
    const id = `prompt-${this.#nextId++}`;
    const prompt: OpenPrompt = {
      id,
      message,
      signal,
      answer: (answer) => {
        if (!this.#open.delete(id)) return;
        this.#unasked.delete(prompt);
        signal.removeEventListener("abort", abandon);
        if (this.#open.size === 0) {
          this.#opened = Promise.withResolvers();
          this.#closed.resolve();
          this.#options.onClosed();
        }
        resolve(answer);
      },
    };
    const abandon = () => prompt.answer({ action: "cancel" });
    signal.addEventListener("abort", abandon, { once: true });
    if (this.#open.size === 0) {
      this.#closed = Promise.withResolvers();
      this.#options.onOpened();
    }
    this.#open.set(id, prompt);
    this.#unasked.add(prompt);
    this.#opened.resolve();
    this.#pass();
    return promise;
  }

  /** Those that wait for an answer. */
  get open(): readonly OpenPrompt[] {
    return [...this.#open.values()];
  }

  /** Resolves when a question is open. */
  whenOpen(): Promise<void> {
    return this.#opened.promise;
  }

  /** Resolves when no question is open. */
  whenClosed(): Promise<void> {
    return this.#open.size === 0 ? Promise.resolve() : this.#closed.promise;
  }

  /**
   * Questions are passed to this asker from now on, also those that wait. The returned function ends that: then they are
   * passed to the one before, if it still can ask.
   */
  attach(asker: Asker): () => void {
    this.#askers.push(asker);
    this.#pass();
    return () => {
      const index = this.#askers.indexOf(asker);
      if (index >= 0) this.#askers.splice(index, 1);
    };
  }

  /** Nobody can be asked, now or later: all questions are answered with the reason. */
  giveUp(reason: string): void {
    this.#unavailable = reason;
    for (const prompt of this.open) prompt.answer({ action: "unavailable", reason });
  }

  #pass(): void {
    const asker = this.#askers.at(-1);
    if (asker === undefined) return;
    for (const prompt of this.#unasked) {
      this.#unasked.delete(prompt);
      asker(prompt);
    }
  }
}
