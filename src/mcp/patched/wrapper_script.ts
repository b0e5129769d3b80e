/**
 * A file that a patched Bash can execute as its wrapper: it starts this program in its wrapper mode. Bash takes a path
 * and no arguments, so the mode needs a file of its own.
 *
 * The file needs no protection: a program that could change it runs inside the sandbox, as Bash does.
 */

import { invalidRequest } from "../../errors.ts";

const MODE = "execve-wrapper";

/** What the mode needs when it is run from source. */
const RUNTIME_FLAGS = ["run", "--allow-all", "--no-config", "--no-lock", "--no-remote", "--no-npm", "--no-prompt"];

export class WrapperScript {
  readonly path: string;
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
    this.path = `${directory}/execve-wrapper`;
  }

  static async write(serverEnv: Readonly<Record<string, string>>): Promise<WrapperScript> {
    const words = ownCommand(serverEnv);
    const directory = await Deno.realPath(await Deno.makeTempDir({ prefix: "exec-server-wrapper-" }));
    const script = new WrapperScript(directory);
    await Deno.writeTextFile(script.path, `#!/bin/sh\nexec ${words.map(quoted).join(" ")} "$@"\n`, { mode: 0o755 });
    // Other users of the machine have nothing to do with it; the shells run as the user we are.
    await Deno.chmod(directory, 0o700);
    return script;
  }

  remove(): void {
    try {
      Deno.removeSync(this.#directory, { recursive: true });
    } catch {
      // Gone already: somebody has emptied the temporary directory.
    }
  }
}

function ownCommand(serverEnv: Readonly<Record<string, string>>): string[] {
  const program = Deno.realPathSync(Deno.execPath());
  if (Deno.build.standalone) return [program, MODE];
  if (!import.meta.url.startsWith("file:")) {
    throw invalidRequest("Cannot use a patched Bash: there is no program for its wrapper (--execve)");
  }
  const main = new URL("../../../main.ts", import.meta.url).pathname;
  const cache = serverEnv.DENO_DIR === undefined ? [] : [`DENO_DIR=${serverEnv.DENO_DIR}`];
  return ["env", "DENO_NO_UPDATE_CHECK=1", ...cache, program, ...RUNTIME_FLAGS, "--quiet", main, MODE];
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
