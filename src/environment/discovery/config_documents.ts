/**
 * Parsed configuration files. The last few are kept, each for as long as its text stays the same: clients ask for the
 * same files again and again, and parsing one takes a thousand times as long as comparing it. Long texts are parsed one
 * after the other, over all clients.
 */

import { DomainError } from "../../errors.ts";
import { MAX_KEPT_CONFIG_BYTES, SHORT_TEXT_LENGTH } from "../limits.ts";
import type { Pace } from "./answer_room.ts";
import { longSteps } from "./long_steps.ts";
import { measureToml } from "./toml_cost.ts";
import { parseToml, type TomlTable } from "./toml_document.ts";

export interface ConfigDocument {
  readonly table: TomlTable;
  /** What it holds in memory. */
  readonly bytes: number;
}

/** What came of a text. A failure takes as long to find as a table. */
type Outcome = { readonly document: ConfigDocument } | { readonly failure: DomainError };

interface Kept {
  readonly outcome: Outcome;
  readonly where: string;
  readonly bytes: number;
}

/** What is kept beside a text and its table. */
const BYTES_PER_ENTRY = 1024;

export class ConfigDocuments {
  /** By their texts; the one used last is the last. */
  readonly #kept = new Map<string, Kept>();
  #keptBytes = 0;

  /** `where` names the file in a complaint. */
  async parse(text: string, where: string, pace?: Pace): Promise<ConfigDocument> {
    const outcome = this.#find(text, where) ??
      await longSteps.run(pace, text.length <= SHORT_TEXT_LENGTH, async () => {
        // Somebody else may have had the turn, for the same.
        return this.#find(text, where) ?? await this.#parse(text, where, pace);
      });
    if ("failure" in outcome) throw outcome.failure;
    return outcome.document;
  }

  #find(text: string, where: string): Outcome | null {
    const kept = this.#kept.get(text);
    if (kept === undefined || ("failure" in kept.outcome && kept.where !== where)) return null;
    this.#kept.delete(text);
    this.#kept.set(text, kept);
    return kept.outcome;
  }

  async #parse(text: string, where: string, pace?: Pace): Promise<Outcome> {
    // The text is also kept if it is refused.
    let bytes = 2 * text.length;
    let outcome: Outcome;
    try {
      bytes = await measureToml(text, where, pace);
      outcome = { document: { table: await parseToml(text, where), bytes } };
    } catch (failure) {
      if (!(failure instanceof DomainError)) throw failure;
      outcome = { failure };
    }
    this.#keep(text, { outcome, where, bytes });
    return outcome;
  }

  #keep(text: string, kept: Kept): void {
    this.#drop(text);
    this.#kept.set(text, kept);
    this.#keptBytes += kept.bytes + BYTES_PER_ENTRY;
    for (const oldest of this.#kept.keys()) {
      if (this.#keptBytes <= MAX_KEPT_CONFIG_BYTES) return;
      this.#drop(oldest);
    }
  }

  #drop(text: string): void {
    const kept = this.#kept.get(text);
    if (kept === undefined) return;
    this.#keptBytes -= kept.bytes + BYTES_PER_ENTRY;
    this.#kept.delete(text);
  }
}
