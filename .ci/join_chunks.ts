/**
 * A step of `deno task bundle`: fewer files to load before the server listens, or a command is under way.
 *
 *     deno run --allow-read=dist --allow-write=dist .ci/join_chunks.ts DIRECTORY
 *
 * The bundler makes a file of its own for every set of modes that share something, and a server begins with fifty of
 * them, each of which takes its time to be found and linked. So modes that are to be quick without the server get copies
 * of all that they load: a program runs one mode, and never sees both. What is loaded later than the server, and other
 * modes that load most of it anyway, are given an import of the whole server. When the files are bundled once more, what
 * the server begins with becomes one file. The commands that use a server get copies of their own, and what most of
 * them begin with becomes one file in the same way.
 */

import { CLIENT_COMMANDS } from "../src/cli/client_commands.ts";

const SERVER = "serve";

/** Modes that are to load no more than they need: helpers in sandboxes, and commands that print something and end. */
const LIGHT = "fs_helper execve_wrapper version token spec conform execpolicy rules executors overview".split(" ");

/** Commands that use a server. Each is in a module of its name. */
const CLIENT = Object.keys(CLIENT_COMMANDS);

const [directory] = Deno.args;
if (directory === undefined) throw new Error("join_chunks.ts DIRECTORY: the directory that `deno bundle` has written");

const texts = new Map<string, string>();
for (const { name } of Deno.readDirSync(directory)) {
  if (name.endsWith(".js")) texts.set(name, Deno.readTextFileSync(`${directory}/${name}`));
}

function found(file: string, pattern: RegExp): string[] {
  return Array.from((texts.get(file) ?? "").matchAll(pattern), ([, name]) => name!);
}

const loadedWith = (file: string) => found(file, /^import\s[^"]*"\.\/([^"]+)";$/gm);
const loadedLater = (file: string) => found(file, /\bimport\("\.\/([^"]+)"\)/g);

/** These files and all that they load, sooner or later. */
function reachable(from: readonly string[]): Set<string> {
  const seen = new Set<string>();
  const waiting = [...from];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    waiting.push(...loadedWith(file), ...loadedLater(file));
  }
  return seen;
}

/** What a file loads before it runs. */
function needed(file: string, seen = new Set<string>()): Set<string> {
  if (!seen.has(file)) {
    seen.add(file);
    for (const other of loadedWith(file)) needed(other, seen);
  }
  return seen;
}

/** The bundler names the file of a module that is loaded later after the module. */
const isNamed = (file: string, module: string) => file.replace(/-[^-]*\.js$/, "") === module;

// What the program begins with is there already, and not twice: it compares classes of errors, for example.
const first = needed("main.js");
// Everything begins with it, so that this becomes one file as well.
const firstFiles = [...first].filter((file) => file !== "main.js");
const modes = [...first].flatMap(loadedLater);
const modesOf = (names: readonly string[]) => modes.filter((file) => names.some((name) => isNamed(file, name)));
const [server] = modesOf([SERVER]);
if (server === undefined) throw new Error(`${directory}/main.js loads no file later that is named after ${SERVER}`);

const light = modesOf(LIGHT);
const client = modesOf(CLIENT);
if (client.length !== CLIENT.length) throw new Error(`not each of these is a file of its own: ${CLIENT.join(", ")}`);
const neededByClient = client.map((file) => needed(file));
const commonToClient = new Set(
  neededByClient.flatMap((files) => [...files]).filter((file) =>
    neededByClient.filter((files) => files.has(file)).length > client.length / 2
  ),
);
const copies = new Map([
  ...writeCopies("light_", light, new Set()),
  ...writeCopies("client_", client, commonToClient.difference(first)),
]);
for (const file of first) write(file, naming(texts.get(file)!, copies));

// With their own of what they share with quick modes, but not of these modes themselves, which completions, for one,
// reads the flags of: the whole program is read at every start, 0.6 ms for each megabyte.
const heavy = modes.filter((file) => !light.includes(file) && !client.includes(file));
const beginnings = laterFiles(reachable(heavy)).union(new Set(heavy));
for (const file of reachable(heavy).difference(first)) {
  const text = naming(texts.get(file)!, copies);
  // A file that the server needs cannot wait for it.
  const isNeeded = needed(server).has(file);
  write(file, beginnings.has(file) ? importing(text, isNeeded ? firstFiles : [...firstFiles, server]) : text);
}

/**
 * Writes a copy of all that these modes load, under names of its own, in which everything that is loaded later begins with
 * the common files. Returns the copies of the modes by name.
 */
function writeCopies(
  prefix: string,
  modes: readonly string[],
  common: ReadonlySet<string>,
): readonly (readonly [string, string])[] {
  const copied = reachable(modes).difference(first);
  const names = new Map([...copied].map((file) => [file, prefix + file]));
  const later = laterFiles(copied).union(new Set(modes));
  const begin = [...firstFiles, ...[...common].map((file) => prefix + file)];
  for (const file of copied) {
    const text = naming(texts.get(file)!, names);
    write(prefix + file, later.has(file) ? importing(text, begin.filter((name) => name !== prefix + file)) : text);
  }
  return modes.map((file) => [file, prefix + file] as const);
}

function laterFiles(files: ReadonlySet<string>): Set<string> {
  return new Set([...files].flatMap(loadedLater));
}

function importing(text: string, files: readonly string[]): string {
  return `${text}\n${files.map((file) => `import "./${file}";\n`).join("")}`;
}

/** The text, loading other files in place of these. */
function naming(text: string, names: ReadonlyMap<string, string>): string {
  return text.replaceAll(/"\.\/([^"/]+\.js)"/g, (_, file) => `"./${names.get(file) ?? file}"`);
}

function write(file: string, text: string): void {
  Deno.writeTextFileSync(`${directory}/${file}`, text);
}
