/**
 * Flags described by a table, read from argv and from the environment: flag, else variable, else default.
 *
 * Owns the kinds of values and the text of every error. A variable follows the same rules as its flag, and errors name
 * the one that was used. The command decides what the values mean together. `flag_words.ts` splits argv.
 */

import { quoted, usageError } from "./cli_error.ts";
import { type FlagWord, type Grammar, isNegatable, readWords } from "./flag_words.ts";
import { nearestWord } from "../nearest_word.ts";

interface Described {
  /** The heading it stands under in the help. */
  readonly section: string;
  readonly help: string;
  /** The letter it may be written as, with one dash. */
  readonly short?: string;
  /** False for a flag that makes sense only on one command line. */
  readonly hasVariable?: false;
}

interface Valued extends Described {
  /** What the help shows as the default if there is no default value. */
  readonly whenAbsent?: string;
}

/** Such as `--help`: takes precedence over every other word, and has no variable. */
export interface ActionFlag extends Described {
  readonly kind: "action";
  readonly short: string;
}

/** On or off. One that is on by default is switched off by `--no-NAME`. */
export interface SwitchFlag extends Described {
  readonly kind: "switch";
  readonly default: boolean;
}

export interface TextFlag extends Valued {
  readonly kind: "text";
  readonly placeholder: string;
  readonly default: string | null;
}

/** May be written several times. Values are separated by commas, unless they are whole. */
export interface ListFlag extends Valued {
  readonly kind: "list";
  /** Each word is one value, including its commas. */
  readonly isWhole?: true;
  readonly placeholder: string;
  readonly default: readonly string[];
}

export interface ChoiceFlag extends Valued {
  readonly kind: "choice";
  readonly choices: readonly string[];
  readonly default: string | null;
}

export interface IntegerFlag extends Valued {
  readonly kind: "integer";
  readonly min: number;
  readonly max: number;
  readonly default: number | null;
}

export type FlagSpec = ActionFlag | SwitchFlag | TextFlag | ListFlag | ChoiceFlag | IntegerFlag;

/** Flag name without dashes -> what it is, in the order the help shows. */
export type FlagTable = Readonly<Record<string, FlagSpec>>;

export type Environment = Readonly<Record<string, string | undefined>>;

type Absent<Spec> = Spec extends { default: null } ? null : never;
type FlagValue<Spec> = Spec extends { kind: "switch" } ? boolean
  : Spec extends { kind: "list" } ? readonly string[]
  : Spec extends { kind: "integer" } ? number | Absent<Spec>
  : Spec extends { kind: "choice"; choices: readonly (infer Choice)[] } ? Choice | Absent<Spec>
  : Spec extends { kind: "text" } ? string | Absent<Spec>
  : never;

/** The names of a table's flags such as `--help`. */
export type ActionName<Table extends FlagTable> = {
  [Name in keyof Table]: Table[Name] extends { kind: "action" } ? Name : never;
}[keyof Table];

export type FlagValues<Table extends FlagTable> = {
  readonly [Name in Exclude<keyof Table, ActionName<Table>>]: FlagValue<Table[Name]>;
};

/** For each value that is not a default, what the user wrote it as: `--listen` or `EXEC_SERVER_LISTEN`. */
export type GivenAs<Table extends FlagTable> = { readonly [Name in keyof Table]?: string };

export type ParsedFlags<Table extends FlagTable> =
  | { readonly type: "action"; readonly action: ActionName<Table> }
  | {
    readonly type: "values";
    readonly values: FlagValues<Table>;
    readonly givenAs: GivenAs<Table>;
    readonly positionals: readonly string[];
    /** The name after `@`, if the grammar has places; else null. */
    readonly place: string | null;
  };

/** The variable that is used if a flag is not given; null if there is none. */
export function environmentVariable(name: string, spec: FlagSpec): string | null {
  if (spec.kind === "action" || spec.hasVariable === false) return null;
  return `EXEC_SERVER_${name.toUpperCase().replaceAll("-", "_")}`;
}

/** Reads argv and the environment by the table; throws a usage error (exit status 2) at the first fault. */
export function parseFlags<const Table extends FlagTable>(
  table: Table,
  argv: readonly string[],
  env: Environment,
  grammar: Grammar = {},
): ParsedFlags<Table> {
  const words = readWords(table, argv, grammar);
  const action = words.find((word) => word.type === "flag" && word.isAction && word.value === undefined);
  if (action?.type === "flag") return { type: "action", action: action.name as ActionName<Table> };

  const values: Record<string, unknown> = {};
  const givenAs: Record<string, string> = {};
  const positionals: string[] = [];
  let place: string | null = null;
  for (const word of words) {
    if (word.type === "positional") {
      positionals.push(word.value);
      continue;
    }
    if (word.type === "place") {
      if (place !== null) {
        throw usageError(`only one place may be given: ${quoted(`@${place}`)} or ${quoted(`@${word.value}`)}`);
      }
      place = word.value;
      continue;
    }
    if (word.name === null) throw unknownFlag(table, word.written);
    const spec = table[word.name]!;
    const isRepeated = givenAs[word.name] !== undefined;
    if (isRepeated && spec.kind !== "list") throw usageError(`${word.written} is given more than once`);
    givenAs[word.name] = word.written;
    const value = flagValue(spec, word);
    values[word.name] = isRepeated ? [...values[word.name] as string[], ...value as string[]] : value;
  }

  for (const [name, spec] of Object.entries(table)) {
    if (spec.kind === "action" || givenAs[name] !== undefined) continue;
    const variable = environmentVariable(name, spec);
    const text = variable === null ? undefined : env[variable];
    if (variable === null || text === undefined) {
      values[name] = spec.default;
      continue;
    }
    givenAs[name] = variable;
    values[name] = decode(spec, text, variable);
  }
  return {
    type: "values",
    values: values as FlagValues<Table>,
    givenAs: givenAs as GivenAs<Table>,
    positionals,
    place,
  };
}

function flagValue(spec: FlagSpec, word: FlagWord): unknown {
  if (spec.kind === "action" || spec.kind === "switch") {
    if (word.value !== undefined) throw usageError(`${word.written} takes no value`);
    return !word.isNegated;
  }
  if (word.value === undefined) throw usageError(`${word.written} needs a value`);
  // `--listen --log json` forgot the URL. A negative number is not a flag: the range check has the better error.
  if (!word.isInline && /^-[^\d]/.test(word.value)) {
    throw usageError(
      `${word.written} needs a value; write one that begins with "-" as ${word.written}=VALUE`,
    );
  }
  return decode(spec, word.value, word.written);
}

/** Converts the text of one value, from a flag or a variable, to the type of its kind. */
function decode(
  spec: Exclude<FlagSpec, ActionFlag>,
  text: string,
  writtenAs: string,
): string | number | boolean | string[] {
  switch (spec.kind) {
    case "switch":
      if (text === "true" || text === "1") return true;
      if (text === "false" || text === "0") return false;
      throw usageError(`${writtenAs} must be true, false, 1 or 0, not ${quoted(text)}`);
    case "text":
      if (text === "") throw usageError(`${writtenAs} must not be empty`);
      return text;
    case "list": {
      if (spec.isWhole === true) return [text];
      const entries = text.split(",").map((entry) => entry.trim());
      if (entries.includes("")) throw usageError(`${writtenAs} must not be empty`);
      return entries;
    }
    case "choice":
      if (spec.choices.includes(text)) return text;
      throw usageError(`${writtenAs} must be ${listed(spec.choices)}, not ${quoted(text)}`);
    case "integer": {
      const value = /^\d+$/.test(text) ? Number(text) : NaN;
      if (value >= spec.min && value <= spec.max) return value;
      throw usageError(
        `${writtenAs} must be a whole number from ${spec.min} to ${spec.max}, not ${quoted(text)}`,
      );
    }
  }
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

function unknownFlag(table: FlagTable, written: string): Error {
  const spellings = Object.entries(table).flatMap(([name, spec]) => isNegatable(spec) ? [name, `no-${name}`] : [name]);
  const nearest = nearestWord(written.replace(/^-+/, ""), spellings);
  return usageError(
    `unknown flag ${quoted(written)}: ${nearest === null ? "see --help" : `did you mean --${nearest}?`}`,
  );
}
