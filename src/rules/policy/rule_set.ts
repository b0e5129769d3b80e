/** All rules of all files, ready to decide. Made once, never changed: a change of a file makes another set. */

import { baseName, programPath, type ProgramPlace } from "./host_programs.ts";
import type { HostExecutable, NetworkRule, PrefixRule } from "./rule.ts";
import { RuleIndex } from "./rule_index.ts";

/** A rule that matches a command. */
export interface RuleMatch {
  readonly rule: PrefixRule;
  /** The command's own words, as many as the pattern has. */
  readonly matchedPrefix: readonly string[];
  /** The absolute path of the program, where the rule names it and the command gave a path. */
  readonly resolvedProgram: string | null;
}

export interface RuleSetParts {
  readonly files: readonly string[];
  readonly rules: readonly PrefixRule[];
  readonly networkRules: readonly NetworkRule[];
  readonly hostExecutables: ReadonlyMap<string, HostExecutable>;
}

export class RuleSet {
  readonly files: readonly string[];
  readonly rules: readonly PrefixRule[];
  /** Listed for people. Nothing here enforces them. */
  readonly networkRules: readonly NetworkRule[];
  readonly hostExecutables: ReadonlyMap<string, HostExecutable>;
  readonly index: RuleIndex;

  constructor(parts: RuleSetParts) {
    this.files = parts.files;
    this.rules = parts.rules;
    this.networkRules = parts.networkRules;
    this.hostExecutables = parts.hostExecutables;
    this.index = new RuleIndex(parts.rules);
  }

  static empty(): RuleSet {
    return new RuleSet({ files: [], rules: [], networkRules: [], hostExecutables: new Map() });
  }

  /**
   * Every rule that matches, in the order of definition. With a place: if no rule matches the command as it is written,
   * its program is looked up by its name, unless `host_executable` says that the name belongs to other paths.
   */
  matches(command: readonly string[], place: ProgramPlace | null): RuleMatch[] {
    const program = command[0];
    if (program === undefined) return [];
    const exact = this.index.matching(program, command);
    if (exact.length > 0) return exact.map((rule) => match(rule, command, null));
    if (place === null) return [];
    const resolved = this.resolve(program, place);
    if (resolved === null || !resolved.isListed) return [];
    const named = [resolved.name, ...command.slice(1)];
    return this.index.matching(resolved.name, named).map((rule) => match(rule, named, resolved.path));
  }

  /** What a first word stands for on this machine; null when it cannot be a program. */
  resolve(program: string, place: ProgramPlace): { path: string; name: string; isListed: boolean } | null {
    const path = programPath(program, place);
    if (path === null) return null;
    const name = baseName(path);
    const executable = this.hostExecutables.get(name);
    return { path, name, isListed: executable === undefined || executable.paths.includes(path) };
  }
}

function match(rule: PrefixRule, command: readonly string[], resolvedProgram: string | null): RuleMatch {
  return { rule, matchedPrefix: command.slice(0, rule.rest.length + 1), resolvedProgram };
}
