/** Paths of a box as users write them: absolute, from home (`~/x`), or relative to where commands run. */

import type { OpenBox } from "./open_box.ts";
import { workingDirectory } from "./exec_words.ts";

/** The absolute path. `.` and `..` at its end stay, because the server resolves them. */
export function boxPath(path: string, where: OpenBox): string {
  const full = workingDirectory(path === "" ? null : path, where);
  return full.length > 1 ? full.replace(/\/+$/, "") || "/" : full;
}
