/**
 * Which program a confined file helper is, and what of the disk it needs besides what the client grants.
 *
 * It is this very program in another mode. A compiled one needs its own file, the libraries that are mapped into it and
 * the loader's list of them; run from source it also needs the source and the runtime's cache of compiled modules, whose
 * place is then the one variable it sees besides PATH and the temporary directories. All of it is only read.
 */

import { helperEnv } from "../launch/launch_plan.ts";
import { listMappedFiles } from "../os/procfs.ts";

export interface HelperProgram {
  readonly program: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Paths to be readable inside. */
  readonly needs: readonly string[];
}

/** The hidden mode's name on the command line. */
export const HELPER_MODE = "fs-helper";

const LIBRARY = /\.so(?:\.\d+)*$/;
/** Named by programs themselves, at a place that is a link on most systems. */
const LOADER = /\/(ld-linux[^/]*)$/;
const LOADER_DIRECTORIES = ["/lib64", "/lib"];
/** Where the loader looks first. Without it, it searches. */
const LOADER_CACHE = "/etc/ld.so.cache";

/** What the mode may do inside, whatever this process may. */
const PERMISSIONS = ["--allow-read", "--allow-write", "--allow-ffi"];
/** Nothing is fetched, looked up or asked for. */
const QUIET = ["--no-config", "--no-lock", "--no-remote", "--no-npm", "--no-prompt", "--quiet"];

export function helperProgram(serverEnv: Readonly<Record<string, string>>): HelperProgram {
  const program = Deno.realPathSync(Deno.execPath());
  const env = helperEnv(serverEnv);
  if (Deno.build.standalone) {
    return { program, argv: [program, HELPER_MODE], env, needs: [program, ...libraries()] };
  }
  const root = new URL("../..", import.meta.url).pathname;
  const source = ["main.ts", "src", "sandbox"].map((name) => Deno.realPathSync(`${root}${name}`));
  const argv = [program, "run", ...PERMISSIONS, ...QUIET, source[0]!, HELPER_MODE];
  const cache = runtimeCache(serverEnv);
  return {
    program,
    argv,
    // The runtime does not start without a place for its cache, be it one that does not exist.
    env: { ...env, DENO_DIR: cache ?? "/dev/null" },
    needs: [program, ...source, ...(cache === null ? [] : [cache]), ...libraries()],
  };
}

/** Where the runtime keeps compiled modules: not needed, but three times as fast. */
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
