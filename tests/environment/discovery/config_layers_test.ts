/**
 * Which configuration files apply to a directory, in which order, and what they say together.
 *
 * More than 300 lines: most lines are configuration files and what comes of them.
 */

import assert from "node:assert/strict";
import { ConfigDocuments } from "../../../src/environment/discovery/config_documents.ts";
import { findCodexHome, readEnvironmentConfig } from "../../../src/environment/discovery/config_layers.ts";
import { MAX_CONFIG_FILE_BYTES } from "../../../src/environment/limits.ts";
import { DomainError } from "../../../src/errors.ts";
import { createDirectFileSystem } from "../../../src/fs/direct.ts";
import { parsePath } from "../../../src/path_uri.ts";
import { FileTree } from "../../support/file_tree.ts";

interface Question {
  cwd?: string;
  config?: string[][];
  requirements?: string[][];
}

async function read(tree: FileTree, { cwd = "project", config = [["model"]], requirements = [] }: Question = {}) {
  return await readEnvironmentConfig({
    cwd: parsePath(tree.path(cwd)),
    configPaths: config,
    requirementsPaths: requirements,
  }, {
    files: createDirectFileSystem(),
    userHome: tree.path("home"),
    codexHome: tree.path("codex"),
    hostname: "box",
    systemDirectory: tree.path("etc"),
  });
}

/** Sources relative to the tree, with the text of each layer. */
async function layers(tree: FileTree, question: Question = {}): Promise<[string, string][]> {
  const { config } = await read(tree, question);
  return config.layers.map(({ source, toml }) => [source.replaceAll(`${tree.root}/`, ""), toml.trim()]);
}

async function failure(tree: FileTree, question: Question = {}): Promise<string> {
  try {
    await read(tree, question);
  } catch (error) {
    assert(error instanceof DomainError, String(error));
    assert.equal(error.kind, "internal");
    return error.message.replaceAll(`${tree.root}/`, "");
  }
  assert.fail("it was answered");
}

function trust(tree: FileTree, path: string, level = "trusted"): string {
  return `[projects."${tree.path(path)}"]\ntrust_level = "${level}"\n`;
}

async function trustedProject(files: Record<string, string>): Promise<FileTree> {
  const tree = await FileTree.make({ "project/.git/HEAD": "", ...files });
  await tree.write("codex/config.toml", `model = "user"\n${trust(tree, "project")}`);
  return tree;
}

Deno.test("readEnvironmentConfig() answers the layers from the system's to the innermost project directory's", async () => {
  await using tree = await trustedProject({
    "etc/config.toml": `model = "system"`,
    "etc/requirements.toml": `allowed = ["a"]`,
    ".codex/config.toml": `model = "above the root"`,
    "project/.codex/config.toml": `model = "root"`,
    "project/sub/.codex/notes.txt": "",
    "project/sub/deep/.codex/config.toml": `model = "deep"`,
  });
  assert.deepEqual(await read(tree, { cwd: "project/sub/deep", requirements: [["allowed"]] }), {
    userHomeDir: tree.uri("home"),
    codexHomeDir: tree.uri("codex"),
    hostname: "box",
    config: {
      layers: [
        { source: `system (${tree.path("etc/config.toml")})`, baseDir: tree.uri("etc"), toml: 'model = "system"\n' },
        { source: `user (${tree.path("codex/config.toml")})`, baseDir: tree.uri("codex"), toml: 'model = "user"\n' },
        {
          source: `project (${tree.path("project/.codex/config.toml")})`,
          baseDir: tree.uri("project/.codex"),
          toml: 'model = "root"\n',
        },
        {
          source: `project (${tree.path("project/sub/deep/.codex/config.toml")})`,
          baseDir: tree.uri("project/sub/deep/.codex"),
          toml: 'model = "deep"\n',
        },
      ],
      cloudInsertionIndex: 1,
    },
    requirements: {
      layers: [{ source: tree.path("etc/requirements.toml"), baseDir: tree.uri("etc"), toml: 'allowed = [ "a" ]\n' }],
      cloudInsertionIndex: 1,
    },
  });
});

Deno.test("readEnvironmentConfig() finds no project at a path that the kernel does not accept", async () => {
  await using tree = await trustedProject({ "project/.codex/config.toml": `model = "project"` });
  assert.equal((await layers(tree, { cwd: "project/a" })).length, 2);
  assert.equal((await layers(tree, { cwd: `project/${"a/".repeat(2048)}` })).length, 1);
});

Deno.test("readEnvironmentConfig() answers empty stacks on a machine without configuration", async () => {
  await using tree = await FileTree.make();
  const { config, requirements } = await read(tree, { cwd: "no/such/place", requirements: [["x"]] });
  const nothing = { layers: [], cloudInsertionIndex: 0 };
  assert.deepEqual([config, requirements], [nothing, nothing]);
});

Deno.test("readEnvironmentConfig() returns only what was asked for", async () => {
  await using tree = await FileTree.make({
    "codex/config.toml": [
      "# a comment with a SECRET",
      'api_key = "SECRET"',
      "[mcp_servers.a] # SECRET",
      'url = "u"',
      'token = "SECRET"',
      "[mcp_servers.b]",
      'token = "SECRET"',
      '["quoted.key"]',
      "x = 1",
    ].join("\n"),
  });
  const answer = await read(tree, { config: [["mcp_servers", "a", "url"], ["quoted.key"]] });
  assert(!JSON.stringify(answer).includes("SECRET"));
  assert.deepEqual(answer.config.layers.map(({ toml }) => toml), [
    '[mcp_servers.a]\nurl = "u"\n\n["quoted.key"]\nx = 1\n',
  ]);
});

Deno.test("readEnvironmentConfig() quotes no line of a broken file", async () => {
  await using tree = await FileTree.make({ "codex/config.toml": 'model = "m"\nkey = SECRET\n' });
  assert.match(await failure(tree), /^failed to load executor-local config: codex\/config.toml:2:\d+: [^\n]*$/);
  assert(!(await failure(tree)).includes("SECRET"));
});

Deno.test("readEnvironmentConfig() leaves a layer out that has nothing of what was asked for", async () => {
  await using tree = await FileTree.make({ "etc/config.toml": "a = 1", "codex/config.toml": "b = 1" });
  const { config } = await read(tree, { config: [["b"]] });
  assert.deepEqual(config.layers.map(({ toml }) => toml), ["b = 1\n"]);
  assert.equal(config.cloudInsertionIndex, 0);
});

Deno.test("readEnvironmentConfig() keeps every type of TOML", async () => {
  const document = [
    "float = 1.0",
    "big = 9007199254740993",
    "inf = inf",
    "nan = nan",
    "time = 2020-01-01T00:00:00.000Z",
    "date = 2020-01-01",
    "hour = 07:32:00.000",
    "local = 1979-05-27T07:32:00.000",
    'mixed = [ 1, "a", [ 2 ] ]',
    'text = "x\\u0001y\\"z\\\\"',
    "",
    "[table]",
    "__proto__ = 1",
    "",
    "[table.below]",
    "x = true",
    "",
    "[[list]]",
    "n = 1",
    "",
    "[[list]]",
    "n = 2",
    "",
  ].join("\n");
  await using tree = await FileTree.make({ "codex/config.toml": document });
  const keys = ["float", "big", "inf", "nan", "time", "date", "hour", "local", "mixed", "text", "table", "list"];
  const { config } = await read(tree, { config: keys.map((key) => [key]) });
  assert.equal(config.layers[0]?.toml, document);
});

Deno.test("readEnvironmentConfig() reads a project only if the user trusts it", async () => {
  const files = {
    "project/.git/HEAD": "",
    "project/.codex/config.toml": 'model = "p"',
    "project/sub/.codex/config.toml": 'model = "s"',
  };
  const found = async (config: (tree: FileTree) => string): Promise<string[]> => {
    await using tree = await FileTree.make(files);
    await tree.write("codex/config.toml", config(tree));
    return (await layers(tree, { cwd: "project/sub" })).map(([, toml]) => toml);
  };
  assert.deepEqual(await found(() => ""), []);
  assert.deepEqual(await found((tree) => trust(tree, "project", "untrusted")), []);
  assert.deepEqual(await found((tree) => trust(tree, "project")), ['model = "p"', 'model = "s"']);
  assert.deepEqual(await found((tree) => trust(tree, "project/sub")), ['model = "s"']);
  assert.deepEqual(await found((tree) => trust(tree, "project") + trust(tree, "project/sub", "untrusted")), [
    'model = "p"',
  ]);
  assert.deepEqual(await found((tree) => trust(tree, "")), [], "trust does not reach below, beyond a project's root");
});

Deno.test("readEnvironmentConfig() ignores a broken file that is not trusted", async () => {
  await using tree = await FileTree.make({
    "project/.git/HEAD": "",
    "project/.codex/config.toml": "model = [broken",
    "codex/config.toml": 'model = "u"',
  });
  assert.deepEqual(await layers(tree), [["user (codex/config.toml)", 'model = "u"']]);
  await tree.write("codex/config.toml", trust(tree, "project"));
  assert.match(await failure(tree), /^failed to load executor-local config: project\/.codex\/config.toml:1:/);
});

Deno.test("readEnvironmentConfig() trusts a project through a link to it", async () => {
  await using tree = await trustedProject({ "project/.codex/config.toml": 'model = "p"' });
  await tree.link("link", tree.path("project"));
  assert.deepEqual((await layers(tree, { cwd: "link" })).at(-1), ["project (link/.codex/config.toml)", 'model = "p"']);
});

Deno.test("readEnvironmentConfig() finds a project's root by the user's markers", async () => {
  await using tree = await FileTree.make({
    "top/mark": "",
    "top/.codex/config.toml": 'model = "top"',
    "top/a/.git/HEAD": "",
    "top/a/b/.codex/config.toml": 'model = "b"',
  });
  const found = async (markers: string, trusted: string): Promise<string[]> => {
    await tree.write("codex/config.toml", `project_root_markers = ${markers}\n${trust(tree, trusted)}`);
    return (await layers(tree, { cwd: "top/a/b" })).map(([, toml]) => toml);
  };
  assert.deepEqual(await found('["mark"]', "top"), ['model = "top"', 'model = "b"']);
  assert.deepEqual(await found('[".git"]', "top"), []);
  assert.deepEqual(await found("[]", "top/a/b"), ['model = "b"']);
  assert.deepEqual(await found('["nowhere"]', "top/a/b"), ['model = "b"']);
});

Deno.test("readEnvironmentConfig() takes a .git directory for a project's root only if it is a repository's", async () => {
  await using tree = await FileTree.make({
    "top/.git/HEAD": "",
    "top/.codex/config.toml": 'model = "top"',
    "top/a/.git/objects/x": "",
    "top/a/b/.codex/config.toml": 'model = "b"',
  });
  await tree.write("codex/config.toml", trust(tree, "top"));
  const found = async () => (await layers(tree, { cwd: "top/a/b" })).map(([, toml]) => toml);
  assert.deepEqual(await found(), ['model = "top"', 'model = "b"']);
  await tree.write("top/a/.git/HEAD", "");
  assert.deepEqual(await found(), []);
  // A file leads to a repository elsewhere, whatever it says.
  await tree.remove("top/a/.git");
  await tree.write("top/a/.git", "gitdir: elsewhere");
  assert.deepEqual(await found(), []);
});

Deno.test("readEnvironmentConfig() does not take the user's own folder for a project's", async () => {
  await using tree = await trustedProject({ "project/.codex/config.toml": 'model = "p"' });
  await tree.write("project/.codex/config.toml", `model = "own"\n${trust(tree, "project")}`);
  await tree.remove("codex");
  await tree.link("codex", tree.path("project/.codex"));
  assert.deepEqual(await layers(tree), [["user (codex/config.toml)", 'model = "own"']]);
});

Deno.test("readEnvironmentConfig() removes what a project may not decide", async () => {
  const forbidden = ["openai_base_url", "chatgpt_base_url", "model_provider", "notify", "profile"];
  await using tree = await trustedProject({
    "project/.codex/config.toml": [
      ...forbidden.map((key) => `${key} = "x"`),
      'model = "p"',
      "[otel]\na = 1",
      "[features]\nrespect_system_proxy = true\nother = true",
      "[tui.keymap.chat]\nprevious_permission_mode = 'x'\nz = 'z'",
    ].join("\n"),
  });
  const config = [...forbidden, "model", "otel", "features", "tui"].map((key) => [key]);
  assert.deepEqual((await layers(tree, { config })).at(-1), [
    "project (project/.codex/config.toml)",
    'model = "p"\n\n[features]\nother = true\n\n[tui.keymap.chat]\nz = "z"',
  ]);
});

Deno.test("readEnvironmentConfig() takes the hooks of a linked worktree from its repository's own checkout", async () => {
  await using tree = await trustedProject({ "project/.codex/config.toml": 'model = "main"\n[hooks]\na = "main"' });
  await tree.write("project/.git/worktrees/wt/gitdir", `${tree.path("wt/.git")}\n`);
  await tree.write("wt/.git", `gitdir: ${tree.path("project/.git/worktrees/wt")}\n`);
  await tree.write("wt/.codex/config.toml", 'model = "wt"\n[hooks]\na = "wt"');
  assert.deepEqual((await layers(tree, { cwd: "wt", config: [["model"], ["hooks"]] })).slice(1), [
    ["project (wt/.codex/config.toml)", 'model = "wt"'],
    ["project (project/.codex/config.toml)", '[hooks]\na = "main"'],
  ]);
});

Deno.test("readEnvironmentConfig() does not trust a directory that only claims to be a worktree of a trusted one", async () => {
  await using tree = await trustedProject({ "evil/.codex/config.toml": 'model = "evil"' });
  await tree.write("project/.git/worktrees/wt/gitdir", `${tree.path("wt/.git")}\n`);
  await tree.write("evil/.git", `gitdir: ${tree.path("project/.git/worktrees/wt")}\n`);
  assert.deepEqual(await layers(tree, { cwd: "evil" }), [["user (codex/config.toml)", 'model = "user"']]);
});

Deno.test("readEnvironmentConfig() makes requirements of a managed configuration", async () => {
  await using tree = await FileTree.make({
    "etc/managed_config.toml":
      'model = "m"\napproval_policy = "never"\napprovals_reviewer = "auto_review"\nsandbox_mode = "workspace-write"',
    "codex/config.toml": 'model = "u"',
  });
  const allowed = ["allowed_approval_policies", "allowed_approvals_reviewers", "allowed_sandbox_modes"];
  const { config, requirements } = await read(tree, { requirements: allowed.map((key) => [key]) });
  assert.deepEqual(config.layers.map(({ source }) => source.split(" ")[0]), ["user", "legacy"]);
  assert.deepEqual(requirements, {
    layers: [{
      source: tree.path("etc/managed_config.toml"),
      baseDir: tree.uri("etc"),
      toml: [
        'allowed_approval_policies = [ "never" ]',
        'allowed_approvals_reviewers = [ "auto_review", "user" ]',
        'allowed_sandbox_modes = [ "read-only", "workspace-write" ]',
        "",
      ].join("\n"),
    }],
    cloudInsertionIndex: 0,
  });
});

Deno.test("readEnvironmentConfig() says which file it cannot use, and why", async () => {
  const prefix = "failed to load executor-local config: ";
  const table: [Record<string, string>, RegExp][] = [
    [{ "codex/config.toml/x": "" }, /^Failed to read config file codex\/config.toml: path .* is not a file$/],
    [
      { "codex/config.toml": "x".repeat(MAX_CONFIG_FILE_BYTES + 1) },
      /^Failed to read config file .*more than 1048576 bytes$/,
    ],
    [{ "etc/requirements.toml": "x =" }, /^etc\/requirements.toml:1:4: /],
    [{ "etc/config.toml": 'project_root_markers = "x"' }, /^project_root_markers must be an array of strings$/],
    [{ "codex/config.toml": 'projects = "SECRET"' }, /^projects must be a table$/],
    [{ "codex/config.toml": '[projects]\n"/x" = "SECRET"' }, /^entries of projects must be tables$/],
    [
      { "codex/config.toml": '[projects."/x"]\ntrust_level = "SECRET"' },
      /^trust_level must be `trusted` or `untrusted`$/,
    ],
  ];
  for (const [files, expected] of table) {
    await using tree = await FileTree.make(files);
    const message = await failure(tree);
    assert(message.startsWith(prefix), message);
    assert.match(message.slice(prefix.length), expected);
  }
});

Deno.test("readEnvironmentConfig() parses a file once while it stays the same, in a turn of its own", async () => {
  await using tree = await trustedProject({ "project/.codex/config.toml": 'model = "p"' });
  const documents = new ConfigDocuments();
  let turns = 0;
  let parses = 0;
  const pace = {
    isOver: true,
    rest: () => {
      turns++;
      return Promise.resolve();
    },
  };
  const parse = documents.parse.bind(documents);
  documents.parse = (...args) => {
    parses++;
    return parse(...args);
  };
  const texts = async () => {
    const params = { cwd: parsePath(tree.path("project")), configPaths: [["model"]], requirementsPaths: [] };
    const { config } = await readEnvironmentConfig(params, {
      files: createDirectFileSystem(),
      userHome: tree.path("home"),
      codexHome: tree.path("codex"),
      hostname: null,
      systemDirectory: tree.path("etc"),
      documents,
    }, { pace });
    return config.layers.map(({ toml }) => toml.trim());
  };
  const layers = ['model = "user"', 'model = "p"'];
  assert.deepEqual(await texts(), layers);
  // One for each file, and one for each layer that is written; before that three for the one directory of the project.
  assert.equal(turns, 3 + 2 + 2);
  assert.deepEqual(await texts(), layers);
  assert.equal(turns, 7 + 3 + 2);
  await tree.write("project/.codex/config.toml", 'model = "q"');
  assert.deepEqual(await texts(), ['model = "user"', 'model = "q"']);
  assert.equal(turns, 12 + 3 + 3);
  assert.equal(parses, 6);
});

Deno.test("readEnvironmentConfig() reserves what its files hold once parsed, and refuses too many of them", async () => {
  await using tree = await trustedProject({ "project/a/b/c/d/e/f": "" });
  const large = `list = [${"1,".repeat(32_000)}]`;
  const directories = ["", "/a", "/a/b", "/a/b/c", "/a/b/c/d"];
  for (const directory of directories.slice(0, 3)) await tree.write(`project${directory}/.codex/config.toml`, large);
  const params = { cwd: parsePath(tree.path("project/a/b/c/d/e")), configPaths: [["model"]], requirementsPaths: [] };
  let most = 0;
  const answer = () =>
    readEnvironmentConfig(params, {
      files: createDirectFileSystem(),
      userHome: null,
      codexHome: tree.path("codex"),
      hostname: null,
      systemDirectory: tree.path("etc"),
    }, { reserve: (bytes) => void (most = Math.max(most, bytes)) });
  await answer();
  assert.equal(most, 32 * 1024 * 1024);
  for (const [at, directory] of directories.entries()) {
    await tree.write(`project${directory}/.codex/config.toml`, `${large}\nat = ${at}`);
  }
  await tree.write("project/a/b/c/d/e/.codex/config.toml", large);
  await assert.rejects(answer(), /all files together take more than 33554432 bytes/);
});

Deno.test("readEnvironmentConfig() refuses what is too long once it is written, before it is", async () => {
  // Each of the tables below has the long name in its header.
  const nested = (count: number) =>
    `[a.${"K".repeat(10_000)}]\n${Array.from({ length: count }, (_, i) => `x${i}.y=1`).join("\n")}\n`;
  await using tree = await trustedProject({ "project/.codex/config.toml": nested(10_000) });
  await tree.write("codex/config.toml", trust(tree, "project"));
  let most = 0;
  const answer = () =>
    readEnvironmentConfig({
      cwd: parsePath(tree.path("project")),
      configPaths: [["a"]],
      requirementsPaths: [],
    }, {
      files: createDirectFileSystem(),
      userHome: null,
      codexHome: tree.path("codex"),
      hostname: null,
      systemDirectory: tree.path("etc"),
    }, { reserve: (bytes) => void (most = Math.max(most, bytes)) });
  await assert.rejects(answer(), {
    kind: "internal",
    message: "failed to write executor-local config: all layers together have more than 16777216 characters",
  });
  assert.equal(most, 8 * 1024 * 1024);

  // What is within the bound is reserved; of two such layers the second is beyond it.
  await tree.write("project/.codex/config.toml", nested(1_000));
  const { config } = await answer();
  assert.ok(config.layers[0]!.toml.length > 10_000_000);
  assert.equal(most, 32 * 1024 * 1024);
  await tree.write("codex/config.toml", trust(tree, "project") + nested(1_000));
  await assert.rejects(answer(), /all layers together have more than 16777216 characters/);
});

Deno.test("readEnvironmentConfig() answers for a file as working directory, and for one whose name is not text", async () => {
  await using tree = await trustedProject({ "project/.codex/config.toml": 'model = "p"', "project/file": "" });
  assert.deepEqual((await layers(tree, { cwd: "project/file" })).map(([, toml]) => toml), [
    'model = "user"',
    'model = "p"',
  ]);
  const cwd = parsePath(`${tree.uri("project")}/%ff`);
  const { config } = await readEnvironmentConfig({ cwd, configPaths: [["model"]], requirementsPaths: [] }, {
    files: createDirectFileSystem(),
    userHome: null,
    codexHome: tree.path("codex"),
    hostname: null,
    systemDirectory: tree.path("etc"),
  });
  assert.equal(config.layers.length, 1);
});

Deno.test("findCodexHome() takes the variable, else the user's home", () => {
  assert.equal(findCodexHome({ CODEX_HOME: "/c" }, "/h"), "/c");
  assert.equal(findCodexHome({ CODEX_HOME: "" }, "/h"), "/h/.codex");
  assert.equal(findCodexHome({}, null), null);
});
