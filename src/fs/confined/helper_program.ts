/**
 * Which program a confined file helper is, and which files it needs besides those the client grants.
 *
 * It is this program in another mode, unless an embedding program names another. A compiled program needs its own file,
 * the libraries mapped into it and the loader's list of them. Run from source it also needs the source and the
 * runtime's cache of compiled modules; the place of that cache is then the only variable it gets besides PATH and the
 * temporary directories. All of these are only read.
 */

import { invalidRequest, messageOf } from "../../errors.ts";
import { helperEnv } from "../../launch/launch_plan.ts";
import { listMappedFiles } from "../../os/children/procfs.ts";

/** How the helper for sandboxed `fs/*` requests is started. */
export interface HelperCommand {
  /**
   * Absolute path of the program, and its arguments. It must run `fsHelper()` of `./fs-helper` on its standard input
   * and output, and must write nothing else to them.
   */
  readonly argv: readonly [program: string, ...args: string[]];
  /** Variables besides PATH and the temporary directories. It gets no others. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Paths it must be able to read besides the program itself and the libraries of this process: scripts, caches, other
   * libraries. Everything else is hidden from it unless the client's policy grants it.
   */
  readonly reads?: readonly string[];
}

export interface HelperProgram {
  readonly program: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Paths that must be readable inside. */
  readonly needs: readonly string[];
}

/** The hidden mode's name on the command line. */
export const HELPER_MODE = "fs-helper";

const LIBRARY = /\.so(?:\.\d+)*$/;
/** The dynamic loader. Programs name it by a path that is a link on most systems. */
const LOADER = /\/(ld-linux[^/]*)$/;
const LOADER_DIRECTORIES = ["/lib64", "/lib"];
/** The loader looks here first. Without it, the loader searches directories. */
const LOADER_CACHE = "/etc/ld.so.cache";

/** The permissions of the helper mode inside the sandbox. They do not depend on what this process may do. */
const PERMISSIONS = ["--allow-read", "--allow-write", "--allow-ffi", "--allow-sys=uid"];
/** Nothing is downloaded, resolved or asked for. */
const QUIET = ["--no-config", "--no-lock", "--no-remote", "--no-npm", "--no-prompt", "--quiet"];

export function helperProgram(
  serverEnv: Readonly<Record<string, string>>,
  chosen?: HelperCommand | "self",
): HelperProgram {
  const env = helperEnv(serverEnv);
  if (chosen !== undefined && chosen !== "self") return chosenProgram(chosen, env);
  const program = Deno.realPathSync(Deno.execPath());
  if (chosen === "self") return { program, argv: [program, HELPER_MODE], env, needs: [program, ...libraries()] };
  // A compiled program may be somebody else's. Started again, it would do whatever that program does.
  if (Deno.build.standalone || !import.meta.url.startsWith("file:")) {
    throw invalidRequest(
      "Cannot confine file operations: the server was given no helper command (runtimePaths.helper)",
    );
  }
  const root = new URL("../../..", import.meta.url).pathname;
  const source = ["main.ts", "src", "sandbox"].map((name) => Deno.realPathSync(`${root}${name}`));
  const argv = [program, "run", ...PERMISSIONS, ...QUIET, source[0]!, HELPER_MODE];
  const cache = runtimeCache(serverEnv);
  return {
    program,
    argv,
    // The runtime does not start without a place for its cache, even if that place does not exist.
    env: { ...env, DENO_DIR: cache ?? "/dev/null" },
    needs: [program, ...source, ...(cache === null ? [] : [cache]), ...libraries()],
  };
}

function chosenProgram({ argv, env: more = {}, reads = [] }: HelperCommand, env: HelperProgram["env"]): HelperProgram {
  const realPath = (path: string): string => {
    try {
      if (!path.startsWith("/")) throw new Error("the path is not absolute");
      return Deno.realPathSync(path);
    } catch (error) {
      const reason = messageOf(error);
      throw invalidRequest(`Cannot confine file operations: the helper command needs ${path}: ${reason}`, error);
    }
  };
  const program = realPath(argv[0]);
  return {
    program,
    argv: [program, ...argv.slice(1)],
    env: { ...env, ...more },
    needs: [program, ...reads.map(realPath), ...libraries()],
  };
}

/** Where the runtime keeps compiled modules. The helper does not need it, but is three times as fast with it. */
function runtimeCache({ DENO_DIR, XDG_CACHE_HOME, HOME }: Readonly<Record<string, string>>): string | null {
  const cache = DENO_DIR ?? (XDG_CACHE_HOME !== undefined ? `${XDG_CACHE_HOME}/deno` : `${HOME}/.cache/deno`);
  return cache.startsWith("/") && exists(cache) ? Deno.realPathSync(cache) : null;
}

function libraries(): string[] {
  const mapped = listMappedFiles().filter((path) => LIBRARY.test(path));
  const names = mapped.map((path) => LOADER.exec(path)?.[1]).filter((name) => name !== undefined);
  const loaders = names.flatMap((name) => LOADER_DIRECTORIES.map((directory) => `${directory}/${name}`));
  return [...mapped, ...loaders, LOADER_CACHE].filter(exists);
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false; // Not there: not needed either.
  }
}
