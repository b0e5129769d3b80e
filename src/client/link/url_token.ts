/** Tokens in URLs: messages are shown and logged, and a token is not for everybody who reads them. */

/** The text with the tokens of its URLs left out. */
export function withoutToken(text: string): string {
  return text.replace(/([?&]token=)[^&#\s"')]*/g, "$1…");
}
