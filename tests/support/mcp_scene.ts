/** A directory with rules for a real MCP server, and calls of its tool. */

import { NO_SANDBOX } from "./sandbox_host.ts";
import { inScratchDirectory } from "./scratch_directory.ts";

export const RULES = `
prefix_rule(pattern = ["touch"], decision = "allow")
prefix_rule(pattern = ["sleep"], decision = "allow")
prefix_rule(pattern = ["id"], decision = "forbidden")
prefix_rule(pattern = ["uname"], decision = "prompt")
`;
/** The arguments of a call for a command that must not be ended by a busy machine. */
export const shell = (command: string, workdir = "/") => ({ command, workdir, login: false, timeout_ms: 120_000 });
/** What a result's text says. */
// deno-lint-ignore no-explicit-any
export const textOf = (result: any) => JSON.parse(result.content[0].text);

export interface McpScene {
  /** The server's directory. */
  readonly work: string;
  /** Flags that name the rules. */
  readonly rules: readonly string[];
  /** Without rules of the machine's user. */
  readonly env: Record<string, string>;
}

/** A test with a directory of its own and rules. Where there are no sandboxes, skipped under a name that says so. */
export function mcpTest(name: string, fn: (scene: McpScene) => Promise<void>): void {
  Deno.test({
    name: NO_SANDBOX === null ? name : `${name} (SKIPPED: ${NO_SANDBOX})`,
    ignore: NO_SANDBOX !== null,
    fn: () =>
      inScratchDirectory(async (directory) => {
        const work = `${directory}/work`;
        for (const path of [work, `${directory}/home`]) await Deno.mkdir(path);
        await Deno.writeTextFile(`${directory}/test.rules`, RULES);
        await fn({ work, rules: ["--rules", `${directory}/test.rules`], env: { CODEX_HOME: `${directory}/home` } });
      }),
  });
}
