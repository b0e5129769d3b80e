/**
 * Which functions, classes and values are exported for nobody, found by following import lines to what they name.
 *
 * Types are not reported: one that a signature names may be exported for whoever wants to write it down. Whoever imports
 * the type of a class or of a schema uses that, too. A re-export is an export like any other: whoever imports it uses
 * what it passes on.
 */

import { type SourceFile, targetOf } from "./source_files.ts";

/** An export, as `FILE NAME`. */
type Key = string;

/** A whole module is used by what names a part that cannot be told here. */
const ALL = "*";

interface Name {
  readonly file: string;
  readonly name: string;
}

interface Export {
  /** Whose it is, if it is only passed on. */
  readonly origin: Name | null;
  readonly isType: boolean;
}

interface Module {
  readonly exports: Map<string, Export>;
  /** Files all of whose exports this one has, too. */
  readonly stars: string[];
}

/** As `FILE NAME`, sorted. What a door exports is for everybody. */
export function unusedExports(files: readonly SourceFile[], doors: readonly string[]): string[] {
  const modules = new Map(files.map((source) => [source.file, moduleOf(source)]));
  const used = new Set<Key>();
  const use = (file: string, name: string): void => {
    const key = `${file} ${name}`;
    if (used.has(key)) return;
    used.add(key);
    const module = modules.get(file);
    if (module === undefined) return;
    const passedOn = name === ALL ? [...module.exports.values()] : [module.exports.get(name)];
    for (const found of passedOn) if (found?.origin) use(found.origin.file, found.origin.name);
    // A name of its own hides the same name behind a star.
    if (!module.exports.has(name)) { for (const star of module.stars) use(star, name); }
  };
  for (const source of files) for (const { file, name } of namesUsedBy(source)) use(file, name);
  for (const door of doors) use(door, ALL);
  return [...modules].flatMap(([file, { exports }]) =>
    [...exports].filter(([name, { isType }]) => !isType && !used.has(`${file} ${name}`) && !used.has(`${file} ${ALL}`))
      .map(([name]) => `${file} ${name}`)
  ).sort();
}

/** Of these, what its own file does not use either: nothing would change without it. */
export function deadExports(files: readonly SourceFile[], doors: readonly string[]): string[] {
  const texts = new Map(files.map(({ file, text }) => [file, withoutComments(text)]));
  return unusedExports(files, doors).filter((key) => {
    const [file, name] = key.split(" ");
    return texts.get(file!)!.match(/[\w$]+/g)!.filter((word) => word === name).length === 1;
  });
}

function moduleOf({ file, text }: SourceFile): Module {
  const exports: Module["exports"] = new Map();
  for (const [, name] of text.matchAll(/^export (?:abstract )?(?:async )?(?:const|let|function\*?|class) ([\w$]+)/gm)) {
    exports.set(name!, { origin: null, isType: false });
  }
  for (const [, types, list, specifier] of text.matchAll(/^export (type )?\{([^}]*)\}(?: from "(\.[^"]+)")?/gm)) {
    for (const { name, as, isType } of namesOf(list!)) {
      const origin = specifier === undefined ? null : { file: targetOf(file, specifier), name };
      exports.set(as, { origin, isType: isType || types !== undefined });
    }
  }
  const stars = Array.from(
    text.matchAll(/^export (?:type )?\* from "(\.[^"]+)"/gm),
    ([, from]) => targetOf(file, from!),
  );
  return { exports, stars };
}

/** What the import lines of a file name, and what it takes from modules that it has as a whole. */
function* namesUsedBy({ file, text }: SourceFile): Generator<Name> {
  for (const [, list, specifier] of text.matchAll(/^import (?:type )?\{([^}]*)\} from "(\.[^"]+)"/gm)) {
    for (const { name } of namesOf(list!)) yield { file: targetOf(file, specifier!), name };
  }
  for (const [line, alias, specifier] of text.matchAll(/^import (?:type )?\* as ([\w$]+) from "(\.[^"]+)"/gm)) {
    const rest = text.replace(line, "");
    const target = targetOf(file, specifier!);
    for (const [, name] of rest.matchAll(new RegExp(`\\b${alias}\\.([\\w$]+)`, "g"))) {
      yield { file: target, name: name! };
    }
    if (new RegExp(`\\b${alias}\\b(?!\\.)`).test(withoutComments(rest))) yield { file: target, name: ALL };
  }
  const words = new Set(withoutComments(text).match(/[\w$]+/g));
  for (const [, specifier] of text.matchAll(/\bimport\("(\.[^"]+)"\)/g)) {
    // Whatever holds the module, the file that loads it has to write the name of the member.
    for (const name of words) yield { file: targetOf(file, specifier!), name };
  }
}

/** `a, type B, c as d` */
function namesOf(list: string): { name: string; as: string; isType: boolean }[] {
  return withoutComments(list).split(",").map((entry) => entry.trim()).filter(Boolean).map((entry) => {
    const [, type, name, as] = /^(type )?([\w$]+)(?: as ([\w$]+))?$/.exec(entry)!;
    return { name: name!, as: as ?? name!, isType: type !== undefined };
  });
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(?<![:"'`])\/\/.*$/gm, "");
}
