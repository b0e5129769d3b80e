/** The dependency rules of docs/architecture.md, read from the import lines. */

import assert from "node:assert/strict";

const ROOT = new URL("..", import.meta.url);

/** Which folders of `src/` a folder may import from, besides itself. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  protocol: ["rpc"],
  rpc: ["protocol"],
  transport: ["rpc", "protocol", "os"],
  os: [],
  launch: ["protocol", "os"],
  process: ["launch", "os", "protocol"],
  fs: ["launch", "os", "protocol"],
  environment: ["protocol", "fs", "launch", "process"],
  http: ["protocol"],
  client: ["rpc", "protocol"],
  server: ["transport", "rpc", "protocol", "process", "fs", "launch", "environment", "http", "os"],
  cli: ["server", "transport", "protocol", "client", "launch", "os", "environment", "process", "fs"],
};

interface ImportLine {
  readonly file: string;
  readonly specifier: string;
}

Deno.test("source folders import only what the architecture lets them", () => {
  const wrong = importsOf("src").filter(({ file, specifier }) => {
    if (!specifier.startsWith(".")) return false;
    const from = folderOf(file);
    const target = new URL(specifier, new URL(file, ROOT)).pathname.slice(ROOT.pathname.length);
    const to = folderOf(target);
    if (from === null || to === null || from === to) return false;
    return !(MAY_IMPORT[from] ?? []).includes(to);
  });
  assert.deepEqual(wrong, []);
});

Deno.test("only npm: packages of the import map and node: modules are imported", () => {
  const known = Object.keys(JSON.parse(Deno.readTextFileSync(new URL("deno.json", ROOT))).imports);
  const wrong = [...importsOf("src"), ...importsOf("sandbox"), ...importsOf("tests"), ...importsOf("bench")]
    .filter(({ specifier }) => {
      return !specifier.startsWith(".") && !specifier.startsWith("node:") && !known.includes(specifier);
    });
  assert.deepEqual(wrong, []);
});

Deno.test("zod is imported as a namespace, which is what lets the bundle leave its unused half out", () => {
  for (const { file, text } of sourceFiles("src")) {
    assert.doesNotMatch(text, /import (type )?\{[^}]*\} from "zod"/, file);
  }
});

Deno.test("libraries are loaded in src/os alone, and the client uses no Deno API", () => {
  for (const { file, text } of sourceFiles("src")) {
    if (folderOf(file) !== "os") assert.doesNotMatch(text, /Deno\.dlopen/, file);
    if (["client", "rpc", "protocol"].includes(folderOf(file) ?? "")) {
      assert.doesNotMatch(withoutComments(text), /\bDeno\./, file);
    }
  }
});

Deno.test("importing a module starts nothing", () => {
  for (const { file, text } of sourceFiles("src")) {
    assert.doesNotMatch(withoutComments(text), /^(await |Deno\.|const \w+ = await )/m, file);
  }
});

function importsOf(folder: string): ImportLine[] {
  return [...sourceFiles(folder)].flatMap(({ file, text }) => {
    const pattern =
      /(?:^|\n)\s*(?:import|export)\b[^;'"]*?from\s+"([^"]+)"|\bimport\("([^"]+)"\)|(?:^|\n)import "([^"]+)"/g;
    return [...text.matchAll(pattern)].map((match) => ({ file, specifier: (match[1] ?? match[2] ?? match[3])! }));
  });
}

function* sourceFiles(folder: string): Generator<{ file: string; text: string }> {
  for (const entry of Deno.readDirSync(new URL(folder, ROOT))) {
    const file = `${folder}/${entry.name}`;
    if (entry.isDirectory) yield* sourceFiles(file);
    else if (file.endsWith(".ts")) yield { file, text: Deno.readTextFileSync(new URL(file, ROOT)) };
  }
}

function folderOf(file: string): string | null {
  return /^src\/([^/]+)\//.exec(file)?.[1] ?? null;
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/\/\/.*$/gm, "");
}
