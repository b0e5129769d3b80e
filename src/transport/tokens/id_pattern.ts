/** Ids of executors, and patterns that say which ids a token is for: `*` stands for any characters, `?` for one. */

/** Long enough for every host name. */
const MAX_ID_CHARS = 253;

const ID = /^[A-Za-z0-9][A-Za-z0-9._~-]*$/;
const PATTERN = /^[A-Za-z0-9._~*?-]+$/;

export const ID_RULE =
  `an id has 1 to ${MAX_ID_CHARS} letters, digits, ".", "_", "~" or "-", and begins with a letter or digit`;
export const PATTERN_RULE = `a pattern is an id in which "*" stands for any characters and "?" for any one`;

/** Ids are used in paths of URLs, in logs and in tables, so they contain nothing that needs quoting. */
export function isExecutorId(text: string): boolean {
  return text.length <= MAX_ID_CHARS && ID.test(text);
}

export function isIdPattern(text: string): boolean {
  return text.length <= MAX_ID_CHARS && PATTERN.test(text);
}

/** Whether the pattern matches the whole id. Takes at most pattern times id steps. */
export function matchesPattern(pattern: string, id: string): boolean {
  let at = 0;
  let inPattern = 0;
  // The last star, and how much of the id it has matched so far.
  let star = -1;
  let taken = 0;
  while (at < id.length) {
    if (inPattern < pattern.length && (pattern[inPattern] === "?" || pattern[inPattern] === id[at])) {
      at++;
      inPattern++;
    } else if (pattern[inPattern] === "*") {
      star = inPattern++;
      taken = at;
    } else if (star >= 0) {
      inPattern = star + 1;
      at = ++taken;
    } else return false;
  }
  while (pattern[inPattern] === "*") inPattern++;
  return inPattern === pattern.length;
}
