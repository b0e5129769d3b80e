/**
 * Where rule files are: the machine's directory, the user's, and what was named besides. The places are the reference's,
 * so that one set of files serves both.
 */

/** `/etc/codex/rules`, then `$CODEX_HOME/rules`; files named by `--rules` come last. */
const SYSTEM_DIRECTORY = "/etc/codex/rules";
const RULES_FOLDER = "rules";
export const RULES_SUFFIX = ".rules";

/** A file, or a directory whose `*.rules` count. One that need not exist may be made later. */
export interface RulePlace {
  readonly path: string;
  readonly kind: "directory" | "file";
  readonly mustExist: boolean;
}

export interface PlaceEnvironment {
  readonly CODEX_HOME?: string | undefined;
  readonly HOME?: string | undefined;
}

/** A place that was asked for and is not there. */
export class RulePlaceError extends Error {
  override readonly name = "RulePlaceError";
}

/** The reference's directories, then `named` ones: files or directories, in the order they were given. */
export function rulePlaces(env: PlaceEnvironment, named: readonly string[] = []): RulePlace[] {
  const home = codexHome(env);
  return [
    { path: SYSTEM_DIRECTORY, kind: "directory", mustExist: false },
    ...(home === null ? [] : [{ path: `${home}/${RULES_FOLDER}`, kind: "directory", mustExist: false } as const]),
    ...namedPlaces(named),
  ];
}

export function namedPlaces(named: readonly string[]): RulePlace[] {
  return named.map((path) => ({ path, kind: isDirectory(path) ? "directory" : "file", mustExist: true }));
}

/** `~/.codex` unless `CODEX_HOME` says otherwise; then it has to exist. Null: there is no home directory. */
function codexHome({ CODEX_HOME, HOME }: PlaceEnvironment): string | null {
  if (CODEX_HOME !== undefined && CODEX_HOME !== "") {
    if (isDirectory(CODEX_HOME)) return CODEX_HOME;
    throw new RulePlaceError(`CODEX_HOME points to ${JSON.stringify(CODEX_HOME)}, but that path does not exist`);
  }
  return HOME === undefined || HOME === "" ? null : `${HOME}/.codex`;
}

function isDirectory(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    // Reading it later reports what is wrong with it.
    return false;
  }
}
