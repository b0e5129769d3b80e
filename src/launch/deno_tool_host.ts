/** The real disk and real short-lived programs, for finding tools. */

import type { FileFacts, ToolHost } from "./bubblewrap_tool.ts";

export class DenoToolHost implements ToolHost {
  inspect(path: string): FileFacts | null {
    try {
      const real = Deno.realPathSync(path);
      const { isFile, isDirectory, uid, mode } = Deno.statSync(real);
      return { path: real, isFile, isDirectory, uid: uid ?? -1, mode: mode ?? 0 };
    } catch {
      return null; // Not there, or not for us to look at: of no use either way.
    }
  }

  async run(program: string, args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const { code, stdout, stderr } = await new Deno.Command(program, { args: [...args], clearEnv: true }).output();
    const decoder = new TextDecoder();
    return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
  }
}
