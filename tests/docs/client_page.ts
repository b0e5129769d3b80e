/** The examples of docs/client.md are programs: they compile, and they run against a real server. */

import assert from "node:assert/strict";
import { RemoteChild } from "../support/remote_child.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestRendezvous } from "../support/test_rendezvous.ts";
import { TestServer } from "../support/test_server.ts";

const ROOT = new URL("../..", import.meta.url);
const PAGE = Deno.readTextFileSync(new URL("docs/client.md", ROOT));
const EXAMPLES = [...PAGE.matchAll(/^## (.+)$|^```ts\n([\s\S]*?)^```$/gm)].reduce(
  (found: { title: string; code: string }[], [, title, code]) => {
    if (title !== undefined) found.push({ title, code: "" });
    else if (found.length > 0) found.at(-1)!.code = code!;
    return found;
  },
  [],
).filter(({ code }) => code !== "");

Deno.test("the examples of docs/client.md run", async (t) => {
  assert.ok(EXAMPLES.length >= 9, `only ${EXAMPLES.length} examples were found`);
  await using server = await TestServer.start();
  await inScratchDirectory(async (directory) => {
    const work = `${directory}/work`;
    await Deno.mkdir(`${directory}/project/node_modules`, { recursive: true });
    await Deno.writeTextFile(`${directory}/project/a.ts`, "a");
    await Deno.mkdir(work);
    const imports = {
      "exec-server/client": new URL("src/client/mod.ts", ROOT).href,
      "exec-server/local": new URL("src/local/mod.ts", ROOT).href,
      ...absolute(JSON.parse(Deno.readTextFileSync(new URL("deno.json", ROOT))).imports),
    };
    await Deno.writeTextFile(`${directory}/deno.json`, JSON.stringify({ imports }));
    await using rendezvous = await TestRendezvous.start(directory);
    const executorToken = await rendezvous.token(["executor"]);
    await Deno.writeTextFile(`${directory}/alice.token`, `${await rendezvous.token(["client"])}\n`);
    await using executor = new RemoteChild({
      args: ["--remote", rendezvous.url, "--environment-id", "box-1", "--identity-file", `${directory}/identity`],
      env: { EXEC_SERVER_REMOTE_TOKEN: executorToken },
    });
    await executor.connected();
    const files = EXAMPLES.map(({ code }, index) => {
      const file = `${directory}/example_${index}.ts`;
      const ours = code.replaceAll("ws://127.0.0.1:9000", server.url).replaceAll('"/work', `"${work}`)
        .replaceAll("https://meet.example.com", rendezvous.url);
      Deno.writeTextFileSync(file, ours);
      return file;
    });
    // Those that take the whole server along are checked where it is.
    const light = files.filter((_, index) => !EXAMPLES[index]!.code.includes("exec-server/local"));
    await t.step("they compile", async () => void await deno(["check", "--quiet", "--no-lock", ...light], directory));
    for (const [index, { title }] of EXAMPLES.entries()) {
      await t.step(title, async () => {
        const output = await deno(
          ["run", "--quiet", "--no-check", "--no-lock", "--allow-all", files[index]!],
          directory,
        );
        assert.notEqual(output, "", "it prints something");
      });
    }
  });
});

/** Relative entries of an import map, seen from elsewhere. */
function absolute(imports: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(imports).map((
      [name, target],
    ) => [name, target.startsWith(".") ? new URL(target, ROOT).href : target]),
  );
}

async function deno(args: string[], cwd: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  assert.ok(success, text(stdout) + text(stderr));
  return text(stdout);
}
