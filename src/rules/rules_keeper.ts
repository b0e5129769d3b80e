/**
 * The rules in force. `current` looks at the files whenever it is asked, so a decision never rests on rules that were
 * replaced before it; an unchanged set costs a look at each file (a few microseconds). When files are broken, the last
 * good set stays in force and the problem is reported once.
 *
 * It looks on demand instead of watching. So no event can be late or lost, on any filesystem, and there is nothing to
 * close.
 */

import { RuleFileError } from "./language/failure.ts";
import { UNSETTLED_MS } from "./limits.ts";
import { loadRules, type RuleFile } from "./load.ts";
import type { RulePlace } from "./places.ts";
import type { ProgramPlace } from "./policy/host_programs.ts";
import type { RuleSet } from "./policy/rule_set.ts";
import { findRuleFiles, fingerprint, type FoundFiles, readRuleFiles, RuleReadError } from "./rule_files.ts";

export interface KeeperOptions {
  readonly places: readonly RulePlace[];
  /** For examples in the files that name programs by a path. */
  readonly programs: ProgramPlace;
  /** Another set is in force. */
  readonly onReload?: (rules: RuleSet) => void;
  /** The files cannot be used; the set before stays. */
  readonly onProblem?: (problem: RuleFileError | RuleReadError) => void;
  /** Milliseconds since 1970, as files have them. */
  readonly now?: () => number;
}

export class RulesKeeper {
  readonly #options: KeeperOptions;
  #rules: RuleSet;
  #files: readonly RuleFile[];
  #skipped: readonly string[];
  #seen: string;
  #isSettled = false;
  #isKept = false;
  #problem: RuleFileError | RuleReadError | null = null;

  /** Reads the files for the first time. Throws when they cannot be used: there is no good set to keep yet. */
  constructor(options: KeeperOptions) {
    this.#options = options;
    const found = findRuleFiles(options.places);
    const seen = this.#look(found);
    this.#files = readRuleFiles(found.paths);
    this.#rules = loadRules(this.#files, options.programs);
    this.#skipped = found.skipped;
    this.#seen = seen;
  }

  /** The rules as the files are now; the last good ones while they are broken. */
  get current(): RuleSet {
    this.#refresh();
    return this.#rules;
  }

  /** Looks at the files for the last time: what is written to them later does not count. Whether this is new. */
  keep(): boolean {
    if (this.#isKept) return false;
    this.#refresh();
    return this.#isKept = true;
  }

  /** What is wrong with the files as they are now; null when the rules in force are theirs. */
  get problem(): RuleFileError | RuleReadError | null {
    this.#refresh();
    return this.#problem;
  }

  /** Files of the right name that are not read, because they are links or not regular files. */
  get skipped(): readonly string[] {
    this.#refresh();
    return this.#skipped;
  }

  #refresh(): void {
    if (this.#isKept) return;
    try {
      const found = findRuleFiles(this.#options.places);
      const wasSettled = this.#isSettled;
      const seen = this.#look(found);
      if (seen === this.#seen && wasSettled) return;
      this.#seen = seen;
      this.#skipped = found.skipped;
      this.#reload(readRuleFiles(found.paths));
    } catch (error) {
      if (!(error instanceof RuleFileError) && !(error instanceof RuleReadError)) throw error;
      // What cannot be read may be readable again without having changed: the next look must not take it for known.
      if (error instanceof RuleReadError) this.#isSettled = false;
      const isNew = this.#problem?.message !== error.message || this.#problem.name !== error.name;
      this.#problem = error;
      if (isNew) this.#options.onProblem?.(error);
    }
  }

  #reload(files: readonly RuleFile[]): void {
    const isSame = files.length === this.#files.length &&
      files.every(({ path, text }, index) => path === this.#files[index]!.path && text === this.#files[index]!.text);
    if (isSame) {
      this.#problem = null;
      return;
    }
    const rules = loadRules(files, this.#options.programs);
    this.#files = files;
    this.#rules = rules;
    this.#problem = null;
    this.#options.onReload?.(rules);
  }

  /** Looks before reading: what changes meanwhile is seen by the next look. */
  #look(found: FoundFiles): string {
    const { text, newestMs } = fingerprint(found);
    this.#isSettled = (this.#options.now ?? Date.now)() - newestMs > UNSETTLED_MS;
    return text;
  }
}
