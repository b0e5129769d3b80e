/** Texts made to take long: patterns, long members and headers of skills. Nobody else waits while they are read. */

import assert from "node:assert/strict";
import { tollOf } from "../support/bystander.ts";
import { FileTree } from "../support/file_tree.ts";
import { fragments, RawWebSocket } from "../support/raw_websocket.ts";
import { TestServer } from "../support/test_server.ts";
import { reportToll } from "./toll.ts";

/** Three times what is wanted on a quiet machine. */
const MAX_PATTERN_WAIT_MS = 3 * 100;
const MAX_SKILL_WAIT_MS = 3 * 200;
const MAX_SKILL_GROWTH_MB = 3 * 64;

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
    what: "a method of 15 million letters",
    method: "http/request",
    params: () => ({ requestId: "r", method: "G".repeat(15_000_000), url: "http://127.0.0.1:1/" }),
    failure: /^http\/request is invalid: method and headers have more than 1048576 characters$/,
  },
  {
    what: "a search path of 30 million directories",
    method: "process/start",
    params: () => ({ processId: "p", argv: ["none"], cwd: "/", env: { PATH: ":".repeat(30_000_000) }, tty: false }),
    failure: /^Argument list too long \(os error 7\)$/,
  },
  {
    what: "a search path of as many directories as are searched, all of them deep",
    method: "process/start",
    params: () => {
      const PATH = new Array(1024).fill(`/${"./".repeat(2000)}`).join(":");
      return { processId: "p", argv: ["none"], cwd: "/", env: { PATH }, tty: false };
    },
    failure: /^No such file or directory \(os error 2\)$/,
  },
  {
    what: "a program of 5 million letters, to be looked for in 1024 directories",
    method: "process/start",
    params: () => ({
      processId: "p",
      argv: ["x".repeat(5_000_000)],
      cwd: "/",
      env: { PATH: "/usr/bin:".repeat(1023) },
      tty: false,
    }),
    failure: /^No such file or directory \(os error 2\)$/,
  },
  {
    what: "an argument of 15 million letters that are not ASCII",
    method: "process/start",
    params: () => ({ processId: "p", argv: ["true", "é".repeat(15_000_000)], cwd: "/", env: {}, tty: false }),
    failure: /^Argument list too long \(os error 7\)$/,
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
