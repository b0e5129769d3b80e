/**
 * Words of a shell command and back, for examples in rule files: quotes, backslashes and `#` comments, and nothing that
 * a shell would expand.
 */

/** The words of a line; null when a quote is not closed or a backslash ends it. */
export function splitWords(line: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  for (let at = 0; at < line.length; at++) {
    const char = line[at]!;
    if (char === " " || char === "\t" || char === "\n") {
      if (word !== null) words.push(word);
      word = null;
    } else if (char === "#" && word === null) {
      const end = line.indexOf("\n", at);
      at = end < 0 ? line.length : end;
    } else if (char === "'") {
      const end = line.indexOf("'", at + 1);
      if (end < 0) return null;
      word = (word ?? "") + line.slice(at + 1, end);
      at = end;
    } else if (char === '"') {
      const quoted = doubleQuoted(line, at + 1);
      if (quoted === null) return null;
      word = (word ?? "") + quoted.text;
      at = quoted.end;
    } else if (char === "\\") {
      if (++at >= line.length) return null;
      // A backslash removes the end of a line.
      if (line[at] !== "\n") word = (word ?? "") + line[at]!;
    } else word = (word ?? "") + char;
  }
  if (word !== null) words.push(word);
  return words;
}

/** Within double quotes a backslash means something only before `$`, a backquote, a quote, itself and a line's end. */
function doubleQuoted(line: string, from: number): { text: string; end: number } | null {
  let text = "";
  for (let at = from; at < line.length; at++) {
    const char = line[at]!;
    if (char === '"') return { text, end: at };
    if (char !== "\\") {
      text += char;
      continue;
    }
    const next = line[++at];
    if (next === undefined) return null;
    if (next === "\n") continue;
    text += '$`"\\'.includes(next) ? next : `\\${next}`;
  }
  return null;
}

/** The words as one line that a shell reads as these words. */
export function joinWords(words: readonly string[]): string {
  return words.map(quoteWord).join(" ");
}

const BARE = /^[A-Za-z0-9+\-./:@\]_]+$/;

/**
 * One word, quoted as the reference quotes: bare if it can be, else in stretches that one kind of quotes can hold.
 * Single quotes hold all but `'`, `\` and `^`; double quotes all but `$`, backquote, `!` and `^`; a `^` can only be the
 * first character in single quotes.
 */
export function quoteWord(word: string): string {
  if (word === "") return "''";
  if (BARE.test(word)) return word;
  let quoted = "";
  for (let at = 0; at < word.length;) {
    const { text, length } = nextStretch(word, at);
    quoted += text;
    at += length;
  }
  return quoted;
}

/** The longest stretch from here that one style can hold, in the plainest style that can hold all of it. */
function nextStretch(word: string, from: number): { text: string; length: number } {
  let [isBare, isSingle, isDouble] = [true, true, true];
  let end = from;
  if (word[from] === "^") {
    // Nothing but single quotes can hold it, and only as their first character.
    [isBare, isDouble] = [false, false];
    end++;
  }
  for (; end < word.length; end++) {
    const char = word[end]!;
    const bare = isBare && BARE.test(char);
    const single = isSingle && !"'\\^".includes(char);
    const double = isDouble && !"$`!^".includes(char);
    if (!bare && !single && !double) break;
    [isBare, isSingle, isDouble] = [bare, single, double];
  }
  const text = word.slice(from, end);
  const length = end - from;
  if (isBare) return { text, length };
  if (isSingle) return { text: `'${text}'`, length };
  return { text: `"${text.replace(/["\\]/g, "\\$&")}"`, length };
}
