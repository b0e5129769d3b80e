/** Texts made to take long: patterns, headers of skills, and messages. Nobody else waits while they are read. */

import assert from "node:assert/strict";
import { concatBytes } from "../../src/bytes.ts";
import { OPCODE } from "../../src/transport/websocket/websocket_frames.ts";
import { tollOf } from "../support/bystander.ts";
import { FileTree } from "../support/file_tree.ts";
import { clientFrame, RawWebSocket } from "../support/raw_websocket.ts";
import { TestServer } from "../support/test_server.ts";
import { reportToll } from "./toll.ts";

const MIB = 1024 * 1024;
/** Three times what is wanted on a quiet machine. */
const MAX_PATTERN_WAIT_MS = 3 * 100;
const MAX_SKILL_WAIT_MS = 3 * 200;
const MAX_SKILL_GROWTH_MB = 3 * 64;
const MAX_MESSAGE_WAIT_MS = 3 * 300;

/** Of one frame; a frame has 16 MiB at most. */
const FRAGMENT_BYTES = 8 * MIB;

function assertWaited(longestWaitMs: number, maxMs: number): void {
  assert.ok(longestWaitMs < maxMs, `another client waited ${longestWaitMs.toFixed(0)} ms`);
}

// ---------------------------------------------------------------- envPolicy

const LONG_NAME = "a".repeat(100_000);

const PATTERNS: [what: string, pattern: string][] = [
  ["that fails at its end everywhere", `*${"a".repeat(49_997)}b*`],
  ["of question marks", `*${"a?".repeat(24_999)}b*`],
  ["of stars", `${"a*".repeat(24_999)}b`],
];

for (const [what, pattern] of PATTERNS) {
  Deno.test(`a pattern of 50000 characters ${what}, against a name of 100000: nobody else waits`, async () => {
    await using server = await TestServer.start();
    await using client = await server.connect();
    const envPolicy = {
      inherit: "none",
      ignoreDefaultExcludes: true,
      exclude: [],
      set: { [LONG_NAME]: "x" },
      includeOnly: [pattern],
    };
    const toll = await tollOf(server, async () => {
      // Started without the variable, or refused: either is an answer.
      await client.call("process/start", { processId: "p", argv: ["true"], cwd: "/", env: {}, envPolicy, tty: false })
        .catch((error) => assert.match(error.message, /envPolicy/));
    });
    reportToll(`an envPolicy with a pattern of 50000 characters ${what}`, toll);
    assertWaited(toll.longestWaitMs, MAX_PATTERN_WAIT_MS);
  });
}

// ---------------------------------------------------------------- paths, names and other members

const MAX_PATH_WAIT_MS = 3 * 100;
const MAX_PATH_GROWTH_MB = 3 * 64;

interface LongMember {
  readonly what: string;
  readonly method: string;
  readonly params: () => Record<string, unknown>;
  /** Undefined: it is answered. */
  readonly failure: RegExp | undefined;
}

const TOO_LONG = /^File name too long \(os error 36\)$/;

const readingConfig = (cwd: string) => ({ cwd, configPaths: [["model"]], requirementsPaths: [] });

const LONG_MEMBERS: readonly LongMember[] = [
  {
    what: "a cwd of as many levels as the kernel takes",
    method: "environmentConfig/read",
    params: () => readingConfig(`file:///${"a/".repeat(2047)}`),
    failure: undefined,
  },
  {
    what: "a cwd of 50000 levels",
    method: "environmentConfig/read",
    params: () => readingConfig(`file:///${"a/".repeat(50_000)}`),
    failure: TOO_LONG,
  },
  {
    what: "a native path of 15 million letters that are not ASCII",
    method: "fs/readFile",
    params: () => ({ path: `/${"é".repeat(15_000_000)}` }),
    failure: TOO_LONG,
  },
  {
    what: "a URI of 15 million letters that are not ASCII",
    method: "fs/readFile",
    params: () => ({ path: `file:///%20${"é".repeat(15_000_000)}` }),
    failure: TOO_LONG,
  },
  {
    what: "a sandbox path of 7.5 million levels",
    method: "fs/readFile",
    params: () => ({ path: "/etc/passwd", sandbox: sandboxed({ type: "path", path: `/${"a/".repeat(7_500_000)}` }) }),
    failure: TOO_LONG,
  },
  {
    what: "a sandbox path of as many levels as the kernel takes, 250 times",
    method: "fs/readFile",
    params: () => {
      const paths = Array.from({ length: 250 }, (_, i) => ({ type: "path", path: `/${i}${"/a".repeat(2040)}` }));
      return { path: "/nonexistent", sandbox: sandboxed(...paths) };
    },
    failure: /No such file|Operation not permitted|exec-server|sandbox|bubblewrap/,
  },
  {
    what: "a sandbox pattern of 7.5 million levels",
    method: "fs/readFile",
    params: () => ({
      path: "/etc/passwd",
      sandbox: sandboxed({ type: "glob_pattern", pattern: `/${"a/".repeat(7_500_000)}*` }),
    }),
    failure: /^glob pattern has more than 12288 characters$/,
  },
  {
    what: "100 sandbox patterns with 4000 braces",
    method: "fs/readFile",
    params: () => {
      const patterns = new Array(100).fill({ type: "glob_pattern", pattern: `/{a,b}{a,b}${"{a}".repeat(4000)}` });
      return { path: "/etc/passwd", sandbox: sandboxed(...patterns) };
    },
    failure: /^glob pattern has too many characters/,
  },
  {
    what: "a sandbox with 20000 entries for each of 60000 roots",
    method: "fs/readFile",
    params: () => {
      const entries = new Array(20_000).fill({ type: "special", value: { kind: "project_roots" } });
      return {
        path: "/etc/passwd",
        sandbox: { ...sandboxed(...entries), cwd: "/", workspaceRoots: new Array(60_000).fill("/r") },
      };
    },
    failure: /^sandbox has more than 4096 paths$/,
  },
  {
    what: "a URL of 15 million letters that are not ASCII",
    method: "http/request",
    params: () => ({ requestId: "r", method: "GET", url: `http://127.0.0.1:1/${"é".repeat(15_000_000)}` }),
    failure: /^http\/request url is invalid: longer than 65536 characters$/,
  },
  {
    what: "a processId of 15 million letters that are not ASCII",
    method: "process/start",
    params: () => ({ processId: "é".repeat(15_000_000), argv: ["true"], cwd: "/", env: {}, tty: false }),
    failure: /^processId must not be longer than 65536 characters$/,
  },
  {
    what: "a processId of 15 million letters that are not ASCII",
    method: "process/terminate",
    params: () => ({ processId: "é".repeat(15_000_000) }),
    failure: undefined,
  },
];

function sandboxed(...paths: unknown[]): Record<string, unknown> {
  const entries = [{ type: "special", value: { kind: "root" } }, ...paths].map((path, i) => ({
    path,
    access: i === 0 ? "read" : "deny",
  }));
  return {
    permissions: { type: "managed", file_system: { type: "restricted", entries }, network: "restricted" },
    windowsSandboxLevel: "disabled",
  };
}

for (const { what, method, params, failure } of LONG_MEMBERS) {
  Deno.test(`${method} of ${what}: nobody else waits`, async () => {
    await using server = await TestServer.start();
    using socket = await RawWebSocket.connect(server.url);
    await socket.handshake();
    const before = { id: 6, method: "fs/getMetadata", params: { path: "/" } };
    await socket.write(fragments(new TextEncoder().encode(JSON.stringify(before))));
    await socket.readUntil(({ id }) => id === 6);
    const frames = fragments(new TextEncoder().encode(JSON.stringify({ id: 7, method, params: params() })));
    const toll = await tollOf(server, async () => {
      await socket.write(frames);
      const { error } = await socket.readUntil(({ id }) => id === 7);
      if (failure === undefined) assert.equal(error, undefined);
      else assert.match(error.message, failure);
    });
    reportToll(`${method} of ${what}`, toll);
    assertWaited(toll.longestWaitMs, MAX_PATH_WAIT_MS);
    assert.ok(toll.growthMb < MAX_PATH_GROWTH_MB, `resident memory grew by ${toll.growthMb.toFixed(1)} MB`);
  });
}

Deno.test("2000 chunks of a process with the longest id: nobody else waits", async () => {
  await using server = await TestServer.start();
  using socket = await RawWebSocket.connect(server.url);
  await socket.handshake();
  const processId = "é".repeat(65_536);
  const argv = ["bash", "-c", "for ((i = 0; i < 2000; i++)); do printf x; read -t 0.0001; done"];
  const params = { processId, argv, cwd: "/", env: { PATH: Deno.env.get("PATH") }, tty: true };
  const toll = await tollOf(server, async () => {
    await socket.write(fragments(new TextEncoder().encode(JSON.stringify({ id: 7, method: "process/start", params }))));
    await socket.readUntil(({ method }) => method === "process/closed");
  });
  reportToll("2000 chunks of a process with an id of 65536 letters that are not ASCII", toll);
  assertWaited(toll.longestWaitMs, MAX_PATH_WAIT_MS);
  assert.ok(toll.growthMb < MAX_PATH_GROWTH_MB, `resident memory grew by ${toll.growthMb.toFixed(1)} MB`);
});

// ---------------------------------------------------------------- SKILL.md

const numbered = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join("\n");

const HEADERS: [what: string, header: string][] = [
  ["text with a colon and 100000 blanks", `description: a: b${" ".repeat(100_000)}`],
  ["text with a colon and 60000 blanks", `description: a: b${" ".repeat(60_000)}`],
  ["50000 anchors", `description: x\n${numbered(50_000, (i) => `k${i}: &a${i} x`)}`],
  ["as many anchors as are read", `description: x\n${numbered(450, (i) => `k${i}: &a${i} x`)}`],
  ["900000 brackets", `description: ${"[".repeat(900_000)}`],
  ["as many brackets as are read", `description: ${"[".repeat(4_050)}`],
  ["as many closing brackets as are read", "]".repeat(4_050)],
];

for (const [what, header] of HEADERS) {
  Deno.test(`a skill whose header has ${what}: nobody else waits`, async () => {
    await using tree = await FileTree.make({
      "codex/skills/evil/SKILL.md": `---\n${header}\n---\n`,
      "codex/skills/good/SKILL.md": "---\nname: good\ndescription: does good\n---\n",
    });
    await using server = await TestServer.start({ env: { CODEX_HOME: tree.path("codex"), HOME: tree.path("home") } });
    await using client = await server.connect();
    const toll = await tollOf(server, async () => {
      const { skills } = await client.call("capabilities/discoverV2", { cwd: "/" });
      assert.ok(skills.some(({ name }) => name === "good"));
    });
    reportToll(`a SKILL.md with ${what}`, toll);
    assertWaited(toll.longestWaitMs, MAX_SKILL_WAIT_MS);
    assert.ok(toll.growthMb < MAX_SKILL_GROWTH_MB, `resident memory grew by ${toll.growthMb.toFixed(1)} MB`);
  });
}

// ---------------------------------------------------------------- messages

const SIZE = 60 * MIB;

interface LongMessage {
  readonly what: string;
  /** The text in parts, which are put together where they are needed. */
  readonly text: () => string;
  readonly code: number;
  /** Its own is not known. */
  readonly answerId?: number;
}

const withParams = (params: string) => `{"id":7,"method":"process/resize","params":${params}}`;

/** Keys with a backslash are what V8 cannot be left alone with. */
const MESSAGES: readonly LongMessage[] = [
  {
    what: "one long string, with a backslash in a key",
    text: () => withParams(`{"a\\\\b":"${"x".repeat(SIZE)}"}`),
    code: -32602,
  },
  {
    what: "blanks, with a backslash in a key",
    text: () => withParams(`{"a\\\\b":1${" ".repeat(SIZE)}}`),
    code: -32602,
  },
  {
    what: "many members, with a backslash in a key",
    text: () =>
      withParams(`{"a\\\\b":{${numbered(250_000, (i) => `"${i}${"k".repeat(230)}":1`).replaceAll("\n", ",")}}}`),
    code: -32602,
  },
  {
    what: "one long string, with an escaped letter in a key",
    text: () => withParams(`{"\\u0061":"${"x".repeat(SIZE)}"}`),
    code: -32602,
  },
  { what: "escapes", text: () => withParams(`{"a":"${"\\n".repeat(SIZE / 2)}"}`), code: -32602 },
  { what: "a number", text: () => withParams(`{"a":${"1".repeat(SIZE)}}`), code: -32600, answerId: -1 },
  { what: "an id of digits", text: () => `{"id":${"1".repeat(SIZE)},"method":"x"}`, code: -32600, answerId: -1 },
  {
    what: "an id of escapes",
    text: () => `{"id":"${"\\n".repeat(SIZE / 2)}","method":"x"}`,
    code: -32600,
    answerId: -1,
  },
];

for (const { what, text, code, answerId = 7 } of MESSAGES) {
  Deno.test(`a message of 60 MiB (${what}): nobody else waits`, async () => {
    await using server = await TestServer.start();
    using socket = await RawWebSocket.connect(server.url);
    await socket.handshake();
    const frames = fragments(new TextEncoder().encode(text()));
    const toll = await tollOf(server, async () => {
      await socket.write(frames);
      const { error } = await socket.readUntil(({ id }) => id === answerId);
      assert.equal(error.code, code);
    });
    reportToll(`a message of 60 MiB (${what})`, toll);
    assertWaited(toll.longestWaitMs, MAX_MESSAGE_WAIT_MS);
  });
}

function fragments(payload: Uint8Array): Uint8Array {
  const frames: Uint8Array<ArrayBuffer>[] = [];
  for (let at = 0; at < payload.length; at += FRAGMENT_BYTES) {
    const isFinal = at + FRAGMENT_BYTES >= payload.length;
    const opcode = at === 0 ? OPCODE.text : OPCODE.continuation;
    frames.push(clientFrame(opcode, payload.subarray(at, at + FRAGMENT_BYTES), { isFinal }));
  }
  return concatBytes(frames);
}
