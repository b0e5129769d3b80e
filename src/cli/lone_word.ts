/**
 * `--version` and `--help` where they are the only word: answered before anything of the server is loaded, so that they
 * take little longer than the runtime itself. Among other words they are flags like any other (`flags.ts`).
 */

import { VERSION } from "../version.ts";
import { print } from "./print.ts";

/** What to do in place of a command's work; null when there is more to read, or a command to ask. */
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
