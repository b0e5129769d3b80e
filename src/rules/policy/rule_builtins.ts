/**
 * `prefix_rule`, `host_executable` and `network_rule`: what makes a rule file more than a program. Each checks its
 * arguments and adds to the collection it was made for. The texts of the complaints are the reference's.
 */

import { MAX_RULES } from "../limits.ts";
import { Failure } from "../language/failure.ts";
import { builtin, parameters } from "../language/signature.ts";
import { Builtin, List, type Machine, typeName, type Value } from "../language/values.ts";
import { hostExecutablePath, isBareName } from "./host_programs.ts";
import { normalHost, parseProtocol } from "./network_rules.ts";
import {
  type Decision,
  DECISIONS,
  type HostExecutable,
  type NetworkRule,
  type PatternWord,
  type PrefixRule,
  type RuleExamples,
  type RuleOrigin,
} from "./rule.ts";
import { splitWords } from "./shell_words.ts";

/** What the files of a set have said so far, in their order. */
export interface RuleCollection {
  readonly rules: PrefixRule[];
  readonly networkRules: NetworkRule[];
  /** The last one of a name counts. */
  readonly hostExecutables: Map<string, HostExecutable>;
  readonly examples: RuleExamples[];
}

export function emptyCollection(): RuleCollection {
  return { rules: [], networkRules: [], hostExecutables: new Map(), examples: [] };
}

/** The functions for one file, which add to the collection. */
export function ruleBuiltins(file: string, collection: RuleCollection): Builtin[] {
  const originOf = (machine: Machine): RuleOrigin => ({ file, ...machine.place() });
  return [
    builtin(
      "prefix_rule",
      parameters("pattern: list=", "decision: str?=", "match: list?=", "not_match: list?=", "justification: str?="),
      ([pattern, decision, match, notMatch, justification], machine) => {
        addPrefixRule(collection, originOf(machine), {
          decision: decision === undefined ? "allow" : parseDecision(decision as string),
          justification: parseJustification(justification as string | undefined),
          pattern: parsePattern(pattern as List),
          match: parseExamples(match as List | undefined),
          notMatch: parseExamples(notMatch as List | undefined),
        });
        return null;
      },
    ),
    builtin(
      "host_executable",
      parameters("name: str=", "paths: list="),
      ([name, paths], machine) => {
        const executable = parseHostExecutable(name as string, paths as List);
        collection.hostExecutables.set(executable.name, { ...executable, origin: originOf(machine) });
        return null;
      },
    ),
    builtin(
      "network_rule",
      parameters("host: str=", "protocol: str=", "decision: str=", "justification: str?="),
      ([host, protocol, decision, justification], machine) => {
        checkCount(collection);
        collection.networkRules.push({
          protocol: parseProtocol(protocol as string),
          decision: decision === "deny" ? "forbidden" : parseDecision(decision as string),
          justification: parseJustification(justification as string | undefined),
          host: normalHost(host as string),
          origin: originOf(machine),
        });
        return null;
      },
    ),
  ];
}

interface PrefixRuleArguments {
  readonly pattern: readonly PatternWord[];
  readonly decision: Decision;
  readonly justification: string | null;
  readonly match: readonly (readonly string[])[];
  readonly notMatch: readonly (readonly string[])[];
}

function addPrefixRule(collection: RuleCollection, origin: RuleOrigin, given: PrefixRuleArguments): void {
  const { decision, justification, match, notMatch } = given;
  const [heads, ...rest] = given.pattern;
  const rules = heads!.map((first): PrefixRule => ({ first, rest, decision, justification, origin }));
  for (const rule of rules) {
    checkCount(collection);
    collection.rules.push(rule);
  }
  if (match.length + notMatch.length > 0) collection.examples.push({ rules, match, notMatch });
}

function checkCount({ rules, networkRules }: RuleCollection): void {
  if (rules.length + networkRules.length >= MAX_RULES) {
    throw new Failure(`too many rules: a set may have ${MAX_RULES}, counting each alternative of a first word`);
  }
}

function parseDecision(text: string): Decision {
  const decision = DECISIONS.find((candidate) => candidate === text);
  if (decision === undefined) throw new Failure(`invalid decision: ${text}`);
  return decision;
}

function parseJustification(text: string | undefined): string | null {
  if (text === undefined) return null;
  if (isBlank(text)) throw new Failure("invalid rule: justification cannot be empty");
  return text;
}

/** White space as Unicode has it: the byte order mark, which JavaScript trims, is a character like others. */
function isBlank(text: string): boolean {
  return text.replaceAll("\u0085", " ").replaceAll("\ufeff", "x").trim() === "";
}

function parsePattern({ items }: List): PatternWord[] {
  const words = items.map(parsePatternWord);
  if (words.length === 0) throw new Failure("invalid pattern element: pattern cannot be empty");
  return words;
}

function parsePatternWord(value: Value): PatternWord {
  if (typeof value === "string") return [value];
  if (!(value instanceof List)) {
    throw new Failure(
      `invalid pattern element: pattern element must be a string or list of strings (got ${typeName(value)})`,
    );
  }
  const words = value.items.map((item) => {
    if (typeof item === "string") return item;
    throw new Failure(`invalid pattern element: pattern alternative must be a string (got ${typeName(item)})`);
  });
  if (words.length === 0) throw new Failure("invalid pattern element: pattern alternatives cannot be empty");
  return words;
}

function parseExamples(list: List | undefined): string[][] {
  return list === undefined ? [] : list.items.map(parseExample);
}

function parseExample(value: Value): string[] {
  if (typeof value === "string") {
    const words = splitWords(value);
    if (words === null) throw new Failure("invalid example: example string has invalid shell syntax");
    if (words.length === 0) throw new Failure("invalid example: example cannot be an empty string");
    return words;
  }
  if (!(value instanceof List)) {
    throw new Failure(`invalid example: example must be a string or list of strings (got ${typeName(value)})`);
  }
  const words = value.items.map((item) => {
    if (typeof item === "string") return item;
    throw new Failure(`invalid example: example tokens must be strings (got ${typeName(item)})`);
  });
  if (words.length === 0) throw new Failure("invalid example: example cannot be an empty list");
  return words;
}

function parseHostExecutable(name: string, { items }: List): { name: string; paths: string[] } {
  if (name === "") throw new Failure("invalid rule: host_executable name cannot be empty");
  if (!isBareName(name)) {
    throw new Failure(`invalid rule: host_executable name must be a bare executable name (got ${name})`);
  }
  const paths = items.map((item) => {
    if (typeof item !== "string") {
      throw new Failure(`invalid rule: host_executable paths must be strings (got ${typeName(item)})`);
    }
    const path = hostExecutablePath(item);
    if (path === null) throw new Failure(`invalid rule: host_executable paths must be absolute (got ${item})`);
    if (path.slice(path.lastIndexOf("/") + 1) !== name) {
      throw new Failure(`invalid rule: host_executable path \`${item}\` must have basename \`${name}\``);
    }
    return path;
  });
  return { name, paths: [...new Set(paths)] };
}
