/**
 * A step of `deno task bundle`: fewer files to load before the server listens.
 *
 *     deno run --allow-read=dist --allow-write=dist .ci/join_chunks.ts DIRECTORY
 *
 * The bundler makes a file of its own for every set of modes that share something, and a server begins with fifty of
 * them, each of which takes its time to be found and linked. What is loaded later than the server, and other modes that
 * load most of it anyway, are given an import of the whole server here. When the files are bundled once more, what only
 * they share becomes one file. Modes that are to be quick without the server stay as they are.
 */

const SERVER = "serve";

/** Modes that are to load no more than they need: helpers in sandboxes, and commands that print something and end. */
const LIGHT = "fs_helper execve_wrapper version token spec conform execpolicy rules executors help".split(" ");

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

const modes = loadedLater("main.js");
const server = modes.find((file) => isNamed(file, SERVER));
if (server === undefined) throw new Error(`${directory}/main.js loads no file that is named after ${SERVER}`);
// A file that the server needs cannot wait for it.
const apart = reachable(modes.filter((file) => LIGHT.some((mode) => isNamed(file, mode)))).union(needed(server));
const joined = new Set([...texts.keys()].flatMap(loadedLater)).difference(apart);
for (const file of joined) {
  Deno.writeTextFileSync(`${directory}/${file}`, `${texts.get(file)}\nimport "./${server}";\n`);
}
