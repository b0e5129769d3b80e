/** The pages of this project lead to each other: every link within them has a target. */

import assert from "node:assert/strict";

const ROOT = new URL("..", import.meta.url);

/** Pages, from the root. */
const PAGES = [
  ...["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "sandbox/README.md"],
  ...[...Deno.readDirSync(new URL("docs", ROOT))].map(({ name }) => `docs/${name}`).filter((name) =>
    name.endsWith(".md")
  ),
];

Deno.test("every link from one page to another leads to a file, and to a heading of it", () => {
  const wrong: string[] = [];
  let links = 0;
  for (const page of PAGES) {
    const here = new URL(page, ROOT);
    for (const [, target] of readText(here).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target!)) continue;
      links++;
      const [path, anchor] = target!.split("#");
      const file = path === "" ? here : new URL(path!, here);
      if (!exists(file) || (anchor !== undefined && !anchorsOf(file).has(anchor))) wrong.push(`${page}: ${target}`);
    }
  }
  assert.ok(links > 100, `${links} links`);
  assert.deepEqual(wrong, []);
});

Deno.test("docs/embedding.md has every module that deno.json exports, and README.md every package it imports", () => {
  const { exports, imports } = JSON.parse(readText(new URL("deno.json", ROOT)));
  const [page, readme] = ["docs/embedding.md", "README.md"].map((name) => readText(new URL(name, ROOT)));
  assert.deepEqual(
    Array.from(page!.matchAll(/^\| `(\.\/[\w-]+)`/gm), ([, name]) => name).sort(),
    Object.keys(exports).sort(),
  );
  const dependencies = readme!.split("## Dependencies")[1]!.split("\n## ")[0]!;
  assert.deepEqual(Object.keys(imports).filter((name) => !new RegExp(`[\`\\[]${name}[\`\\]]`).test(dependencies)), []);
});

function anchorsOf(page: URL): Set<string> {
  const text = readText(page);
  const headings = Array.from(
    text.matchAll(/^#+ (.*)$/gm),
    ([, heading]) => heading!.toLowerCase().replace(/[^\w\- ]/g, "").replaceAll(" ", "-"),
  );
  return new Set([...headings, ...Array.from(text.matchAll(/<a id="([^"]+)">/g), ([, id]) => id!)]);
}

/** Without blocks of code, which may look like links and headings. */
function readText(page: URL): string {
  return Deno.readTextFileSync(page).replace(/^```[\s\S]*?^```/gm, "");
}

function exists(file: URL): boolean {
  try {
    Deno.statSync(file);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
