/**
 * A step of `deno task bundle`: fewer files to load before the server listens.
 *
 *     deno run --allow-read=dist --allow-write=dist .ci/join_chunks.ts DIRECTORY
 *
 * The bundler makes a file of its own for every set of modes that share something, and a server begins with fifty of
 * them, each of which takes its time to be found and linked. So modes that are to be quick without the server get copies
 * of all that they load: a program runs one mode, and never sees both. What is loaded later than the server, and other
 * modes that load most of it anyway, are given an import of the whole server. When the files are bundled once more, what
 * the server begins with becomes one file.
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

/** Put before the name of a copy. */
const COPY = "light_";

// What the program begins with is there already, and not twice: it compares classes of errors, for example.
const first = needed("main.js");
const modes = [...first].flatMap(loadedLater);
const server = modes.find((file) => isNamed(file, SERVER));
if (server === undefined) throw new Error(`${directory}/main.js loads no file later that is named after ${SERVER}`);
const light = new Set(modes.filter((file) => LIGHT.some((mode) => isNamed(file, mode))));
const copied = reachable([...light]).difference(first);
// With their own of what they share with quick modes: help, for one, which they may print too.
const heavy = modes.filter((file) => !light.has(file));
const loadedLate = (files: ReadonlySet<string>) => new Set([...files].flatMap(loadedLater));
// Everything begins with what the program begins with, so that this becomes one file as well.
const firstFiles = [...first].filter((file) => file !== "main.js");
const lateCopies = loadedLate(copied).union(light);
for (const file of copied) {
  const text = naming(texts.get(file)!, copied);
  write(`${COPY}${file}`, lateCopies.has(file) ? importing(text, firstFiles) : text);
}
for (const file of first) write(file, naming(texts.get(file)!, light));
for (const file of loadedLate(reachable(heavy)).union(new Set(heavy))) {
  // A file that the server needs cannot wait for it.
  const isNeeded = needed(server).has(file);
  write(file, importing(texts.get(file)!, isNeeded ? firstFiles : [...firstFiles, server]));
}

function importing(text: string, files: readonly string[]): string {
  return `${text}\n${files.map((file) => `import "./${file}";\n`).join("")}`;
}

/** The text, loading the copies of these files. */
function naming(text: string, files: ReadonlySet<string>): string {
  return text.replaceAll(/"\.\/([^"/]+\.js)"/g, (all, file) => files.has(file) ? `"./${COPY}${file}"` : all);
}

function write(file: string, text: string): void {
  Deno.writeTextFileSync(`${directory}/${file}`, text);
}
