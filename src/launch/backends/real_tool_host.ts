/** The real disk and real short-lived programs, for finding tools. */

import type { ToolFile, ToolHost } from "./bubblewrap_tool.ts";

export class RealToolHost implements ToolHost {
  readonly run: ToolHost["run"];

  constructor(run: ToolHost["run"]) {
    this.run = run;
  }

  inspect(path: string): ToolFile | null {
    try {
      const real = Deno.realPathSync(path);
      const { isFile, isDirectory, uid, mode } = Deno.statSync(real);
      return { path: real, isFile, isDirectory, uid: uid ?? -1, mode: mode ?? 0 };
    } catch {
      return null; // Missing, or we may not look at it: useless either way.
    }
  }
}
