/**
 * What is said of the plugins and skills of a machine, and what looking at them costs.
 *
 * More than 300 lines: most lines are trees of files and what comes of them.
 */

import assert from "node:assert/strict";
import type { Surroundings } from "../../../src/environment/discovery/answer_room.ts";
import { discoverCapabilities } from "../../../src/environment/discovery/capabilities_v2.ts";
import { TURNS_FOR_OTHERS } from "../../../src/environment/discovery/long_steps.ts";
import { invalidParams, invalidRequest } from "../../../src/errors.ts";
import { createDirectFileSystem } from "../../../src/fs/direct.ts";
import type { FileSystem } from "../../../src/fs/file_system.ts";
import { FileTree } from "../../support/file_tree.ts";

const METADATA_INCOMPLETE = "some capability metadata could not be loaded; discovery may be incomplete";
const LOCATIONS_INCOMPLETE = "some capability locations could not be resolved; discovery may be incomplete";

async function discover(
  tree: FileTree,
  files: FileSystem = createDirectFileSystem(),
  surroundings: Surroundings = {},
) {
  return await discoverCapabilities({
    files,
    codexHome: tree.path("codex"),
    userHome: tree.path("home"),
    systemDirectory: tree.path("etc"),
  }, surroundings);
}

function skill(name: string): string {
  return `---\nname: ${name}\ndescription: does ${name}\n---\nSECRET INSTRUCTIONS`;
}

Deno.test("discoverCapabilities() answers nothing on a machine with nothing", async () => {
  await using tree = await FileTree.make();
  assert.deepEqual(await discover(tree), { plugins: [], skills: [], warnings: [] });
});

Deno.test("discoverCapabilities() refuses a malformed sandbox object, and warns of one that cannot be enforced", async () => {
  await using tree = await FileTree.make();
  const under = (refusal: Error): FileSystem =>
    new Proxy(createDirectFileSystem(), { get: () => () => Promise.reject(refusal) });
  await assert.rejects(discover(tree, under(invalidParams("missing field `permissions`"))), { kind: "invalidParams" });
  const { warnings } = await discover(tree, under(invalidRequest("no sandbox can be had")));
  assert.deepEqual(warnings, [LOCATIONS_INCOMPLETE]);
});

Deno.test("discoverCapabilities() describes the skills of every fixed place, without their instructions", async () => {
  await using tree = await FileTree.make({
    "codex/skills/one/SKILL.md": skill("one"),
    "home/.agents/skills/two/SKILL.md": skill("two"),
    "etc/skills/three/SKILL.md": skill("three"),
    "home/project/.agents/skills/four/SKILL.md": skill("four"),
  });
  const described = (name: string, id: string, root: string) => ({
    name,
    description: `does ${name}`,
    shortDescription: null,
    path: tree.uri(`${root}/${name}/SKILL.md`),
    dependencies: null,
    policy: null,
    discoveryRoot: { id, path: tree.uri(root) },
  });
  const found = await discover(tree);
  assert.deepEqual(found, {
    plugins: [],
    skills: [
      described("one", "codex-home-skills", "codex/skills"),
      described("two", "user-agent-skills", "home/.agents/skills"),
      described("three", "system-skills", "etc/skills"),
    ],
    warnings: [],
  });
  assert(!JSON.stringify(found).includes("SECRET"));
});

Deno.test("discoverCapabilities() describes an installed plugin in the version that is in use", async () => {
  const base = "codex/plugins/cache/market/demo";
  await using tree = await FileTree.make({
    [`${base}/1.9.0/.codex-plugin/plugin.json`]: `{"name":"old"}`,
    [`${base}/1.10.0/.codex-plugin/plugin.json`]: `{"name":"demo","interface":{"displayName":"The Demo"}}`,
    [`${base}/1.10.0/.mcp.json`]: "{}",
    [`${base}/1.10.0/skills/a/SKILL.md`]: skill("a"),
    [`${base}/1.10.0/inner/.claude-plugin/plugin.json`]: `{"name":"inner"}`,
    [`${base}/1.10.0/inner/b/SKILL.md`]: skill("b"),
    [`${base}/.codex-remote-plugin-install.json`]: `{"schema_version":1,"remote_plugin_id":" remote "}`,
  });
  const root = tree.uri(`${base}/1.10.0`);
  const described = (name: string, path: string) => ({
    name,
    description: `does ${name.split(":")[1]}`,
    shortDescription: null,
    path: `${root}/${path}/SKILL.md`,
    dependencies: null,
    policy: null,
  });
  assert.deepEqual(await discover(tree), {
    plugins: [{
      id: "demo@market",
      displayName: "The Demo",
      remotePluginId: "remote",
      version: "1.10.0",
      root,
      files: {
        manifest: {
          path: `${root}/.codex-plugin/plugin.json`,
          contents: `{"name":"demo","interface":{"displayName":"The Demo"}}`,
        },
        mcpConfig: { path: `${root}/.mcp.json`, contents: "{}" },
        appsConfig: null,
      },
      skills: [described("inner:b", "inner/b"), described("demo:a", "skills/a")],
    }],
    skills: [],
    warnings: [],
  });
});

Deno.test("discoverCapabilities() chooses versions and leaves out what is not a plugin", async () => {
  const files: Record<string, string> = {};
  for (
    const path of [
      "m/local/local",
      "m/local/9.0.0",
      "m/pre/1.0.0-beta.2",
      "m/pre/1.0.0-beta.11",
      "m/rel/1.0.0-rc.1",
      "m/rel/1.0.0",
      "m/sha/abc123",
      "m/b d/1.0.0",
      "a.b/dots/1.0.0",
      "m/badversion/a b",
    ]
  ) files[`codex/plugins/cache/${path}/.codex-plugin/plugin.json`] = "{}";
  await using tree = await FileTree.make({ ...files, "codex/plugins/cache/m/empty/readme": "" });
  const { plugins, warnings } = await discover(tree);
  assert.deepEqual(plugins.map(({ id, version, displayName }) => [id, version, displayName]), [
    ["local@m", "local", "local"],
    ["pre@m", "1.0.0-beta.11", "1.0.0-beta.11"],
    ["rel@m", "1.0.0", "1.0.0"],
    ["sha@m", "abc123", "abc123"],
  ]);
  assert.deepEqual(warnings, []);
});

Deno.test("discoverCapabilities() leaves out a plugin whose manifest is invalid, and says that something is missing", async () => {
  const manifests = { good: `{"name":"g"}`, number: `{"name":5}`, text: "not json", list: "[]", none: null };
  await using tree = await FileTree.make();
  for (const [name, manifest] of Object.entries(manifests)) {
    await tree.directory(`codex/plugins/cache/m/${name}/1.0.0`);
    if (manifest !== null) await tree.write(`codex/plugins/cache/m/${name}/1.0.0/.codex-plugin/plugin.json`, manifest);
  }
  const { plugins, warnings } = await discover(tree);
  assert.deepEqual(plugins.map(({ id }) => id), ["good@m"]);
  assert.deepEqual(warnings, Array(4).fill(METADATA_INCOMPLETE));
});

Deno.test("discoverCapabilities() says when it cannot read what an installer noted down", async () => {
  for (const note of ["{}", "not json", `{"schema_version":2,"remote_plugin_id":"x"}`, "x".repeat(20_000)]) {
    await using tree = await FileTree.make({
      "codex/plugins/cache/m/p/1.0.0/.codex-plugin/plugin.json": "{}",
      "codex/plugins/cache/m/p/.codex-remote-plugin-install.json": note,
    });
    const { plugins, warnings } = await discover(tree);
    assert.deepEqual(plugins.map(({ remotePluginId }) => remotePluginId), [null]);
    assert.deepEqual(warnings, [LOCATIONS_INCOMPLETE]);
  }
});

Deno.test("discoverCapabilities() leaves out a skill that does not describe itself, and keeps those beside it", async () => {
  await using tree = await FileTree.make({
    "codex/skills/bad/SKILL.md": "no header",
    "codex/skills/good/SKILL.md": skill("good"),
  });
  const { skills, warnings } = await discover(tree);
  assert.deepEqual(skills.map(({ name }) => name), ["good"]);
  assert.deepEqual(warnings, [METADATA_INCOMPLETE]);
});

Deno.test("discoverCapabilities() leaves out skills whose full name is too long", async () => {
  const manifest = (length: number) => JSON.stringify({ name: "n".repeat(length) });
  await using tree = await FileTree.make({
    "codex/skills/fits/.codex-plugin/plugin.json": manifest(127),
    "codex/skills/fits/SKILL.md": skill("k"),
    "codex/skills/long/.codex-plugin/plugin.json": manifest(128),
    "codex/skills/long/SKILL.md": skill("k"),
  });
  const { skills, warnings } = await discover(tree);
  assert.deepEqual(skills.map(({ name }) => name.length), [129]);
  assert.deepEqual(warnings, [METADATA_INCOMPLETE]);
});

Deno.test("discoverCapabilities() bounds its answer, and says that there is more", async () => {
  await using tree = await FileTree.make();
  const description = "x".repeat(60_000);
  for (let at = 0; at < 80; at++) {
    await tree.write(`codex/skills/${at + 10}/SKILL.md`, `---\nname: s${at}\ndescription: ${description}\n---\n`);
  }
  const found = await discover(tree);
  assert.equal(found.warnings[0], "capability discovery size limit reached");
  assert(found.skills.length > 60 && found.skills.length < 80);
  assert(JSON.stringify(found).length < 4.1 * 1024 * 1024);
});

Deno.test("discoverCapabilities() holds one skill's text at a time, and reserves it", async () => {
  const text = `${skill("s")}${"x".repeat(1_000_000)}`;
  await using tree = await FileTree.make(
    Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`codex/skills/s${i}/SKILL.md`, text])),
  );
  let most = 0;
  const { skills } = await discover(tree, undefined, { reserve: (bytes) => void (most = Math.max(most, bytes)) });
  assert.equal(skills.length, 12);
  assert.equal(most, 2 * 1024 * 1024);
});

Deno.test("discoverCapabilities() gives way before every skill, and before it adds up a place, when its time is over", async () => {
  await using tree = await FileTree.make(
    Object.fromEntries(["a", "b", "c"].map((name) => [`codex/skills/${name}/SKILL.md`, skill(name)])),
  );
  const rests = async (isOver: boolean) => {
    let count = 0;
    const pace = {
      isOver,
      rest: () => {
        count++;
        return Promise.resolve();
      },
    };
    assert.equal((await discover(tree, undefined, { pace })).skills.length, 3);
    return count;
  };
  assert.equal(await rests(true), 3 + 1);
  assert.equal(await rests(false), 0);
});

/** Of a megabyte, which takes a while to parse. */
const LARGE = `"x":[${"{},".repeat(340_000)}{}]`;

Deno.test("discoverCapabilities() parses one manifest at a time with turns between, and keeps only the names", async () => {
  await using tree = await FileTree.make({ "codex/skills/m3/inner/SKILL.md": skill("s") });
  for (let at = 0; at < 12; at++) {
    await tree.write(`codex/skills/m${at}/.codex-plugin/plugin.json`, `{"name":"m${at}",${LARGE}}`);
  }
  let most = 0;
  const log: string[] = [];
  const rest = () => {
    log.push("turn");
    return Promise.resolve();
  };
  const parse = JSON.parse;
  JSON.parse = (text, reviver) => {
    if (text.length > 1_000_000) log.push("parse");
    return parse(text, reviver);
  };
  try {
    const { skills } = await discover(tree, undefined, {
      pace: { isOver: true, rest },
      reserve: (bytes) => void (most = Math.max(most, bytes)),
    });
    assert.deepEqual(skills.map(({ name }) => name), ["m3:s"]);
  } finally {
    JSON.parse = parse;
  }
  assert.equal(log.filter((entry) => entry === "parse").length, 12);
  assert.ok(log.every((entry, at) => entry === "turn" || log[at - 1] === "turn"), log.join());
  // One text, and as much again.
  assert.equal(most, 2 * 1024 * 1024);
});

Deno.test("discoverCapabilities() reads a plugin's own manifest once for its names, and once for its files", async () => {
  await using tree = await FileTree.make({
    "codex/plugins/cache/m/p/1.0.0/.codex-plugin/plugin.json":
      `{"name":"n","interface":{"displayName":"N"},"mcpServers":"./mcp.json",${LARGE}}`,
    "codex/plugins/cache/m/p/1.0.0/mcp.json": "{}",
    "codex/plugins/cache/m/p/1.0.0/skills/s/SKILL.md": skill("s"),
  });
  let rests = 0;
  const rest = () => {
    rests++;
    return Promise.resolve();
  };
  const { plugins: [plugin] } = await discover(tree, undefined, { pace: { isOver: false, rest } });
  assert.equal(plugin!.displayName, "N");
  assert.equal(plugin!.files.mcpConfig!.contents, "{}");
  assert.deepEqual(plugin!.skills.map(({ name }) => name), ["n:s"]);
  assert.equal(rests, 2 * TURNS_FOR_OTHERS);
});

Deno.test("discoverCapabilities() says when files are missing because there are too many paths", async () => {
  // A blank has three characters in a URI.
  const deep = Array.from({ length: 14 }, () => " ".repeat(250)).join("/");
  await using tree = await FileTree.make({
    "codex/skills/s/SKILL.md": skill("s"),
    [`codex/${deep}/skills/s/SKILL.md`]: skill("s"),
  });
  const direct = createDirectFileSystem();
  /** Finds the same skill as often as there can be directories. */
  const files: FileSystem = {
    ...direct,
    walk: async (request, signal) => {
      const found = await direct.walk(request, signal);
      const skills = found.entries.filter(({ path }) => path.endsWith("/SKILL.md"));
      return { ...found, entries: Array.from({ length: 2_000 }, () => skills).flat() };
    },
  };
  const warnings = async (codex: string) => {
    const place = { codexHome: tree.path(codex), userHome: null, systemDirectory: tree.path("etc") };
    const found = await discoverCapabilities({ files, ...place });
    assert.ok(found.skills.length > 100);
    return found.warnings.filter((warning) => !warning.includes("size limit"));
  };
  assert.deepEqual(await warnings("codex"), []);
  assert.deepEqual(await warnings(`codex/${deep}`), [METADATA_INCOMPLETE]);
});
