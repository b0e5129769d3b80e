/** The text of `exec-server --help`: every command with a few words. Each command's own help has its flags. */

import { COMMAND_WORDS, type CommandWords } from "./command_words.ts";

const INTRODUCTION = `Usage: exec-server [COMMAND] [flags]
       exec-server COMMAND --help

Runs processes and works on files for a remote agent, by JSON-RPC over
websockets, a unix socket, or standard input and output.

Without a command the server itself runs: exec-server serve --help shows its
flags.`;

/** Ends with a newline. */
export function overviewText(): string {
  const commands: [string, CommandWords][] = Object.entries(COMMAND_WORDS);
  const width = Math.max(...commands.map(([name]) => name.length));
  const lines = [INTRODUCTION, "", "Commands:"];
  let section = "";
  for (const [name, words] of commands) {
    if (words.section !== section) lines.push("", `  ${section = words.section}:`);
    lines.push(`    ${name.padEnd(width)}  ${words.about}`);
  }
  lines.push("", "Flags:", "  -h, --help     Show this help.", "  -V, --version  Print the version.");
  return lines.map((line) => line + "\n").join("");
}
