/**
 * The dependency rules of docs/architecture.md, read from the import lines.
 *
 * More than 300 lines: the rules share the ways to read those lines.
 */

import assert from "node:assert/strict";
import { filesBelow, importsOf, ROOT, sourceFiles, targetOf } from "./support/source_files.ts";
import { deadExports, unusedExports } from "./support/unused_exports.ts";

/**
 * Which rooms a room may import from, besides itself: folders of `src/`, and the programs beside it. Files directly in
 * `src/` may be imported by all, and what is in no room (tests, say) by none.
 */
const MAY_IMPORT: Record<string, readonly string[]> = {
  "main.ts": ["cli", "sandbox/fs_helper.ts", "sandbox/execve_wrapper.ts"],
  "sandbox/fs_helper.ts": ["fs"],
  "sandbox/execve_wrapper.ts": ["mcp", "os"],
  protocol: [],
  rpc: [],
  transport: ["rpc", "protocol", "os"],
  os: [],
  launch: ["protocol", "os"],
  process: ["launch", "os", "protocol"],
  fs: ["launch", "os", "protocol", "process"],
  environment: ["protocol", "fs", "launch", "process"],
  http: [],
  net: ["transport"],
  remote: ["rpc", "transport", "http", "os"],
  client: ["rpc", "protocol", "transport", "remote", "fs"],
  local: ["client", "server", "transport", "rpc"],
  server: ["remote", "transport", "rpc", "protocol", "process", "fs", "launch", "environment", "http", "net", "os"],
  rules: [],
  mcp: ["protocol", "rules", "transport", "process", "launch", "os"],
  conform: [],
  cli: [
    "mcp",
    "rules",
    "conform",
    "server",
    "transport",
    "protocol",
    "launch",
    "os",
    "process",
    "fs",
    "remote",
    "client",
  ],
};

Deno.test("every folder of src and every program is looked at, and has imports to look at", () => {
  const folders = [...Deno.readDirSync(new URL("src", ROOT))].filter((entry) => entry.isDirectory);
  const rooms = [...folders.map(({ name }) => name), ...filesBelow("sandbox"), "main.ts"];
  assert.deepEqual(rooms.sort(), Object.keys(MAY_IMPORT).sort());
  // Each rule that lets a folder be imported stands for an import that exists, so that the rules name real folders and
  // the search for import lines finds them.
  const unused = Object.entries(MAY_IMPORT).flatMap(([from, targets]) => {
    const imports = importsOf(from.endsWith(".ts") ? from : `src/${from}`);
    const found = imports.map(({ file, specifier }) => roomOf(targetOf(file, specifier)));
    return targets.filter((to) => !found.includes(to)).map((to) => `${from} -> ${to}`);
  });
  assert.deepEqual(unused, []);
});

Deno.test("source folders and programs import only what the architecture lets them", () => {
  const imports = ["src", "sandbox", "main.ts"].flatMap(importsOf);
  const wrong = imports.filter(({ file, specifier }) => {
    if (!specifier.startsWith(".")) return false;
    const target = targetOf(file, specifier);
    // Files beside the folders (errors, log, clock …) are for everybody, and import nothing but each other.
    if (isForAll(target)) return false;
    const [from, to] = [roomOf(file), roomOf(target)];
    return from === null || to === null || from !== to && !MAY_IMPORT[from]!.includes(to);
  });
  assert.deepEqual(wrong, []);
});

Deno.test("every file that is imported exists, also where it is only loaded later", () => {
  // Type checking takes a dynamic import of a missing file for `any`.
  const missing = ["src", "sandbox", "tests", "bench", "examples", "main.ts"].flatMap(importsOf)
    .filter(({ specifier }) => specifier.startsWith("."))
    .filter(({ file, specifier }) => !isFile(targetOf(file, specifier)));
  assert.deepEqual(missing, []);
});

Deno.test("docs/architecture.md names every folder of src, the arrows between them, and only files that exist", () => {
  const page = Deno.readTextFileSync(new URL("docs/architecture.md", ROOT));
  const files = [...filesBelow("src"), ...filesBelow("sandbox"), ...filesBelow("tests"), "main.ts"];
  const folders = new Set(files.flatMap((file) => /^src\/.*(?=\/)/.exec(file)?.[0].split("/").slice(1) ?? []));
  for (const folder of folders) assert.ok(page.includes(`${folder}/`), `${folder}/ is not on the map`);
  const named = Array.from(page.matchAll(/[\w/]+\.ts\b/g), ([name]) => name);
  assert.ok(named.length > 0);
  const isThere = (name: string) => files.some((file) => file === name || file.endsWith(`/${name}`));
  assert.deepEqual(named.filter((name) => !isThere(name)), []);
  for (const [from, targets] of Object.entries(MAY_IMPORT)) {
    const arrow = new RegExp(`\\b${from.replace(".", "\\.")} → (?:\\{ ([^}]*) \\}|(\\w+))`).exec(page);
    assert.deepEqual((arrow?.[1] ?? arrow?.[2] ?? "").split(", ").filter(Boolean).sort(), [...targets].sort(), from);
  }
});

Deno.test("a file of more than 300 lines says at its head why it is one file", () => {
  const files = ["src", "sandbox", "tests", "bench", "examples"].flatMap((folder) => sourceFiles(folder));
  const long = files.filter(({ text }) => text.trimEnd().split("\n").length > 300);
  assert.ok(long.some(({ file }) => file === "src/protocol/methods.ts"), "long files are seen");
  const unexplained = long.filter(({ text }) => {
    return !text.split("\n").slice(0, 30).some((line) => line.includes("More than 300 lines:"));
  });
  const advice = 'split it, or say why in its head comment: "More than 300 lines: …"';
  assert.deepEqual(unexplained.map(({ file }) => file), [], advice);
});

Deno.test("every function, class and value that a file exports is imported by another one", () => {
  const folders = ["src", "sandbox", "tests", "bench", "examples", ".ci", "main.ts"];
  const files = [...folders.flatMap((place) => sourceFiles(place)), ...sourceFiles("bench", ".mjs")];
  const { exports } = JSON.parse(Deno.readTextFileSync(new URL("deno.json", ROOT)));
  const doors = Object.values<string>(exports).map((path) => path.replace("./", ""));
  assert.deepEqual(unusedExports(files, doors), [], "remove it, or export it no longer");
  // Without tests and benchmarks: what only they use is no part of the program.
  const program = files.filter(({ file }) => !/^(tests|bench)\//.test(file));
  assert.deepEqual(deadExports(program, doors), FOR_TESTS, "remove it, or say here why it is there");
});

/** They renew the parts of pages that are made from the code, and stand beside what makes them. */
const FOR_TESTS = [
  "src/cli/help.ts withFlagsTable",
  "src/protocol/spec/markdown.ts withReference",
];

Deno.test("only npm: packages of the import map and node: modules are imported", () => {
  const known = Object.keys(JSON.parse(Deno.readTextFileSync(new URL("deno.json", ROOT))).imports);
  const wrong = ["src", "sandbox", "tests", "bench", "examples", "main.ts"].flatMap(importsOf)
    .filter(({ specifier }) => {
      return !specifier.startsWith(".") && !specifier.startsWith("node:") && !known.includes(packageOf(specifier));
    });
  assert.deepEqual(wrong, []);
});

Deno.test("zod is imported as the namespace of its small half, so that the bundle leaves out what is not used", () => {
  const files = sourceFiles("src");
  assert.ok(files.some(({ text }) => text.includes('import * as z from "zod/mini"')), "its imports are found");
  for (const { file, text } of files) {
    assert.doesNotMatch(text, /from "zod"/, file);
    assert.doesNotMatch(text, /import (type )?\{[^}]*\} from "zod/, file);
  }
});

Deno.test("schemas of results are loaded only through the method table and by the specification", () => {
  const files = sourceFiles("src");
  const families = files.map(({ file }) => file).filter((file) => /^src\/protocol\/\w+_results\.ts$/.test(file));
  assert.ok(families.length > 0);
  const loaders = files.filter(({ file }) => !file.startsWith("src/protocol/spec/")).flatMap(({ file, text }) => {
    const lines = text.matchAll(
      /^(?:import|export) (?!type\b)[^;]*?from "([^"]*results\.ts)";|import\("([^"]*results\.ts)"\)/gm,
    );
    return Array.from(lines, (line) => `${file} -> ${targetOf(file, (line[1] ?? line[2])!)}`);
  });
  assert.deepEqual(loaders.sort(), [
    "src/protocol/methods.ts -> src/protocol/results.ts",
    ...families.map((family) => `src/protocol/results.ts -> ${family}`).sort(),
  ]);
});

Deno.test("the specification and its texts are loaded only by the command and the method that give them out", () => {
  const loaders = importsOf("src").flatMap(({ file, specifier }) => {
    const target = targetOf(file, specifier);
    const isSpec = /^src\/protocol\/spec(\/\w+)?\.ts$/;
    return isSpec.test(target) && !isSpec.test(file) ? [`${file} -> ${target}`] : [];
  });
  assert.deepEqual(loaders.sort(), [
    "src/cli/spec/spec.ts -> src/protocol/spec.ts",
    "src/cli/spec/spec.ts -> src/protocol/spec/markdown.ts",
    "src/protocol/wire_notes.ts -> src/protocol/spec/constraints.ts",
    "src/server/methods/rpc_discover.ts -> src/protocol/spec.ts",
  ]);
  const text = (file: string) => Deno.readTextFileSync(new URL(file, ROOT));
  // A type costs nothing; the commands and the handler are loaded when they are asked for.
  assert.match(text("src/protocol/wire_notes.ts"), /^import type \{ ConstraintName \}/m);
  assert.doesNotMatch(text("src/cli/spec/spec.ts"), /^import [^;]*protocol\/spec/m);
  assert.doesNotMatch(text("src/server/server.ts"), /^import [^;]*rpc_discover/m);
});

Deno.test("libraries are loaded in src/os alone, and the client uses no Deno API", () => {
  const files = sourceFiles("src");
  const loaders = files.filter(({ text }) => /Deno\.dlopen/.test(text)).map(({ file }) => folderOf(file));
  assert.deepEqual([...new Set(loaders)], ["os"]);
  // The parts of `remote` that clients use, too.
  const portable = ["client", "rpc", "protocol", "remote/relay", "remote/noise", "remote/harness"];
  for (const folder of portable) {
    const inside = files.filter(({ file }) => file.startsWith(`src/${folder}/`));
    assert.ok(inside.length > 0, folder);
    for (const { file, text } of inside) assert.doesNotMatch(withoutComments(text), /\bDeno\./, file);
  }
});

/**
 * The numbers of `rpc`, each with the reason why it is no limit of ours. A limit refuses something, cuts it or makes a
 * peer wait: those are handed over by the callers. A working size only says how work is done. Whatever it is, the same
 * messages are taken and the same answers given.
 */
const NUMBERS_OF_RPC: Record<string, string> = {
  "envelope.ts LONG_MESSAGE_CHARACTERS": "which of two ways reads a message; both take the same messages",
  "envelope.ts LONG_STRING_CHARACTERS": "the same, for a string in it",
  "envelope.ts STRINGS_BEFORE": "how far the faster way looks before the other one is taken",
  "envelope.ts SMALLEST_ID": "the form of a request id: an integer of 64 bits",
  "envelope.ts LARGEST_ID": "the same",
  "envelope.ts LONGEST_INTEGER": "the digits of such an integer; more cannot be one",
  "encoded_result.ts LONG_CONTENT_BYTES": "from where content is encoded while it is sent, and not before",
  "fifo.ts COMPACT_AT": "when the memory of emptied slots is freed",
  "scheduler.ts DRAIN_MS": "how long jobs run before everything else has its turn; none is refused",
  "scheduler.ts JOBS_PER_LOOK": "how often the clock is read meanwhile",
  "streamed_message.ts STEP_BYTES": "how much is encoded at once",
  "strict_json.ts 1000": "three trailing zeros: such a number may have been written with an exponent",
  "whole_text.ts PIECE_BYTES": "how much is gathered at once",
};

/** Numbers of a module: constants by their names, and numbers of three digits and more that have none. */
function numbersOf(text: string): string[] {
  return withoutComments(text).split("\n").flatMap((line) => {
    const [, name, value] = /^\s*(?:export |static |readonly )*const ([A-Z]\w*)[^=]* = (.*)$/.exec(line) ?? [];
    // Codes of characters are written in hexadecimal.
    if (name !== undefined) return /^(?!0x)[-(]*\d/.test(value!) ? [name] : [];
    return Array.from(line.matchAll(/(?<![\w.#{])\d[\d_]{2,}n?\b/g), ([number]) => number);
  });
}

Deno.test("rpc knows no limit of ours: its callers hand them over, and its own numbers are working sizes", () => {
  const sample = "const LIMIT_BYTES = 64;\nconst A: bigint = -(2n ** 63n);\nconst B = 0x2c;\n  if (length > 4096) {";
  assert.deepEqual(numbersOf(sample), ["LIMIT_BYTES", "A", "4096"]);
  const found = sourceFiles("src/rpc").flatMap(({ file, text }) =>
    numbersOf(text).map((name) => `${file.replace("src/rpc/", "")} ${name}`)
  );
  const advice = "let the callers of rpc hand over what is a limit, and say here why the rest is none";
  assert.deepEqual(found.sort(), Object.keys(NUMBERS_OF_RPC).sort(), advice);
});

Deno.test("of the server's filesystem the client borrows the interface, and no code", () => {
  const borrowed = sourceFiles("src/client").flatMap(({ file, text }) => {
    const lines = text.matchAll(/^(?:import|export) ([^;]*?)from "([^"]*)"|\bimport\("([^"]*)"\)/gm);
    return Array.from(lines, ([, clause = "", specifier, dynamic]) => ({
      isType: /^type\b/.test(clause),
      target: targetOf(file, (specifier ?? dynamic)!),
    })).filter(({ target }) => folderOf(target) === "fs");
  });
  assert.ok(borrowed.length > 0);
  assert.deepEqual(borrowed.filter(({ isType, target }) => !isType || target !== "src/fs/file_system.ts"), []);
});

/** What a module does at once when it is imported: waits, or calls the runtime. */
const AT_ONCE = /^(?:export )?(?:await |Deno\.|(?:const|let) [^=\n]+ = (?:await |(?:new )?Deno\.[\w.]+\())/m;

Deno.test("importing a module starts nothing", () => {
  const starting = ["await load();", "Deno.serve();", "const a = await b;", "const a: T = Deno.open();"];
  for (const line of [...starting, "export const { a } = Deno.memoryUsage();"]) assert.match(line, AT_ONCE);
  for (const line of ["const a = () => Deno.open();", "  await b;", "const a = Deno.errors;"]) {
    assert.doesNotMatch(line, AT_ONCE);
  }
  const files = sourceFiles("src");
  assert.ok(files.some(({ text }) => /Deno\.\w+\(/.test(text)), "calls of the runtime are found");
  for (const { file, text } of files) assert.doesNotMatch(withoutComments(text), AT_ONCE, file);
});

/** Files that may import each other, and say why at the head of one of them. */
const MUTUAL = [
  ["src/rules/language/expression_parser.ts", "src/rules/language/parameter_parser.ts"],
];

Deno.test("no files load each other in a circle, except those that are named here", () => {
  const files = ["src", "sandbox", "main.ts"].flatMap((place) => sourceFiles(place));
  const loads = new Map(files.map(({ file, text }) => [file, loadsOf(file, text)]));
  const reached = new Map(files.map(({ file }) => {
    const set = new Set(loads.get(file));
    for (const target of set) loads.get(target)?.forEach((next) => set.add(next));
    return [file, set];
  }));
  assert.ok(reached.get("src/server/server.ts")!.has("src/errors.ts"), "the imports are followed");
  const circles = files.map(({ file }) => [...reached.get(file)!].filter((other) => reached.get(other)?.has(file)))
    .filter((circle) => circle.length > 0);
  const distinct = new Set(circles.map((circle) => circle.sort().join(" <-> ")));
  assert.deepEqual([...distinct].sort(), MUTUAL.map((circle) => circle.join(" <-> ")));
});

Deno.test("what only remote mode needs is loaded by nothing else", () => {
  for (
    const entry of ["src/cli/serve/serve.ts", "src/server/mod.ts", "src/client/mod.ts", "src/cli/doctor/doctor.ts"]
  ) {
    const loaded = loadedBy(entry);
    assert.ok(loaded.size > 10, entry);
    const extra = [...loaded].filter((file) =>
      /^@noble\/|^src\/remote\/(?!executor\/identity_place|registry\/)/.test(file)
    );
    assert.deepEqual(extra, [], entry);
  }
  assert.ok([...loadedBy("src/remote/executor/noise_source.ts")].some((file) => file.startsWith("@noble/")));
});

/** What a module loads at once: without what is imported for its types, or when it is asked for. */
function loadedBy(entry: string): Set<string> {
  const loaded = new Set([entry]);
  for (const file of loaded) {
    if (!file.startsWith("src/")) continue;
    for (const target of loadsOf(file, Deno.readTextFileSync(new URL(file, ROOT)))) loaded.add(target);
  }
  return loaded;
}

/** The modules that have to be there before this one. */
function loadsOf(file: string, text: string): string[] {
  const lines = text.matchAll(/^(?:import|export) ([^;'"]*?)from "([^"]+)"|^import "([^"]+)"/gm);
  return Array.from(lines).flatMap(([, clause = "", from, alone]) => {
    const isTypesOnly = /^type\b/.test(clause) || /^\{(\s*type \w+( as \w+)?,?)+\s*\}\s*$/.test(clause);
    return isTypesOnly ? [] : [targetOf(file, (from ?? alone)!)];
  });
}

function isFile(file: string): boolean {
  try {
    return Deno.statSync(new URL(file, ROOT)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Whose rule holds for a file: that of its folder of `src/`, or its own. */
function roomOf(file: string): string | null {
  return folderOf(file) ?? (file in MAY_IMPORT ? file : null);
}

function isForAll(file: string): boolean {
  return /^src\/[^/]+$/.test(file);
}

function folderOf(file: string): string | null {
  return /^src\/([^/]+)\//.exec(file)?.[1] ?? null;
}

/** `zod` of `zod/mini`, `@xterm/headless` of itself. */
function packageOf(specifier: string): string {
  return /^(@[^/]+\/)?[^/]+/.exec(specifier)![0];
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/\/\/.*$/gm, "");
}
