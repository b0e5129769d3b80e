import assert from "node:assert/strict";
import { decode } from "../../src/protocol/decode_params.ts";
import { plainStart } from "../../src/protocol/plain_start.ts";
import { ProcessStartParams } from "../../src/protocol/process.ts";
import { Random } from "../support/random.ts";

const POLICY = { inherit: "all", ignoreDefaultExcludes: true, exclude: ["A*"], set: { B: "1" }, includeOnly: [] };
const PLAIN = { processId: "p", argv: ["/bin/true"], cwd: "file:///", env: {}, tty: false };
/** As codex sends it. */
const CODEX = {
  ...PLAIN,
  metadata: { threadId: "01a10000-0000-7000-8000-000000000000", toolCallId: "c1" },
  envPolicy: POLICY,
  pipeStdin: false,
  arg0: null,
  sandbox: { permissions: {} },
  enforceManagedNetwork: false,
  managedNetwork: null,
};

Deno.test("plainStart() takes what real clients send", () => {
  for (const raw of [PLAIN, CODEX, { ...PLAIN, tty: true }, { ...PLAIN, cwd: "/tmp", kind: "direct", name: null }]) {
    const parsed = decode(ProcessStartParams, raw);
    assert.ok(parsed.success);
    assert.deepEqual(plainStart(raw), parsed.data);
  }
});

Deno.test("plainStart() leaves everything unusual to the schema", () => {
  const cases: Record<string, unknown>[] = [
    { ...PLAIN, argv: [] },
    { ...PLAIN, argv: ["a", 1] },
    { ...PLAIN, cwd: "relative" },
    { ...PLAIN, cwd: "file:///C:/x" },
    { ...PLAIN, env: { A: 1 } },
    { ...PLAIN, env: [] },
    { ...PLAIN, tty: undefined },
    { ...PLAIN, kind: "prepared" },
    { ...PLAIN, envPolicy: { ...POLICY, inherit: "some" } },
    { ...PLAIN, envPolicy: { ...POLICY, set: null } },
    { ...PLAIN, metadata: { threadId: "no" } },
    { ...PLAIN, io: { type: "pty", rows: 1, cols: 1 } },
    { ...PLAIN, timeoutMs: 5 },
    { ...PLAIN, name: "build" },
    { ...PLAIN, sandboxPolicy: {} },
    { ...PLAIN, permissions: {} },
    { ...PLAIN, newerMember: true },
  ];
  for (const raw of cases) assert.equal(plainStart(raw), null, JSON.stringify(raw));
});

Deno.test("plainStart() gives what the schema gives, and nothing where the schema refuses", () => {
  const values: Record<string, unknown[]> = {
    processId: ["p", "", 1, null, "x".repeat(65_537)],
    kind: ["direct", "prepared", null],
    argv: [["a"], [], ["a", 2], "a", null],
    arg0: ["x", null, 1],
    cwd: ["/", "file:///tmp", "x", "", "file://host/x", 3],
    env: [{}, { A: "1" }, { __proto__: null, A: "" }, { A: 1 }, [], null],
    envPolicy: [null, POLICY, { ...POLICY, more: 1 }, { ...POLICY, exclude: [1] }, {}, 1],
    tty: [true, false, null, 1],
    pipeStdin: [true, false, null],
    sandbox: [null, {}, "x", 0, false],
    enforceManagedNetwork: [true, false, null],
    managedNetwork: [null, {}],
    metadata: [null, {}, CODEX.metadata, { threadId: null }, { toolCallId: null, more: 1 }, { toolCallId: 1 }],
    networkProxy: [null, {}],
    timeoutMs: [null, 1],
    output: [null, "latest"],
    sandboxPolicy: [null, {}],
    other: [1],
  };
  const random = new Random(21);
  let taken = 0;
  for (let round = 0; round < 40_000; round++) {
    // Mostly right, so that what is taken has many members.
    const raw: Record<string, unknown> = { ...PLAIN };
    for (const [name, choices] of Object.entries(values)) {
      if (random.chance(0.25)) raw[name] = random.chance(0.7) ? choices[0] : random.pick(choices);
    }
    const plain = plainStart(raw);
    if (plain === null) continue;
    taken++;
    const parsed = decode(ProcessStartParams, raw);
    assert.ok(parsed.success, JSON.stringify(raw));
    assert.deepEqual(plain, parsed.data, JSON.stringify(raw));
  }
  assert.ok(taken > 1000, `${taken} were taken`);
});
