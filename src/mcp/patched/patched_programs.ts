/**
 * A patched Bash and its wrapper, and that they stay what they are: all shells of the server execute them, some without
 * a sandbox. What a command could put in their place would leave its sandbox with a later call.
 */

import { resolve } from "node:path/posix";
import type { InheritedDescriptor } from "../../launch/launch_plan.ts";
import { findProgram } from "../../os/children/find_program.ts";
import { closeDescriptor } from "../../os/descriptor.ts";
import type { PatchedBash } from "../supervised_shell.ts";
import { KnownPrograms } from "./known_programs.ts";
import { openScript, ownProgram, wrapperScript } from "./wrapper_script.ts";

/** The first is the protocol's, the second that of newer builds of this Bash. */
const WRAPPER_VARIABLES = ["BASH_EXEC_WRAPPER", "EXEC_WRAPPER"] as const;

type Wrapper = { readonly path: string } | { readonly script: string };

export interface ShellWrapper {
  readonly env: Readonly<Record<string, string>>;
  readonly inherited: readonly InheritedDescriptor[];
  /** To be called when the shell has inherited it, or will not. */
  close(): void;
}

export class PatchedPrograms {
  /** Absolute. */
  readonly bash: string;
  /** What no command may write, whatever its sandbox grants. */
  readonly guardedPaths: readonly string[];
  readonly #known: KnownPrograms;
  readonly #wrapper: Wrapper;

  private constructor(bash: string, wrapper: Wrapper, known: KnownPrograms) {
    this.bash = bash;
    this.#wrapper = wrapper;
    this.#known = known;
    this.guardedPaths = [...known.paths, ...("path" in wrapper ? [] : ownProgram())];
  }

  static async find(
    { bash, wrapper }: PatchedBash,
    serverEnv: Readonly<Record<string, string>>,
  ): Promise<PatchedPrograms> {
    const path = absolute(bash, serverEnv);
    if (wrapper === undefined) {
      const known = await KnownPrograms.lookAt([path]);
      return new PatchedPrograms(path, { script: wrapperScript(serverEnv) }, known);
    }
    // Bash does not search for it: what it is given is a path.
    const wrapperPath = resolve(wrapper);
    return new PatchedPrograms(path, { path: wrapperPath }, await KnownPrograms.lookAt([path, wrapperPath]));
  }

  /** What tells a shell its wrapper. Throws when a program is not what it was. */
  async forShell(): Promise<ShellWrapper> {
    await this.#known.refuseChanged();
    const wrapper = this.#wrapper;
    if ("path" in wrapper) {
      const env = Object.fromEntries(WRAPPER_VARIABLES.map((name) => [name, wrapper.path]));
      return { env, inherited: [], close: () => {} };
    }
    const descriptor = openScript(wrapper.script);
    return {
      env: {},
      inherited: [{ descriptor, variables: WRAPPER_VARIABLES, toldAs: "path" }],
      close: () => closeDescriptor(descriptor),
    };
  }
}

/** In the server's directory, or on its search path: a command's own could lead anywhere. */
function absolute(program: string, env: Readonly<Record<string, string>>): string {
  if (program.includes("/")) return resolve(program);
  const [found] = findProgram({ argv: [program], cwd: Deno.cwd(), env });
  return new TextDecoder().decode(found);
}
