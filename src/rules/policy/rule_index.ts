/**
 * Finds the rules that may match a command without looking at the others: by its first word, then by the next ones as
 * long as many rules are left. A thousand rules for `git push` cost a command no more than the few that it could match.
 */

import type { PrefixRule } from "./rule.ts";

interface IndexedRule {
  readonly rule: PrefixRule;
  /** Its place among all rules: matches are listed in the order of definition. */
  readonly order: number;
  /** From the second word on. Long lists of alternatives are sets. */
  readonly rest: readonly WordTest[];
}

type WordTest = string | readonly string[] | ReadonlySet<string>;

/** Rules that agree so far: few enough to look at each, or told apart by their next word. */
type IndexNode =
  | { readonly few: readonly IndexedRule[] }
  | { readonly few: null; readonly ended: readonly IndexedRule[]; readonly byWord: ReadonlyMap<string, IndexNode> };

/** Up to this many rules are looked at one by one: that is as fast as another step down. */
const FEW = 8;
/** From this many alternatives on, a set is faster than a look at each. */
const SET_FROM = 8;
/**
 * A rule has a place under each alternative of one word, and below each of them under each alternative of the next
 * word. The number of all these places is bounded. Beyond it, rules are looked at one by one.
 */
const MAX_PLACES_PER_RULE = 8;
const MIN_PLACES = 4096;

export class RuleIndex {
  readonly #programs = new Map<string, { readonly all: readonly IndexedRule[]; readonly node: IndexNode }>();
  #placesLeft: number;

  constructor(rules: readonly PrefixRule[]) {
    this.#placesLeft = Math.max(MIN_PLACES, MAX_PLACES_PER_RULE * rules.length);
    const byProgram = new Map<string, IndexedRule[]>();
    rules.forEach((rule, order) => {
      addTo(byProgram, rule.first, { rule, order, rest: rule.rest.map(wordTest) });
    });
    for (const [program, all] of byProgram) this.#programs.set(program, { all, node: this.#node(all, 0) });
  }

  /** A node for rules that agree on the words before `at`, counted from the second. */
  #node(rules: readonly IndexedRule[], at: number): IndexNode {
    const places = rules.reduce((sum, { rule }) => sum + (rule.rest[at]?.length ?? 0), 0);
    if (rules.length <= FEW || places > this.#placesLeft) return { few: rules };
    this.#placesLeft -= places;
    const byWord = new Map<string, IndexedRule[]>();
    for (const indexed of rules) for (const word of new Set(indexed.rule.rest[at])) addTo(byWord, word, indexed);
    const nodes = new Map<string, IndexNode>();
    for (const [word, below] of byWord) nodes.set(word, this.#node(below, at + 1));
    return { few: null, ended: rules.filter(({ rest }) => rest.length === at), byWord: nodes };
  }

  /** The rules whose first word is `program` and whose others begin the arguments, in the order of definition. */
  matching(program: string, command: readonly string[]): PrefixRule[] {
    let node = this.#programs.get(program)?.node;
    const found: IndexedRule[] = [];
    let groups = 0;
    for (let at = 0; node !== undefined; at++) {
      const candidates = node.few ?? node.ended;
      const before = found.length;
      for (const indexed of candidates) if (matchesFrom(indexed, command, at)) found.push(indexed);
      if (found.length > before) groups++;
      const word = command[at + 1];
      node = node.few !== null || word === undefined ? undefined : node.byWord.get(word);
    }
    if (groups > 1) found.sort((a, b) => a.order - b.order);
    return found.map(({ rule }) => rule);
  }

  /** All rules about a program. */
  about(program: string): PrefixRule[] {
    return (this.#programs.get(program)?.all ?? []).map(({ rule }) => rule);
  }
}

function addTo(map: Map<string, IndexedRule[]>, key: string, indexed: IndexedRule): void {
  const rules = map.get(key);
  if (rules === undefined) map.set(key, [indexed]);
  else rules.push(indexed);
}

function wordTest(words: readonly string[]): WordTest {
  if (words.length === 1) return words[0]!;
  return words.length < SET_FROM ? words : new Set(words);
}

/** Compares the words from `at` on; those before were found by the index. */
function matchesFrom({ rest }: IndexedRule, command: readonly string[], at: number): boolean {
  if (command.length <= rest.length) return false;
  for (; at < rest.length; at++) {
    const test = rest[at]!;
    const word = command[at + 1]!;
    if (typeof test === "string" ? test !== word : !includes(test, word)) return false;
  }
  return true;
}

function includes(words: readonly string[] | ReadonlySet<string>, word: string): boolean {
  return words instanceof Set ? words.has(word) : (words as readonly string[]).includes(word);
}
