/**
 * `--version` and `--help` as the only word: answered before anything else is loaded, so that they take little longer
 * than the runtime itself. Among other words they are normal flags (`flags.ts`).
 */

import { VERSION } from "../version.ts";
import { print } from "./print.ts";

/** What to do instead of running a command; null if there are more words, or a command to ask. */
export function loneWord(argv: readonly string[]): (() => Promise<number>) | null {
  const [word, ...others] = argv;
  if (others.length > 0) return null;
  switch (word) {
    case "--version":
    case "-V":
      return () => answer(versionText());
    case "--help":
    case "-h":
    case "help":
      return async () => await answer((await import("./overview.ts")).overviewText());
    default:
      return null;
  }
}

export function versionText(): string {
  return `exec-server ${VERSION}\n`;
}

async function answer(text: string): Promise<number> {
  await print(text);
  return 0;
}
