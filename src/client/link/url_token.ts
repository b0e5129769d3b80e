/** Removes tokens from URLs: messages are shown and logged, and their readers must not see the token. */

/** The text without the tokens in its URLs. */
export function withoutToken(text: string): string {
  return text.replace(/([?&]token=)[^&#\s"')]*/g, "$1…");
}
