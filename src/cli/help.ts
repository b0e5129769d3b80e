/**
 * The table of flags as text, for the terminal and for the documents.
 *
 * Pages contain the table between two markers, and `withFlagsTable` renews it. A test compares, so that the pages stay
 * true.
 */

import { isNegatable } from "./flag_words.ts";
import { type ActionFlag, environmentVariable, type FlagSpec, type FlagTable, type SwitchFlag } from "./flags.ts";
import { SERVE_FLAGS } from "./serve/serve_flags.ts";

/** Fits the narrowest terminal in common use. */
const HELP_WIDTH = 80;
const HELP_INDENT = "      ";

const INTRODUCTION = `Usage: exec-server [serve] [flags]
       exec-server --remote URL --environment-id ID [flags]

Runs processes and works on files for a remote agent, by JSON-RPC over
websockets, a unix socket, or standard input and output. Once it listens, it
prints one line on standard output: the address. The log goes to standard error.
A flag is written --name value or --name=value. Where an environment variable
is shown, it is used when the flag is not given. exec-server doctor says which
sandboxes work on this machine, and what to change; exec-server --help lists
all commands.`;

const TABLE_BEGIN = "<!-- flags: begin -->";
const TABLE_END = "<!-- flags: end -->";

/** What `--help` prints: for `serve`, unless another command passes its own. Ends with a newline. */
export function helpText(table: FlagTable = SERVE_FLAGS, introduction = INTRODUCTION): string {
  const lines = [introduction];
  let section = "";
  for (const [name, spec] of Object.entries(table)) {
    if (spec.section !== section) lines.push("", `${section = spec.section}:`);
    lines.push(`  ${usage(name, spec)}`);
    lines.push(...wrap([spec.help, ...notes(name, spec)].join(" "), HELP_WIDTH - HELP_INDENT.length));
  }
  return lines.map((line) => line + "\n").join("");
}

/** The flags as a Markdown table, formatted as `deno fmt` formats one. */
export function flagsMarkdown(table: FlagTable = SERVE_FLAGS): string {
  const rows = Object.entries(table).map(([name, spec]) => [
    code(usage(name, spec)),
    defaultMarkdown(spec),
    code(environmentVariable(name, spec) ?? ""),
    spec.help.replaceAll("|", "\\|"),
  ]);
  return formatTable([["Flag", "Default", "Variable", "Meaning"], ...rows]);
}

/** The page with the present flags between its markers. */
export function withFlagsTable(page: string): string {
  const begin = page.indexOf(TABLE_BEGIN);
  const end = page.indexOf(TABLE_END);
  if (begin < 0 || end < begin) throw new RangeError(`page lacks ${TABLE_BEGIN} followed by ${TABLE_END}`);
  return `${page.slice(0, begin)}${TABLE_BEGIN}\n\n${flagsMarkdown()}\n${page.slice(end)}`;
}

/** How a flag is written, in full: `--log text|json`, `-C, --cwd DIR`. */
function usage(name: string, spec: FlagSpec): string {
  return (spec.short === undefined ? "" : `-${spec.short}, `) + longUsage(name, spec);
}

function longUsage(name: string, spec: FlagSpec): string {
  switch (spec.kind) {
    case "action":
      return `--${name}`;
    case "switch":
      return isNegatable(spec) ? `--[no-]${name}` : `--${name}`;
    case "text":
      return `--${name} ${spec.placeholder}`;
    case "list":
      return `--${name} ${spec.placeholder} …`;
    case "choice":
      return `--${name} ${spec.choices.join("|")}`;
    case "integer":
      return `--${name} N`;
  }
}

/** The default as it is shown, or null if there is nothing to show. */
function shownDefault(spec: FlagSpec): string | null {
  if (spec.kind === "action") return null;
  if (spec.kind === "switch") return spec.default ? "on" : "off";
  return hasDefault(spec) ? String(spec.default) : spec.whenAbsent ?? null;
}

function notes(name: string, spec: FlagSpec): string[] {
  const shown = shownDefault(spec);
  const variable = environmentVariable(name, spec);
  return [shown === null ? null : `[default: ${shown}]`, variable === null ? null : `[${variable}]`]
    .filter((note) => note !== null);
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.map((line) => HELP_INDENT + line);
}

/** Values as code, words that describe one as words. */
function defaultMarkdown(spec: FlagSpec): string {
  const shown = shownDefault(spec) ?? "";
  const isValue = spec.kind !== "action" && spec.kind !== "switch" && hasDefault(spec);
  return isValue ? code(shown) : shown;
}

function hasDefault(spec: Exclude<FlagSpec, ActionFlag | SwitchFlag>): boolean {
  return spec.kind === "list" ? spec.default.length > 0 : spec.default !== null;
}

function code(text: string): string {
  return text === "" ? "" : `\`${text.replaceAll("|", "\\|")}\``;
}

function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[], fill: string) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!, fill)).join(" | ")} |\n`;
  const [header, ...body] = rows;
  return line(header!, " ") + line(header!.map(() => ""), "-") + body.map((row) => line(row, " ")).join("");
}
