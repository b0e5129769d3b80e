import assert from "node:assert/strict";

const ROOT = new URL("../../../", import.meta.url);

/** What a module needs before it runs: imports and re-exports of values, not of types, and not `import()`. */
function staticImports(text: string): string[] {
  const lines = text.matchAll(/^(?:import|export)\s+(?!type\b)(?:[^;'"]*?\sfrom\s+)?["']([^"']+)["'];?$/gm);
  return Array.from(lines, ([statement, specifier]) => {
    const names = /\{([^}]*)\}/.exec(statement)?.[1]?.split(",").map((name) => name.trim()).filter((name) =>
      name !== ""
    );
    const isOfTypes = names !== undefined && names.length > 0 && names.every((name) => name.startsWith("type "));
    return isOfTypes && !/^import\s+\w/.test(statement) ? "" : specifier!;
  }).filter((specifier) => specifier !== "");
}

/** Everything that is loaded with a module, and the way to it. */
async function loadedWith(entry: string): Promise<Map<string, string>> {
  const found = new Map([[new URL(entry, ROOT).href, entry]]);
  for (const [url, way] of found) {
    if (!url.startsWith("file:")) continue;
    for (const specifier of staticImports(await Deno.readTextFile(new URL(url)))) {
      const target = specifier.startsWith(".") ? new URL(specifier, url).href : specifier;
      if (!found.has(target)) found.set(target, `${way} > ${specifier.split("/").at(-1)}`);
    }
  }
  return found;
}

Deno.test("a server loads no package, no schema and no node module before it listens", async () => {
  const loaded = await loadedWith("src/cli/serve/serve.ts");
  assert.ok(loaded.size > 50, `${loaded.size} modules`);
  const heavy = [...loaded].filter(([name]) => !name.startsWith("file:")).map(([, way]) => way);
  assert.deepEqual(heavy, [], "load it behind the listener: see src/server/late_methods.ts");
});

Deno.test("the program itself loads next to nothing before it knows its mode", async () => {
  const names = [...(await loadedWith("main.ts")).keys()].map((url) => url.slice(ROOT.href.length));
  assert.ok(names.every((name) => /^(main|src\/cli\/[a-z_]+|src\/[a-z_]+)\.ts$/.test(name)), names.join(" "));
});
