/** What the discovery of plugins and skills, and of configuration, costs others: their time, and the server's memory. */

import assert from "node:assert/strict";
import { concatBytes } from "../../src/bytes.ts";
import { OPCODE } from "../../src/transport/websocket/websocket_frames.ts";
import { type Toll, tollOf } from "../support/bystander.ts";
import { FileTree } from "../support/file_tree.ts";
import { clientFrame, RawWebSocket } from "../support/raw_websocket.ts";
import { TestServer } from "../support/test_server.ts";
import { reportToll } from "./toll.ts";

/** Three times what is wanted on a quiet machine. */
const MAX_GROWTH_MB = 3 * 128;
const MAX_ANSWER_WAIT_MS = 3 * 200;

const UNREAD_MS = 5_000;

const numbered = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join("\n");

function frames(count: number, method: string, params: unknown): Uint8Array {
  return concatBytes(Array.from({ length: count }, (_, id) => {
    return clientFrame(OPCODE.text, new TextEncoder().encode(JSON.stringify({ id: id + 1, method, params })));
  }));
}

function check(what: string, toll: Toll): void {
  reportToll(what, toll);
  assert.ok(toll.growthMb < MAX_GROWTH_MB, `resident memory grew by ${toll.growthMb.toFixed(1)} MB`);
  assert.ok(toll.longestWaitMs < MAX_ANSWER_WAIT_MS, `another client waited ${toll.longestWaitMs.toFixed(0)} ms`);
}

async function connected(server: TestServer): Promise<RawWebSocket> {
  const socket = await RawWebSocket.connect(server.url);
  await socket.handshake();
  return socket;
}

async function serverIn(tree: FileTree): Promise<TestServer> {
  return await TestServer.start({ env: { CODEX_HOME: tree.path("codex"), HOME: tree.path("home") } });
}

// ---------------------------------------------------------------- capabilityRoots/discoverV1

for (const [requests, count] of [[300, 1], [100, 128]] as const) {
  const what = `${requests} capabilityRoots/discoverV1 of ${count} roots of 16 MB, not read`;
  Deno.test(what, async () => {
    const text = `---\nname: a\ndescription: b\n---\n${"x".repeat(100_000)}`;
    await using tree = await FileTree.make(
      Object.fromEntries(Array.from({ length: 160 }, (_, i) => [`root/${i}/SKILL.md`, text])),
    );
    const roots = Array.from({ length: count }, (_, i) => ({ id: `r${i}`, path: tree.uri("root"), sandbox: null }));
    await using server = await serverIn(tree);
    using socket = await connected(server);
    const toll = await tollOf(server, async () => {
      await socket.write(frames(requests, "capabilityRoots/discoverV1", { roots }));
      await new Promise((resolve) => setTimeout(resolve, UNREAD_MS));
    });
    check(what, toll);
  });
}

// ---------------------------------------------------------------- capabilities/discoverV2

const HEADERS: [what: string, count: number, header: string][] = [
  ["900 anchors", 400, numbered(900, (i) => `k${i}: &a${i} x`)],
  ["2500 plain keys", 200, `name: s\ndescription: d\n${numbered(2500, (i) => `k${i}: v`)}`],
];

for (const [what, count, header] of HEADERS) {
  Deno.test(`${count} skills whose headers have ${what}`, async () => {
    const text = `---\n${header}\n---\n`;
    await using tree = await FileTree.make(
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`codex/skills/s${i}/SKILL.md`, text])),
    );
    await tree.write("codex/skills/good/SKILL.md", "---\nname: good\ndescription: does good\n---\n");
    await using server = await serverIn(tree);
    await using client = await server.connect();
    const toll = await tollOf(server, async () => {
      const { skills } = await client.call("capabilities/discoverV2", { cwd: "/" });
      assert.ok(skills.some(({ name }) => name === "good"));
    });
    check(`${count} skills whose headers have ${what}`, toll);
  });
}

Deno.test("a place with 15 manifests of a megabyte", async () => {
  const text = (name: string) => `{"name":"${name}","x":[${"{},".repeat(340_000)}{}]}`;
  await using tree = await FileTree.make({
    ...Object.fromEntries(
      Array.from({ length: 15 }, (_, i) => [`codex/skills/m${i}/.codex-plugin/plugin.json`, text(`m${i}`)]),
    ),
    "codex/skills/m7/s/SKILL.md": "---\nname: s\ndescription: d\n---\n",
  });
  await using server = await serverIn(tree);
  await using client = await server.connect();
  const toll = await tollOf(server, async () => {
    const { skills } = await client.call("capabilities/discoverV2", { cwd: "/" });
    assert.deepEqual(skills.map(({ name }) => name), ["m7:s"]);
  });
  check("a place with 15 manifests of a megabyte", toll);
});

// ---------------------------------------------------------------- environmentConfig/read

/** Each of a megabyte or less. */
const CONFIGS: [what: string, text: string][] = [
  ["100000 keys", numbered(100_000, (i) => `k${i}=1`)],
  ["as many keys as are read", numbered(32_000, (i) => `k${i}=1`)],
  ["as many tables as are read", numbered(32_000, (i) => `[${i.toString(36)}]`)],
  ["a number of a million digits", `k=${"1".repeat(1_000_000)}`],
  ["a key of 500000 parts", `k${".k".repeat(500_000)}=1`],
  ["a text of 260000 escapes", `k="${"ab\\n".repeat(260_000)}"`],
  ["a megabyte of hexadecimal digits", numbered(1_000, (i) => `k${i}=0x${"1f".repeat(500)}`)],
];

for (const [what, text] of CONFIGS) {
  Deno.test(`200 environmentConfig/read of ${what}`, async () => {
    await using tree = await FileTree.make({ "codex/config.toml": `model = "m"\n${text}` });
    await using server = await serverIn(tree);
    using socket = await connected(server);
    const params = { cwd: "file:///tmp", configPaths: [["model"]], requirementsPaths: [] };
    const toll = await tollOf(server, async () => {
      await socket.write(frames(200, "environmentConfig/read", params));
      for (let answers = 0; answers < 200; answers++) await socket.readMessage();
    });
    check(`200 environmentConfig/read of ${what}`, toll);
  });
}

Deno.test("16 files of different texts, as many keys as are read", async () => {
  const [, large] = CONFIGS[1]!;
  const places = Array.from({ length: 16 }, (_, i) => `home/p${i}`);
  await using tree = await FileTree.make(
    Object.fromEntries(places.map((place, i) => [`${place}/.codex/config.toml`, `model = "${i}"\n${large}`])),
  );
  const trusted = places.map((place) => `[projects."${tree.path(place)}"]\ntrust_level = "trusted"\n`);
  await tree.write("codex/config.toml", trusted.join(""));
  await using server = await serverIn(tree);
  await using client = await server.connect();
  const params = { configPaths: [["model"]], requirementsPaths: [] };
  const toll = await tollOf(server, async () => {
    const answers = await Promise.all(
      places.map((place) => client.call("environmentConfig/read", { ...params, cwd: tree.uri(place) })),
    );
    assert.ok(answers.every(({ config }) => config.layers.length === 1));
  });
  check("16 files of different texts, as many keys as are read", toll);
});
