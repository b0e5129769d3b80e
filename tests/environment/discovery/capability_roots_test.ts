/**
 * What is found below given directories, and what is left out.
 *
 * More than 300 lines: most lines are trees of files and what comes of them.
 */

import assert from "node:assert/strict";
import { discoverCapabilityRoots, type FilesFor } from "../../../src/environment/discovery/capability_roots.ts";
import { MAX_CAPABILITY_BUNDLE_BYTES, MAX_CAPABILITY_FILE_BYTES } from "../../../src/environment/limits.ts";
import { DomainError, invalidParams, invalidRequest } from "../../../src/errors.ts";
import { createDirectFileSystem } from "../../../src/fs/direct.ts";
import { CapabilityRootsDiscoverParams } from "../../../src/protocol/capability_discovery.ts";
import type { FileSystem } from "../../../src/fs/file_system.ts";
import { FileTree } from "../../support/file_tree.ts";

const direct = createDirectFileSystem();

async function discover(roots: unknown[], filesFor: FilesFor = () => direct) {
  return (await discoverCapabilityRoots(CapabilityRootsDiscoverParams.parse({ roots }).roots, filesFor)).roots;
}

async function discoverOne(tree: FileTree, path: string) {
  const [root] = await discover([{ id: "r", path: tree.uri(path) }]);
  return root!;
}

function skill(name: string): string {
  return `---\nname: ${name}\ndescription: d\n---\nbody`;
}

/** Paths below the root, for short. */
function names(tree: FileTree, root: string, files: { path: string }[]): string[] {
  return files.map(({ path }) => path.replace(`${tree.uri(root)}/`, ""));
}

Deno.test("discoverCapabilityRoots() answers a plugin with all its files", async () => {
  await using tree = await FileTree.make({
    "p/.codex-plugin/plugin.json": `{"name":"p1"}`,
    "p/.claude-plugin/plugin.json": `{"name":"claude"}`,
    "p/.mcp.json": "{}",
    "p/skills/s1/SKILL.md": skill("s1"),
    "p/skills/s1/agents/openai.yaml": "x: 1",
    "p/skills/nested/a/b/SKILL.md": skill("nested"),
    "p/.hidden/SKILL.md": skill("hidden"),
    "p/skill.md": "not a skill",
    "p/sub/.cursor-plugin/plugin.json": `{"name":"cursor"}`,
  });
  const file = (path: string, contents: string) => ({ path: tree.uri(path), contents });
  const manifest = file("p/.codex-plugin/plugin.json", `{"name":"p1"}`);
  assert.deepEqual(await discoverOne(tree, "p"), {
    id: "r",
    path: tree.uri("p"),
    plugin: { manifest, mcpConfig: file("p/.mcp.json", "{}"), appsConfig: null },
    skills: [
      { instructions: file("p/.hidden/SKILL.md", skill("hidden")), metadata: null },
      { instructions: file("p/skills/nested/a/b/SKILL.md", skill("nested")), metadata: null },
      {
        instructions: file("p/skills/s1/SKILL.md", skill("s1")),
        metadata: file("p/skills/s1/agents/openai.yaml", "x: 1"),
      },
    ],
    namespaceManifests: [manifest, file("p/sub/.cursor-plugin/plugin.json", `{"name":"cursor"}`)],
    warnings: [],
    error: null,
  });
});

Deno.test("discoverCapabilityRoots() answers in the order asked, with ids as given", async () => {
  await using tree = await FileTree.make({ "a/SKILL.md": skill("a"), "file": "" });
  const roots = await discover(
    ["a", "nope", "file", "file/x", "a"].map((path) => ({ id: "same", path: tree.uri(path) })),
  );
  assert.deepEqual(roots.map(({ id, skills, error }) => [id, skills.length, error]), [
    ["same", 1, null],
    [
      "same",
      0,
      `failed to inspect capability root ${tree.uri("nope")}: No such file or directory (os error 2)`,
    ],
    ["same", 0, `capability root ${tree.uri("file")} is not a directory`],
    ["same", 0, `failed to inspect capability root ${tree.uri("file/x")}: Not a directory (os error 20)`],
    ["same", 1, null],
  ]);
  assert.deepEqual(await discover([]), []);
});

Deno.test("discoverCapabilityRoots() reports a path of another machine as the failure of that root only", async () => {
  await using tree = await FileTree.make({ "a/SKILL.md": skill("a") });
  const [foreign, own] = await discover([{ id: "f", path: "file://host/x" }, { id: "o", path: tree.path("a") }]);
  assert.equal(foreign?.path, "file://host/x");
  assert.match(foreign.error ?? "", /^failed to inspect capability root file:\/\/host\/x: /);
  assert.deepEqual([own?.path, own?.skills.length], [tree.uri("a"), 1]);
});

Deno.test("discoverCapabilityRoots() refuses more roots than it takes", async () => {
  const roots = (count: number) => Array.from({ length: count }, (_, at) => ({ id: `${at}`, path: "/nonexistent/x" }));
  assert.equal((await discover(roots(128))).length, 128);
  await assert.rejects(discover(roots(129)), (error: DomainError) => {
    return error.kind === "invalidRequest" && error.message === "capability root discovery accepts at most 128 roots";
  });
});

Deno.test("discoverCapabilityRoots() names skills below a plugin by the manifest above", async () => {
  await using tree = await FileTree.make({
    "p/.claude-plugin/plugin.json": `{"name":"p"}`,
    "p/skills/a/SKILL.md": skill("a"),
  });
  const root = await discoverOne(tree, "p/skills/a");
  assert.equal(root.plugin, null);
  assert.deepEqual(names(tree, "p", root.namespaceManifests), [".claude-plugin/plugin.json"]);
});

Deno.test("discoverCapabilityRoots() looks six directories deep", async () => {
  await using tree = await FileTree.make({
    "d/1/2/3/4/5/6/SKILL.md": skill("6"),
    "d/1/2/3/4/5/6/7/SKILL.md": skill("7"),
  });
  const { skills, warnings } = await discoverOne(tree, "d");
  assert.deepEqual(names(tree, "d", skills.map(({ instructions }) => instructions)), ["1/2/3/4/5/6/SKILL.md"]);
  assert.deepEqual(warnings, []);
});

Deno.test("discoverCapabilityRoots() leaves out files that are too large or not text, and says so", async () => {
  await using tree = await FileTree.make({
    "r/fits/SKILL.md": "x".repeat(MAX_CAPABILITY_FILE_BYTES),
    "r/large/SKILL.md": "x".repeat(MAX_CAPABILITY_FILE_BYTES + 1),
    "r/bytes/SKILL.md": Uint8Array.of(0xff, 0xfe),
  });
  const { skills, warnings } = await discoverOne(tree, "r");
  assert.deepEqual(names(tree, "r", skills.map(({ instructions }) => instructions)), ["fits/SKILL.md"]);
  assert.deepEqual(warnings, [
    `capability file ${tree.uri("r/bytes/SKILL.md")} is not UTF-8`,
    `capability file ${tree.uri("r/large/SKILL.md")} exceeds the 1048576-byte limit`,
  ]);
});

Deno.test("discoverCapabilityRoots() bounds the bytes of one root, and of all", async () => {
  await using tree = await FileTree.make();
  const count = MAX_CAPABILITY_BUNDLE_BYTES / MAX_CAPABILITY_FILE_BYTES + 2;
  const text = "x".repeat(MAX_CAPABILITY_FILE_BYTES);
  for (let at = 0; at < count; at++) await tree.write(`r/${at + 10}/SKILL.md`, text);
  const one = await discoverOne(tree, "r");
  assert.equal(one.skills.length, count - 2);
  assert.deepEqual(one.warnings, Array(2).fill("capability root bundle exceeds the 16777216-byte limit"));

  const three = await discover(["a", "b", "c"].map((id) => ({ id, path: tree.uri("r") })));
  assert.equal(three.reduce((sum, { skills }) => sum + skills.length, 0), 2 * (count - 2));
  assert(three.some(({ warnings }) => warnings.includes("capability answer exceeds the 33554432-byte limit")));
});

Deno.test("discoverCapabilityRoots() reserves what it answers before it is read, and begins anew when it has waited", async () => {
  await using tree = await FileTree.make();
  const bytes = MAX_CAPABILITY_FILE_BYTES;
  for (let at = 0; at < 8; at++) await tree.write(`r/${at}/SKILL.md`, "x".repeat(bytes));
  let reserved = 0;
  let held = 0;
  const counting = new Proxy(direct, {
    get: (files, name: keyof FileSystem) => {
      if (name !== "readFile") return Reflect.get(files, name).bind(files);
      return (...args: Parameters<FileSystem["readFile"]>) => {
        held += bytes;
        assert.ok(2 * held <= reserved, `${held} bytes are held, and ${reserved} reserved`);
        return files.readFile(...args);
      };
    },
  });
  const waits: number[] = [];
  const { roots } = await discoverCapabilityRoots(
    CapabilityRootsDiscoverParams.parse({ roots: [{ id: "r", path: tree.uri("r") }] }).roots,
    () => counting,
    {
      reserve: (wanted) => {
        const mustWait = wanted > Math.max(reserved, 4 * bytes);
        reserved = Math.max(reserved, wanted);
        if (!mustWait) return;
        waits.push(wanted / bytes);
        held = 0;
        return Promise.resolve();
      },
    },
  );
  assert.equal(roots[0]!.skills.length, 8);
  assert.deepEqual(waits, [8, 16, 32]);
});

Deno.test("discoverCapabilityRoots() says when a root is too large to be looked at whole", async () => {
  await using tree = await FileTree.make();
  for (let at = 0; at < 2001; at++) await tree.directory(`r/${at}`);
  const { warnings } = await discoverOne(tree, "r");
  assert.deepEqual(warnings, [`capability scan reached its traversal limit (root: ${tree.uri("r")})`]);
});

Deno.test("discoverCapabilityRoots() follows links to directories, not around in circles", async () => {
  await using tree = await FileTree.make({ "r/real/SKILL.md": skill("real"), "elsewhere/s/SKILL.md": skill("s") });
  await tree.link("r/link", tree.path("elsewhere"));
  await tree.link("r/loop", tree.path("r"));
  await tree.link("r/broken", tree.path("nowhere"));
  const { skills, warnings } = await discoverOne(tree, "r");
  const found = names(tree, "r", skills.map(({ instructions }) => instructions));
  assert.deepEqual(found, ["link/s/SKILL.md", "real/SKILL.md"]);
  assert.deepEqual(warnings, []);
});

Deno.test("discoverCapabilityRoots() reads the files that a manifest declares, and none outside of the root", async () => {
  const table: [string, { mcp: string | null; apps: string | null; warnings?: string[] }][] = [
    [`{"mcpServers":"./conf/mcp.json","apps":"./apps.json"}`, { mcp: "conf/mcp.json", apps: "apps.json" }],
    [`{"mcpServers":{"a":{}}}`, { mcp: null, apps: ".app.json" }],
    [`{"mcpServers":null,"apps":5}`, { mcp: ".mcp.json", apps: ".app.json" }],
    [`{"mcpServers":["./a"]}`, { mcp: ".mcp.json", apps: ".app.json" }],
    [`{"mcpServers":"./none.json"}`, { mcp: null, apps: ".app.json" }],
    [`{"apps":"./none.json"}`, { mcp: ".mcp.json", apps: null }],
    [`{"apps":{"a":{}}}`, { mcp: ".mcp.json", apps: ".app.json" }],
    [`{"apps":"./a b%20.json"}`, { mcp: ".mcp.json", apps: "a%20b%2520.json" }],
    [`[]`, { mcp: ".mcp.json", apps: ".app.json" }],
    [`{not json`, { mcp: ".mcp.json", apps: ".app.json" }],
    [`{"mcpServers":"conf/mcp.json"}`, {
      mcp: ".mcp.json",
      apps: ".app.json",
      warnings: ["path must start with `./`"],
    }],
    [
      `{"mcpServers":"./../secret","apps":"./"}`,
      { mcp: ".mcp.json", apps: ".app.json", warnings: Array(2).fill("path must remain below the capability root") },
    ],
    [
      `{"mcpServers":".//etc/passwd","apps":"./conf\\\\..\\\\x"}`,
      { mcp: ".mcp.json", apps: ".app.json", warnings: Array(2).fill("path must remain below the capability root") },
    ],
  ];
  for (const [manifest, { mcp, apps, warnings = [] }] of table) {
    await using tree = await FileTree.make({
      "r/.codex-plugin/plugin.json": manifest,
      "r/conf/mcp.json": "MCP",
      "r/apps.json": "APPS",
      "r/a b%20.json": "ODD",
      "r/.mcp.json": "DEFAULT",
      "r/.app.json": "DEFAULT",
      "secret": "SECRET",
    });
    const { plugin, warnings: found } = await discoverOne(tree, "r");
    const pathOf = (file: { path: string } | null | undefined) => file?.path.replace(`${tree.uri("r")}/`, "") ?? null;
    assert.deepEqual([pathOf(plugin?.mcpConfig), pathOf(plugin?.appsConfig)], [mcp, apps], manifest);
    assert.deepEqual(found.map((warning) => warning.split(": ").at(-1)), warnings, manifest);
  }
});

Deno.test("discoverCapabilityRoots() reads each root through its own sandbox, and never without it", async () => {
  await using tree = await FileTree.make({ "a/SKILL.md": skill("a") });
  const asked: unknown[] = [];
  const roots = await discover([
    { id: "none", path: tree.uri("a") },
    { id: "some", path: tree.uri("a"), sandbox: { permissions: "x" } },
  ], (sandbox) => {
    asked.push(sandbox);
    if (sandbox !== undefined) throw invalidRequest("no sandbox can be had");
    return direct;
  });
  assert.deepEqual(asked, [undefined, { permissions: "x" }]);
  assert.deepEqual(roots.map(({ skills, error }) => [skills.length, error]), [
    [1, null],
    [0, `failed to inspect capability root ${tree.uri("a")}: no sandbox can be had`],
  ]);
  await assert.rejects(
    discover([{ id: "bad", path: tree.uri("a"), sandbox: 5 }], () => {
      throw invalidParams("sandbox must be an object");
    }),
    { kind: "invalidParams" },
  );
});

Deno.test("discoverCapabilityRoots() says which files the sandbox keeps from it, and goes on", async () => {
  await using tree = await FileTree.make({
    "p/.codex-plugin/plugin.json": "{}",
    "p/.claude-plugin/plugin.json": `{"name":"second"}`,
    "p/a/SKILL.md": skill("a"),
    "p/b/SKILL.md": skill("b"),
  });
  const denied = [tree.path("p/.codex-plugin/plugin.json"), tree.path("p/a/SKILL.md")];
  const check = (path: unknown) => {
    if (denied.includes(String(path))) throw invalidRequest("Permission denied (os error 13)");
  };
  const [root] = await discover([{ id: "r", path: tree.uri("p") }], () => ({
    ...direct,
    getMetadata: async (request, signal) => {
      if (request.path === denied[0]) check(request.path);
      return await direct.getMetadata(request, signal);
    },
    readFile: async (request, sink, signal) => {
      check(request.path);
      await direct.readFile(request, sink, signal);
    },
  }));
  assert.equal(root?.plugin?.manifest.contents, `{"name":"second"}`);
  assert.deepEqual(root.skills.length, 1);
  assert.deepEqual(root.warnings, [
    `failed to inspect capability file ${tree.uri("p/.codex-plugin/plugin.json")}: Permission denied (os error 13)`,
    `failed to read capability file ${tree.uri("p/a/SKILL.md")}: Permission denied (os error 13)`,
  ]);
});

Deno.test("discoverCapabilityRoots() stops when nobody waits any more", async () => {
  await using tree = await FileTree.make({ "a/SKILL.md": skill("a") });
  const { roots } = CapabilityRootsDiscoverParams.parse({ roots: [{ id: "a", path: tree.uri("a") }] });
  await assert.rejects(
    discoverCapabilityRoots(roots, () => direct, { signal: AbortSignal.abort(new Error("gone")) }),
    /gone/,
  );
});
