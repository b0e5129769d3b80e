/** Text that others chose, made safe for one line of a terminal or a log. Imports nothing: every mode loads it. */

/**
 * Characters that are invisible, or change how the rest is seen: control characters (escape sequences begin with U+001B
 * or U+009B), line and paragraph separators (U+2028, U+2029), marks that turn the direction of text (U+202E, U+2066),
 * characters without width, tags.
 */
const UNSEEN = "[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]";
/** Made when it is needed: such a pattern takes 0.4 ms, which every start of the program would pay. */
let unseen: RegExp | null = null;

/** What nearly all texts consist of. */
const PLAIN = /^[ -~]*$/;

/** The text with each such character as JSON writes it: `\n`, `\u202e`. Within a JSON text this changes no value. */
export function printable(text: string): string {
  if (PLAIN.test(text)) return text;
  unseen ??= new RegExp(UNSEEN, "gu");
  return text.replace(unseen, escaped);
}

/** The same for text of several lines, which keeps its line breaks and tabs. */
export function printableLines(text: string): string {
  return PLAIN.test(text) ? text : text.split(BLANKS).map((part, at) => at % 2 === 1 ? part : printable(part)).join("");
}

const BLANKS = /([\n\t]+)/;

function escaped(character: string): string {
  // JSON has short names for some, and leaves others as they are.
  const json = JSON.stringify(character).slice(1, -1);
  return json === character ? codeUnits(character) : json;
}

/** `\u009b`; two of them for a character beyond the first 65536. */
function codeUnits(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`,
  ).join("");
}
