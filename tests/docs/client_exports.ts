/**
 * What `exec-server/client` and `exec-server/local` export is documented: `deno doc --lint` has nothing to say, every
 * export has an example, and the examples compile.
 *
 * An example that imports something is a program. Any other stands in a function that has a `box` and a `handle`, and
 * knows every export.
 */

import assert from "node:assert/strict";
import { inScratchDirectory } from "../support/scratch_directory.ts";

const ROOT = new URL("../..", import.meta.url);
const DOORS = { "exec-server/client": "src/client/mod.ts", "exec-server/local": "src/local/mod.ts" };
const EXAMPLE = /```ts\n([\s\S]*?)```/g;

interface Declaration {
  readonly jsDoc?: { readonly doc?: string };
  /** Of a class: its methods and the like have examples of their own. */
  readonly def?: { readonly methods?: readonly Declaration[]; readonly properties?: readonly Declaration[] };
}

interface Exported {
  readonly name: string;
  readonly declarations: readonly Declaration[];
}

Deno.test("deno doc finds nothing to complain about", async () => {
  await deno(["doc", "--lint", ...Object.values(DOORS)], ROOT.pathname);
});

Deno.test("every export of the library has an example, and all examples compile", () =>
  inScratchDirectory(async (directory) => {
    const client = await exportsOf(DOORS["exec-server/client"]);
    const local = await exportsOf(DOORS["exec-server/local"]);
    assert.ok(client.length > 50 && local.length > 3, "exports were found");
    const bare = [...client, ...local].filter(({ declarations }) => examplesOf(declarations).length === 0);
    assert.deepEqual(bare.map(({ name }) => name), []);

    const imports = Object.fromEntries(
      Object.entries(DOORS).map(([name, path]) => [name, new URL(path, ROOT).href]),
    );
    const known = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
    const { compilerOptions } = known;
    await Deno.writeTextFile(
      `${directory}/deno.json`,
      JSON.stringify({ imports: { ...absolute(known.imports), ...imports }, compilerOptions }),
    );
    const names = client.map(({ name }) => name);
    const files: string[] = [];
    // Those of the second door take the whole server along; what both have is looked at once.
    const own = local.filter(({ name }) => !names.includes(name));
    for (const { name, declarations } of [...client, ...own]) {
      for (const [index, code] of examplesOf(declarations).entries()) {
        // Not every filesystem tells a class from the function of the same letters.
        const file = `${directory}/${files.length}_${name}_${index}.ts`;
        await Deno.writeTextFile(file, programOf(code, names));
        files.push(file);
      }
    }
    assert.ok(files.length >= client.length);
    await deno(["check", "--quiet", "--no-lock", ...files], directory);
  }));

function examplesOf(declarations: readonly Declaration[]): string[] {
  return declarations.flatMap(({ jsDoc, def }) => [
    ...Array.from((jsDoc?.doc ?? "").matchAll(EXAMPLE), ([, code]) => code!),
    ...examplesOf([...def?.methods ?? [], ...def?.properties ?? []]),
  ]);
}

function programOf(code: string, names: readonly string[]): string {
  if (/^import /m.test(code)) return code;
  return `import { ${names.join(", ")} } from "exec-server/client";
declare const box: Devbox;
declare const handle: ProcessHandle;
async function example(): Promise<void> {
${code}
}
`;
}

async function exportsOf(door: string): Promise<Exported[]> {
  const { nodes } = JSON.parse(await deno(["doc", "--json", door], ROOT.pathname));
  return (Object.values(nodes) as { symbols: Exported[] }[]).flatMap(({ symbols }) => symbols);
}

/** Relative entries of an import map, seen from elsewhere. */
function absolute(imports: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(imports).map(([name, to]) => [name, to.startsWith(".") ? new URL(to, ROOT).href : to]),
  );
}

async function deno(args: string[], cwd: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd, env: { NO_COLOR: "1" } })
    .output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  assert.ok(success, text(stdout) + text(stderr));
  return text(stdout);
}
