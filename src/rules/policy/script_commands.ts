/**
 * The simple commands of a shell script, roughly: quotes and operators are understood, expansions are left as they are
 * written. For guesses about a script (`dangerous.ts`), never for deciding that it is harmless.
 */

/** What ends a command, longest first. */
const SEPARATORS = ["&&", "||", ";;", ";", "|", "&", "\n", "(", ")", "`"];
/** Words that stand before a command and are not part of it. */
const LEADING: ReadonlySet<string> = new Set(["{", "}", "!", "then", "do", "else", "if", "while", "until", "time"]);

export function scriptCommands(script: string): string[][] {
  const commands: string[][] = [[]];
  let word: string | null = null;
  const endWord = () => {
    const command = commands.at(-1)!;
    if (word !== null && !(command.length === 0 && isLeading(word))) command.push(word);
    word = null;
  };
  for (let at = 0; at < script.length; at++) {
    const char = script[at]!;
    const separator = SEPARATORS.find((candidate) => script.startsWith(candidate, at));
    if (separator !== undefined) {
      endWord();
      commands.push([]);
      at += separator.length - 1;
    } else if (char === " " || char === "\t") endWord();
    else if (char === "#" && word === null) at = endOfLine(script, at) - 1;
    else if (char === "'" || char === '"') {
      const end = endOfQuote(script, at);
      word = (word ?? "") + script.slice(at + 1, end);
      at = end;
    } else if (char === "\\") word = (word ?? "") + (script[++at] ?? "");
    else word = (word ?? "") + char;
  }
  endWord();
  return commands.filter((command) => command.length > 0);
}

/** A keyword, or an assignment for the command that follows. */
function isLeading(word: string): boolean {
  return LEADING.has(word) || /^[A-Za-z_]\w*=/.test(word);
}

function endOfLine(script: string, from: number): number {
  const end = script.indexOf("\n", from);
  return end < 0 ? script.length : end;
}

function endOfQuote(script: string, from: number): number {
  const quote = script[from]!;
  let at = from + 1;
  while (at < script.length && script[at] !== quote) at += quote === '"' && script[at] === "\\" ? 2 : 1;
  return Math.min(at, script.length);
}
