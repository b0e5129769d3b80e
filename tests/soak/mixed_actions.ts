/**
 * What the clients of the mixed load do: each of the ways in which one client was once seen to hurt another, made small
 * enough for twenty clients at once, beside the things that clients usually do.
 */

import { concatBytes } from "../../src/bytes.ts";
import { OPCODE } from "../../src/transport/websocket/websocket_frames.ts";
import type { Random } from "../support/random.ts";
import { clientFrame } from "../support/raw_websocket.ts";
import { NO_SANDBOX } from "../support/sandbox_host.ts";

const MIB = 1024 * 1024;

export interface Request {
  readonly method: string;
  readonly params: unknown;
  /** Whether its parameters are (-32602). Without it: never. */
  readonly refused?: "always" | "perhaps";
  /** How its text becomes frames. Without it: one frame. */
  readonly frames?: (text: string) => Uint8Array;
}

export interface Stage {
  readonly directory: string;
  readonly web: string;
  readonly random: Random;
  /** For names that nobody else has. */
  readonly id: () => string;
}

/** One visit's requests. */
export type Action = (stage: Stage) => Request[];

const repeated = (count: number, request: Request): Request[] => Array.from({ length: count }, () => request);

function start(processId: string, script: string, members: Record<string, unknown> = {}): Request {
  return {
    method: "process/start",
    params: {
      processId,
      argv: ["sh", "-c", script],
      cwd: "/",
      env: { PATH: Deno.env.get("PATH")! },
      io: { type: "pipe", stdin: "closed" },
      ...members,
    },
  };
}

// ---------------------------------------------------------------- frames, texts

const encoder = new TextEncoder();
const SOME_EMPTY_FRAMES = concatBytes(
  Array.from({ length: 1000 }, () => clientFrame(OPCODE.continuation, new Uint8Array(0), { isFinal: false })),
);

/** A frame for each character, and between the first two as many thousands of empty ones. */
function shreds(text: string, thousands: number): Uint8Array {
  const bytes = encoder.encode(text);
  return concatBytes(Array.from(bytes, (_, at) => {
    const isFinal = at === bytes.length - 1;
    const frame = clientFrame(at === 0 ? OPCODE.text : OPCODE.continuation, bytes.subarray(at, at + 1), { isFinal });
    return at === 0 ? concatBytes([frame, ...Array.from({ length: thousands }, () => SOME_EMPTY_FRAMES)]) : frame;
  }));
}

const numbered = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join("\n");

/** Beginnings of SKILL.md that took long to read. */
const SKILL_HEADERS = [
  `name: blanks\ndescription: a: b${" ".repeat(20_000)}`,
  numbered(900, (i) => `k${i}: &a${i} x`),
  `name: brackets\ndescription: ${"[".repeat(90_000)}`,
  `name: keys\ndescription: d\n${numbered(2500, (i) => `k${i}: v`)}`,
];

/** What the actions want to find: files below `directory`, and skills in the home of the server's own configuration. */
export function laySoakFiles(directory: string, home: string): void {
  Deno.writeFileSync(`${directory}/small`, new Uint8Array(4096));
  Deno.writeFileSync(`${directory}/medium`, new Uint8Array(MIB - 1));
  Deno.writeFileSync(`${directory}/large`, new Uint8Array(32 * MIB));
  Deno.mkdirSync(`${directory}/many`);
  for (let i = 0; i < 5000; i++) Deno.writeTextFileSync(`${directory}/many/${String(i).padEnd(100, "x")}`, "");
  for (let i = 0; i < 40; i++) {
    const folder = `${home}/skills/s${i}`;
    Deno.mkdirSync(folder, { recursive: true });
    const header = SKILL_HEADERS[i] ?? `name: s${i}\ndescription: does ${i}`;
    Deno.writeTextFileSync(`${folder}/SKILL.md`, `---\n${header}\n---\n${"x".repeat(10_000)}`);
  }
  Deno.writeTextFileSync(`${home}/config.toml`, `model = "m"\n${numbered(3000, (i) => `k${i}=1`)}`);
}

// ---------------------------------------------------------------- sandboxes

const at = (path: string, access: string) => ({ path: { type: "path", path }, access });

/** Lets little be read, so that files take a helper. */
const confinedTo = (directory: string) => ({
  permissions: {
    type: "managed",
    file_system: { type: "restricted", entries: [at("/usr", "read"), at(directory, "write")] },
    network: "restricted",
  },
  windowsSandboxLevel: "disabled",
});

const CONFINED: Record<string, Action> = {
  "confined files": ({ directory, id, random }) => {
    const sandbox = confinedTo(directory);
    const path = `${directory}/${id()}`;
    const dataBase64 = new Uint8Array(random.int(MIB)).toBase64();
    return [
      { method: "fs/writeFile", params: { path, dataBase64, sandbox } },
      ...repeated(5, { method: "fs/readFile", params: { path: `${directory}/medium`, sandbox } }),
      { method: "fs/readFile", params: { path: "/etc/hostname", sandbox } },
      { method: "fs/remove", params: { path, recursive: false, force: true, sandbox } },
    ];
  },
  // They keep their helpers until the session ends.
  "confined handles": ({ directory, id, random }) => {
    const sandbox = confinedTo(directory);
    return Array.from({ length: 3 }, () => id()).flatMap((handleId) => [
      { method: "fs/open", params: { handleId, path: `${directory}/large`, mode: "read", sandbox } },
      { method: "fs/readBlock", params: { handleId, offset: random.int(30) * MIB, len: MIB } },
    ]);
  },
  "confined watches": ({ directory, id, random }) => {
    const path = random.pick([directory, `${directory}/many`]);
    return Array.from({ length: 3 }, () => ({
      method: "fs/watch",
      params: { watchId: Number(id().split("-")[1]), path, recursive: false, sandbox: confinedTo(directory) },
    }));
  },
  "confined processes": ({ directory, id, random }) => {
    const processId = id();
    const sandbox = random.pick([confinedTo(directory), undefined]);
    const members = sandbox === undefined ? { sandboxPolicy: { type: "read-only" } } : { sandbox, cwd: directory };
    return [
      start(processId, `head -c ${random.pick([100, 100_000])} /dev/zero`, members),
      { method: "process/wait", params: { processId, timeoutMs: 5000 } },
      { method: "process/read", params: { processId } },
    ];
  },
};

// ---------------------------------------------------------------- all of them

export const ACTIONS: Readonly<Record<string, Action>> = {
  "small requests": ({ directory, random }) =>
    Array.from({ length: 200 }, () => ({
      method: random.pick(["fs/getMetadata", "fs/readFile", "fs/canonicalize"]),
      params: { path: `${directory}/small` },
    })),
  "blocks of a file": ({ directory, random }) => [
    { method: "fs/open", params: { handleId: "h", path: `${directory}/large`, mode: "read" } },
    ...Array.from({ length: 30 }, () => ({
      method: "fs/readBlock",
      params: { handleId: "h", offset: random.int(30) * MIB, len: MIB },
    })),
  ],
  "medium files": ({ directory }) => repeated(60, { method: "fs/readFile", params: { path: `${directory}/medium` } }),
  "large files": ({ directory }) => repeated(3, { method: "fs/readFile", params: { path: `${directory}/large` } }),
  "directories": ({ directory }) => repeated(5, { method: "fs/readDirectory", params: { path: `${directory}/many` } }),
  "walks": ({ directory }) =>
    repeated(3, {
      method: "fs/walk",
      params: {
        path: directory,
        options: {
          maxDepth: 4,
          maxDirectories: 100,
          maxEntries: 20_000,
          followDirectorySymlinks: false,
          pruneHiddenDirectories: false,
        },
      },
    }),
  "writes": ({ directory, id, random }) => {
    const dataBase64 = new Uint8Array(random.int(2 * MIB)).toBase64();
    const path = `${directory}/${id()}`;
    return [
      { method: "fs/writeFile", params: { path, dataBase64 } },
      { method: "fs/copy", params: { sourcePath: path, destinationPath: `${path}.copy`, recursive: false } },
      { method: "fs/remove", params: { path, recursive: false, force: true } },
      { method: "fs/remove", params: { path: `${path}.copy`, recursive: false, force: true } },
    ];
  },
  "output": ({ id, random }) => {
    const processId = id();
    const read = { method: "process/read", params: { processId, waitMs: 2000 } };
    const bytes = random.pick([100, 100_000, 3 * MIB]);
    return [
      start(processId, `head -c ${bytes} /dev/zero`),
      ...repeated(5, read),
      { method: "process/wait", params: { processId, timeoutMs: 5000 } },
      ...repeated(20, { method: "process/read", params: { processId } }),
      { method: "process/snapshot", params: { processId } },
      { method: "process/list", params: null },
    ];
  },
  "bodies": ({ web, id, random }) =>
    Array.from({ length: 4 }, () => ({
      method: "http/request",
      params: {
        requestId: id(),
        method: "POST",
        url: `${web}/${random.pick([100, 100_000, 5 * MIB])}`,
        headers: [],
        bodyBase64: new Uint8Array(random.int(MIB)).toBase64(),
        timeoutMs: 10_000,
        streamResponse: random.chance(0.3),
      },
    })),
  "shreds of a message": ({ random }) => [{
    method: "environment/status",
    params: null,
    frames: (text) => shreds(text, random.int(100)),
  }],
  "escaped keys": ({ random }) => {
    const bytes = random.pick([1000, MIB, 8 * MIB]);
    const members = Object.fromEntries(Array.from({ length: bytes / 250 }, (_, i) => [`${i}${"k".repeat(230)}`, 1]));
    return [
      { method: "process/resize", params: { "a\\b": "x".repeat(bytes) }, refused: "always" },
      { method: "process/resize", params: { "a\\b": members }, refused: "always" },
    ];
  },
  "patterns of variables": ({ id, random }) => {
    const half = 500 + random.int(12_000);
    const envPolicy = {
      inherit: random.pick(["none", "all"]),
      ignoreDefaultExcludes: true,
      exclude: [],
      set: { ["a".repeat(4 * half)]: "x" },
      includeOnly: [random.pick([`*${"a".repeat(2 * half)}b*`, `*${"a?".repeat(half)}b*`, `${"a*".repeat(half)}b`])],
    };
    const processId = id();
    return [
      // Patterns have a limit, and some of these are beyond it.
      { ...start(processId, "true", { env: {}, envPolicy }), refused: "perhaps" },
      { method: "process/wait", params: { processId, timeoutMs: 5000 } },
    ];
  },
  "discovery": ({ directory }) => [
    { method: "capabilities/discoverV2", params: { cwd: directory } },
    {
      method: "environmentConfig/read",
      params: { cwd: `file://${directory}`, configPaths: [["model"]], requirementsPaths: [] },
    },
    {
      method: "capabilityRoots/discoverV1",
      params: { roots: [{ id: "r", path: `file://${directory}`, sandbox: null }] },
    },
  ],
  ...(NO_SANDBOX === null ? CONFINED : {}),
};
