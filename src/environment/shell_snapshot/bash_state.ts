/**
 * The state of a bash: how it is written, read, and restored in a fresh shell.
 *
 * Everything a login profile can leave behind that a later command can see: variables, functions, aliases, options,
 * completions, disabled builtins, limits, the umask and the working directory. Traps, jobs, descriptors, arguments and
 * terminal settings are recorded but not restored: they belong to one shell, and a profile that has any of them is run
 * instead.
 */

import { shellQuote } from "../../shell_quote.ts";
import { decodeUtf8 } from "../local_files.ts";

export interface BashState {
  /** Commands, one for each option. */
  readonly setOptions: readonly string[];
  readonly cwd: string;
  readonly umask: string;
  /** Lines of `ulimit -a`. */
  readonly softLimits: readonly string[];
  readonly hardLimits: readonly string[];
  /** Commands, one for each option. */
  readonly shopts: readonly string[];
  readonly aliases: string;
  readonly traps: string;
  /** Commands, one for each builtin that is switched off. */
  readonly disabled: readonly string[];
  readonly completions: string;
  /** Commands that give functions their attributes, one for each. */
  readonly functionNames: readonly string[];
  readonly functions: string;
  /** Commands that declare variables, by name. */
  readonly variables: ReadonlyMap<string, string>;
  /** Attributes of the shell's own variables, whose values are not part of the state. */
  readonly ownAttributes: ReadonlyMap<string, string>;
  /** What belongs to the one shell: arguments, directories to go back to, jobs, descriptors, terminal settings. */
  readonly surroundings: string;
}

/** What every bash has of its own, or what differs from one moment to the next. */
const OWN_VARIABLES = new Set(
  ("_ BASH BASHOPTS BASHPID BASH_ALIASES BASH_ARGC BASH_ARGV BASH_ARGV0 BASH_CMDS BASH_COMMAND BASH_EXECUTION_STRING " +
    "BASH_LINENO BASH_LOADABLES_PATH BASH_MONOSECONDS BASH_SOURCE BASH_SUBSHELL BASH_TRAPSIG COLUMNS COMP_WORDBREAKS " +
    "DIRSTACK EPOCHREALTIME EPOCHSECONDS FUNCNAME GROUPS HISTCMD LINENO LINES OPTERR OPTIND PIPESTATUS PPID PWD " +
    "RANDOM SECONDS SHELLOPTS SHLVL SRANDOM").split(" "),
);

/** Every name of ours in a shell begins like this. */
const OWN_PREFIX = "__exec_server_";

/** In this order, each followed by a NUL. `builtin` makes sure that functions of a profile do not interfere. */
const SECTIONS = [
  // First, and then without the options that end a shell after a failed command.
  "set +o; \\builtin set +eu",
  "pwd",
  "umask",
  "ulimit -aS",
  "ulimit -aH",
  "shopt -p",
  "alias -p",
  "trap -p",
  "enable -n",
  "complete -p",
  "declare -F",
  "declare -f",
];

/** Where the system has no `/proc` the pattern stays as it is, and descriptors are not compared. */
const SURROUNDINGS = [
  `\\builtin printf '%q ' "$0" "$@" "\${#DIRSTACK[@]}"`,
  "\\builtin jobs -pr",
  "\\builtin set +f",
  "\\builtin command -p readlink /proc/$$/fd/*",
  "if [[ -t 0 ]]; then \\builtin command -p stty -g; fi",
];

/** Marks where a state begins and ends in the output of a shell that may print other things too. */
function marks(nonce: string): { begin: string; end: string } {
  return { begin: `${nonce}:begin`, end: `${nonce}:end` };
}

/** A command that writes the state of the shell that runs it. */
export function dumpScript(nonce: string): string {
  const { begin, end } = marks(nonce);
  const name = `${OWN_PREFIX}name`;
  return [
    `\\builtin printf '\\0%s\\0' ${begin}`,
    ...SECTIONS.map((section) => `\\builtin ${section}; \\builtin printf '\\0'`),
    // Words are split below, whatever a profile has made of it; the first word on a variable counts.
    `\\builtin declare -p IFS; \\builtin printf '\\0'; IFS=$' \\t\\n'`,
    `for ${name} in $(\\builtin compgen -v); do \\builtin declare -p "$${name}"; \\builtin printf '\\0'; done`,
    ...SURROUNDINGS,
    `\\builtin printf '\\0%s\\0' ${end}`,
  ].join("\n");
}

/** What stands behind a whole state in the output of a shell. */
export function endOfState(nonce: string): string {
  return `\0${marks(nonce).end}\0`;
}

/** Null when the output does not contain a whole state. Anything else in it does not matter. */
export function parseState(output: Uint8Array, nonce: string): BashState | null {
  const begin = new TextEncoder().encode(`\0${marks(nonce).begin}\0`);
  const start = indexOfBytes(output, begin, 0);
  const stop = indexOfBytes(output, new TextEncoder().encode(endOfState(nonce)), start);
  const text = start === -1 || stop === -1 ? null : decodeUtf8(output.subarray(start + begin.length, stop));
  if (text === null) return null;
  const [setOptions, cwd, umask, softLimits, hardLimits, shopts, aliases, traps, ...behindTraps] = text.split("\0");
  const [disabled, completions, names, functions, ...variables] = behindTraps;
  const surroundings = variables.pop();
  if (functions === undefined || surroundings === undefined) return null;
  return {
    setOptions: lines(setOptions),
    cwd: (cwd ?? "").replace(/\n$/, ""),
    umask: (umask ?? "").trim(),
    softLimits: limits(softLimits),
    hardLimits: limits(hardLimits),
    shopts: lines(shopts),
    aliases: aliases ?? "",
    traps: traps ?? "",
    disabled: lines(disabled),
    completions: completions ?? "",
    functionNames: lines(names),
    functions,
    ...parseVariables(variables),
    surroundings,
  };
}

/** Without the limit on file locks: kernels ignore it, and it may be used to mark processes. */
function limits(text: string | undefined): string[] {
  return lines(text).filter((line) => !line.includes("(-x)"));
}

function indexOfBytes(bytes: Uint8Array, wanted: Uint8Array, from: number): number {
  if (from === -1) return -1;
  for (let at = bytes.indexOf(wanted[0]!, from); at !== -1; at = bytes.indexOf(wanted[0]!, at + 1)) {
    if (wanted.every((byte, offset) => bytes[at + offset] === byte)) return at;
  }
  return -1;
}

function lines(text: string | undefined): string[] {
  return (text ?? "").split("\n").filter((line) => line !== "");
}

function parseVariables(declarations: readonly string[]): Pick<BashState, "variables" | "ownAttributes"> {
  const variables = new Map<string, string>();
  const ownAttributes = new Map<string, string>();
  for (const declaration of declarations) {
    const [, attributes, name] = /^declare -(\S+) (\w+)/.exec(declaration) ?? [];
    if (attributes === undefined || name === undefined || name.startsWith(OWN_PREFIX)) continue;
    if (OWN_VARIABLES.has(name)) ownAttributes.set(name, attributes);
    else if (!variables.has(name)) variables.set(name, declaration.replace(/\n$/, ""));
  }
  return { variables, ownAttributes };
}

/** Whether no command could tell the two apart. */
export function sameState(a: BashState, b: BashState): boolean {
  return JSON.stringify(comparable(a)) === JSON.stringify(comparable(b));
}

/** Without what is each shell's own, and with variables in an order. */
function comparable({ surroundings: _own, ownAttributes: _attributes, variables, ...state }: BashState): object {
  return { ...state, variables: [...variables].sort() };
}

export interface Restoration {
  /** Commands that bring a shell from the one state to the other. */
  readonly script: string;
  /** Variables they set or unset. */
  readonly changedVariables: readonly string[];
  /** Aliases are in force: they apply from the next line on. */
  readonly expandsAliases: boolean;
}

/** What brings a fresh shell from one state to the other; or why nothing can. */
export function restoration(before: BashState, after: BashState): Restoration | string {
  if (before.traps !== after.traps) return "the profile sets traps";
  if (before.surroundings !== after.surroundings) {
    return "the profile has jobs, or changes descriptors, arguments or the terminal";
  }
  const hasOther = (name: string, attributes: string): boolean =>
    (after.ownAttributes.get(name) ?? attributes) !== attributes;
  if ([...before.ownAttributes].some(([name, attributes]) => name !== "_" && hasOther(name, attributes))) {
    return "the profile changes the shell's own variables";
  }
  const changed = changedVariables(before, after);
  const commands = [
    // Ahead of the variables, because it sets one: where the shell was before.
    ...(after.cwd === before.cwd ? [] : [`builtin cd -- ${shellQuote(after.cwd)}`]),
    ...changed.flatMap((name) => variableCommands(name, before, after)),
    // Functions may be written in syntax that only an option allows.
    ...added(before.shopts, after.shopts),
    ...functionCommands(before, after),
    // From here on profile functions exist, and may be called like builtins.
    ...(after.umask === before.umask ? [] : [`builtin umask ${after.umask}`]),
    ...limitCommands("S", before.softLimits, after.softLimits),
    ...limitCommands("H", before.hardLimits, after.hardLimits),
    ...(after.completions === before.completions ? [] : [after.completions]),
    // After the functions, in which aliases have already been expanded.
    ...(after.aliases === before.aliases ? [] : [after.aliases]),
    // What is disabled is of no use any more.
    ...added(before.disabled, after.disabled),
    // Last, because some of them end a shell after what the commands above may do.
    ...added(before.setOptions, after.setOptions),
    // The first command must find a success before it, whatever the last of these returned.
    ":",
  ];
  const expandsAliases = after.shopts.includes("shopt -s expand_aliases");
  return { script: commands.join("\n"), changedVariables: changed, expandsAliases };
}

function changedVariables(before: BashState, after: BashState): string[] {
  const names = new Set([...before.variables.keys(), ...after.variables.keys()]);
  return [...names].filter((name) => before.variables.get(name) !== after.variables.get(name));
}

function variableCommands(name: string, before: BashState, after: BashState): string[] {
  const declaration = after.variables.get(name);
  // A declaration only adds attributes, so a variable starts from nothing.
  const unset = before.variables.has(name) ? [`unset -v ${name}`] : [];
  return declaration === undefined ? unset : [...unset, declaration];
}

function functionCommands(before: BashState, after: BashState): string[] {
  const functionName = (command: string): string => command.slice(command.lastIndexOf(" ") + 1);
  const kept = new Set(after.functionNames.map(functionName));
  const removed = before.functionNames.map(functionName).filter((name) => !kept.has(name));
  return [
    ...removed.map((name) => `unset -f ${name}`),
    ...(after.functions === before.functions ? [] : [after.functions]),
    // `declare -f NAME` alone would print it.
    ...added(before.functionNames, after.functionNames).filter((command) => !command.startsWith("declare -f ")),
  ];
}

function limitCommands(kind: "S" | "H", before: readonly string[], after: readonly string[]): string[] {
  return added(before, after).map((line) => {
    const [, option, value] = /-(\w)\)\s+(\S+)$/.exec(line) ?? [];
    // Without a match the line says nothing that could be set; comparing the states shows whether it mattered.
    return option === undefined ? ":" : `builtin ulimit -${kind} -${option} ${value}`;
  });
}

function added(before: readonly string[], after: readonly string[]): string[] {
  const known = new Set(before);
  return after.filter((line) => !known.has(line));
}
