/**
 * What decodes as parameters of process methods, and what is refused in which words.
 *
 * More than 300 lines: tables of messages.
 */

import assert from "node:assert/strict";
import { ForeignPathError } from "../../src/path_uri.ts";
import { AbsolutePath, NoParams, UnsignedInt } from "../../src/protocol/primitives.ts";
import {
  MAX_WRITE_ID_LENGTH,
  ProcessAckParams,
  ProcessCloseStdinParams,
  ProcessListParams,
  ProcessReadParams,
  ProcessResizeParams,
  ProcessSignalParams,
  ProcessSnapshotParams,
  ProcessStartParams,
  ProcessTerminateParams,
  ProcessWaitParams,
  ProcessWriteParams,
  SIGNAL_NAMES,
} from "../../src/protocol/process.ts";
import { decode, type ParamsSchema } from "../../src/protocol/decode_params.ts";

type Schema = ParamsSchema<unknown>;

/** Path and message of every issue; an empty list when the value is taken. */
function issues(schema: Schema, value: unknown): string[] {
  const result = decode(schema, value);
  if (result.success) return [];
  return result.error.issues.map((issue) =>
    `${issue.path.join(".")}: ${issue.errors?.[0]?.[0]?.message ?? issue.message}`
  );
}

/** What the schema makes of a value. */
function parsed<Params>(schema: ParamsSchema<Params>, value: unknown): Params {
  const result = decode(schema, value);
  if (!result.success) throw new Error(result.error.issues[0]?.message);
  return result.data;
}

function refuses(schema: Schema, value: unknown, ...expected: RegExp[]): void {
  const found = issues(schema, value);
  assert(found.length > 0, `${JSON.stringify(value)} was taken`);
  for (const pattern of expected) assert.match(found.join("\n"), pattern);
}

const START = { processId: "p", argv: ["/bin/true"], cwd: "file:///ws", env: { A: "1" }, tty: false };
const PREPARED = {
  processId: "p",
  kind: "prepared",
  request: { argv: ["x"], cwd: "/ws", env: {}, arg0: "zero" },
  io: { type: "pipe", stdin: "open" },
};
const POLICY = { inherit: "core", ignoreDefaultExcludes: false, exclude: ["A"], set: { B: "1" }, includeOnly: [] };

Deno.test("ProcessStartParams brings the shortest request into the full form", () => {
  assert.deepEqual(ProcessStartParams.parse(START), {
    processId: "p",
    kind: "direct",
    argv: ["/bin/true"],
    arg0: null,
    cwd: { native: "/ws", form: "uri" },
    env: { A: "1" },
    envPolicy: null,
    io: { type: "pipe", stdin: "closed" },
    sandbox: null,
    enforceManagedNetwork: false,
    managedNetwork: null,
    metadata: null,
    networkProxy: null,
    shellSnapshot: null,
    timeoutMs: null,
    idleTimeoutMs: null,
    keepOnSessionEnd: null,
    output: "latest",
    name: null,
  });
});

Deno.test("ProcessStartParams takes everything a request can carry", () => {
  const metadata = { threadId: "01a1c3fe-46ec-7240-8a83-ba705b41994a", toolCallId: "c1" };
  const sandbox = { permissions: { type: "disabled" } };
  const parsed = ProcessStartParams.parse({
    ...START,
    kind: "direct",
    arg0: "zero",
    pipeStdin: true,
    envPolicy: POLICY,
    sandbox,
    metadata,
    enforceManagedNetwork: true,
    managedNetwork: { loopbackPorts: [80], allowLocalBinding: true },
    networkProxy: { a: 1 },
    shellSnapshot: { scopeId: "s", shell: { name: "bash", path: "/bin/bash" } },
    timeoutMs: 5,
    idleTimeoutMs: 6,
    keepOnSessionEnd: true,
    output: "acknowledged",
    name: "web-1.x_y",
    someFutureField: 1,
  });
  assert.deepEqual(parsed, {
    processId: "p",
    kind: "direct",
    argv: ["/bin/true"],
    arg0: "zero",
    cwd: { native: "/ws", form: "uri" },
    env: { A: "1" },
    envPolicy: POLICY,
    io: { type: "pipe", stdin: "open" },
    sandbox,
    enforceManagedNetwork: true,
    managedNetwork: { loopbackPorts: [80], allowLocalBinding: true },
    metadata,
    networkProxy: { a: 1 },
    shellSnapshot: { scopeId: "s", shell: { name: "bash", path: "/bin/bash" } },
    timeoutMs: 5,
    idleTimeoutMs: 6,
    keepOnSessionEnd: true,
    output: "acknowledged",
    name: "web-1.x_y",
  });
});

Deno.test("ProcessStartParams takes null where the contract allows it", () => {
  const nulls = {
    arg0: null,
    envPolicy: null,
    sandbox: null,
    managedNetwork: null,
    metadata: null,
    timeoutMs: null,
    networkProxy: null,
    output: null,
    name: null,
  };
  assert.deepEqual(ProcessStartParams.parse({ ...START, ...nulls }), ProcessStartParams.parse(START));
});

const IO: [Record<string, unknown>, unknown][] = [
  [{ tty: true }, { type: "pty", rows: 24, cols: 80 }],
  [{ tty: true, pipeStdin: true }, { type: "pty", rows: 24, cols: 80 }],
  [{ tty: false, pipeStdin: true }, { type: "pipe", stdin: "open" }],
  [{ tty: true, io: { type: "pipe", stdin: "open" } }, { type: "pipe", stdin: "open" }],
  [{ tty: undefined, io: { type: "pty", rows: 1, cols: 65535 } }, { type: "pty", rows: 1, cols: 65535 }],
];
for (const [fields, io] of IO) {
  Deno.test(`ProcessStartParams reads ${JSON.stringify(fields)} as ${JSON.stringify(io)}`, () => {
    assert.deepEqual(ProcessStartParams.parse({ ...START, ...fields }).io, io);
  });
}

for (const field of ["processId", "argv", "cwd", "env", "tty"]) {
  Deno.test(`ProcessStartParams names a missing ${field} the way zod names any missing field`, () => {
    const { [field as "env"]: _, ...rest } = START;
    const result = decode(ProcessStartParams, rest);
    assert(!result.success);
    assert.deepEqual(result.error.issues.map(({ code, path }) => ({ code, path })), [{
      code: "invalid_type",
      path: [field],
    }]);
    assert.match(result.error.issues[0]!.message, /received undefined$/);
  });
}

const BAD_START: [Record<string, unknown>, RegExp][] = [
  [{ processId: "x".repeat(65_537) }, /^processId: processId must not be longer than 65536 characters$/m],
  [{ argv: [] }, /^argv: argv must not be empty$/m],
  [{ argv: "x" }, /^argv/m],
  [{ argv: [1] }, /^argv\.0/m],
  [{ argv: null }, /^argv/m],
  [{ env: null }, /^env: .*expected record/m],
  [{ env: [] }, /^env: .*expected record/m],
  [{ env: { A: 1 } }, /^env\.A: .*expected string/m],
  [{ env: { A: null } }, /^env\.A/m],
  [{ tty: null }, /^tty/m],
  [{ tty: "yes" }, /^tty/m],
  [{ pipeStdin: null }, /^pipeStdin/m],
  [{ arg0: 1 }, /^arg0/m],
  [{ processId: 1 }, /^processId/m],
  [{ processId: null }, /^processId/m],
  [{ cwd: "" }, /^cwd: .*absolute/m],
  [{ cwd: "tmp" }, /^cwd: .*absolute/m],
  [{ cwd: "http://x/tmp" }, /^cwd: .*file: URI/m],
  [{ cwd: "file://host/tmp" }, /^cwd: .*not usable on this host/m],
  [{ cwd: "file:///C:/x" }, /^cwd: .*not usable on this host/m],
  [{ cwd: "file:///tmp?x=1" }, /^cwd: .*query/m],
  [{ cwd: "file:///tmp#x" }, /^cwd: .*fragment/m],
  [{ cwd: null }, /^cwd/m],
  [{ envPolicy: {} }, /^envPolicy\.inherit/m],
  [{ envPolicy: { ...POLICY, inherit: "some" } }, /^envPolicy\.inherit/m],
  [{ envPolicy: { ...POLICY, ignoreDefaultExcludes: undefined } }, /^envPolicy\.ignoreDefaultExcludes/m],
  [{ envPolicy: { ...POLICY, exclude: undefined } }, /^envPolicy\.exclude/m],
  [{ envPolicy: { ...POLICY, set: undefined } }, /^envPolicy\.set/m],
  [{ envPolicy: { ...POLICY, includeOnly: null } }, /^envPolicy\.includeOnly/m],
  [{ metadata: "x" }, /^metadata/m],
  [{ metadata: { threadId: "not-a-uuid" } }, /^metadata\.threadId: threadId must be a UUID$/m],
  [{ metadata: { toolCallId: 1 } }, /^metadata\.toolCallId/m],
  [{ enforceManagedNetwork: null }, /^enforceManagedNetwork/m],
  [{ managedNetwork: { loopbackPorts: [65536] } }, /^managedNetwork\.loopbackPorts\.0/m],
  [{ networkProxy: true }, /^networkProxy/m],
  [{ networkProxy: [] }, /^networkProxy/m],
  [{ kind: "other" }, /^kind/m],
  [{ kind: null }, /^kind/m],
  [{ io: null }, /^io/m],
  [{ io: { type: "socket" } }, /^io/m],
  [{ io: { type: "pipe" } }, /^io\.stdin/m],
  [{ io: { type: "pty", rows: 0, cols: 1 } }, /^io\.rows/m],
  [{ io: { type: "pty", rows: 1, cols: 65536 } }, /^io\.cols/m],
  [{ timeoutMs: 0 }, /^timeoutMs: Invalid input: expected a positive integer/m],
  [{ timeoutMs: -1 }, /^timeoutMs/m],
  [{ idleTimeoutMs: 1.5 }, /^idleTimeoutMs/m],
  [{ keepOnSessionEnd: null }, /^keepOnSessionEnd/m],
  [{ name: "" }, /^name: a name has 1 to 64 letters/m],
  [{ name: "-x" }, /^name: a name has/m],
  [{ name: "a b" }, /^name: a name has/m],
  [{ name: "a/b" }, /^name: a name has/m],
  [{ name: "x".repeat(65) }, /^name: a name has/m],
  [{ output: "all" }, /^output: unknown variant `all`, expected `latest` or `acknowledged`$/m],
];
for (const [fields, message] of BAD_START) {
  Deno.test(`ProcessStartParams refuses ${JSON.stringify(fields)}`, () => {
    refuses(ProcessStartParams, { ...START, ...fields }, message);
  });
}

for (const value of [undefined, null, [], "x", 1]) {
  Deno.test(`ProcessStartParams refuses ${JSON.stringify(value)} for parameters`, () => {
    refuses(ProcessStartParams, value);
  });
}

Deno.test("ProcessStartParams takes a prepared request as it is", () => {
  const parsed = ProcessStartParams.parse({ ...PREPARED, envPolicy: null, sandbox: null, argv: [] });
  assert.equal(parsed.kind, "prepared");
  assert.deepEqual([parsed.argv, parsed.arg0, parsed.env, parsed.envPolicy, parsed.sandbox], [
    ["x"],
    "zero",
    {},
    null,
    null,
  ]);
  assert.deepEqual(parsed.cwd, { native: "/ws", form: "native" });
  assert.deepEqual(parsed.io, { type: "pipe", stdin: "open" });
});

const BAD_PREPARED: [Record<string, unknown>, RegExp][] = [
  [{ request: undefined }, /^request: .*received undefined$/m],
  [{ request: { ...PREPARED.request, argv: [] } }, /^request\.argv: argv must not be empty$/m],
  [{ request: { ...PREPARED.request, cwd: undefined } }, /^request\.cwd: .*received undefined$/m],
  [{ io: undefined }, /^io: .*received undefined$/m],
  [{ envPolicy: POLICY }, /^envPolicy: envPolicy is not allowed with kind `prepared`$/m],
  [{ sandbox: {} }, /^sandbox: sandbox is not allowed with kind `prepared`$/m],
];
for (const [fields, message] of BAD_PREPARED) {
  Deno.test(`ProcessStartParams refuses a prepared request with ${JSON.stringify(fields)}`, () => {
    refuses(ProcessStartParams, { ...PREPARED, ...fields }, message);
  });
}

Deno.test("ProcessStartParams keeps a variable called __proto__", () => {
  const env = JSON.parse('{"__proto__":"x","constructor":"y"}');
  assert.deepEqual(Object.entries(ProcessStartParams.parse({ ...START, env }).env), [["__proto__", "x"], [
    "constructor",
    "y",
  ]]);
});

const P = { processId: "p" } as const;

Deno.test("ProcessReadParams takes absent, null and large numbers", () => {
  assert.deepEqual(parsed(ProcessReadParams, { processId: "" }), { processId: "" });
  const nulls = { afterSeq: null, maxBytes: null, waitMs: null };
  assert.deepEqual(parsed(ProcessReadParams, { processId: "p", ...nulls }), { ...P, ...nulls });
  const large = { afterSeq: 0, maxBytes: 2 ** 64, waitMs: 2 ** 40 };
  assert.deepEqual(parsed(ProcessReadParams, { processId: "p", ...large }), { ...P, ...large });
});

for (
  const bad of [{ afterSeq: -1 }, { afterSeq: 1.5 }, { waitMs: "1" }, { maxBytes: -5 }, { waitMs: -1 }, {
    waitMs: 2 ** 65,
  }, { processId: null }]
) {
  Deno.test(`ProcessReadParams refuses ${JSON.stringify(bad)}`, () => {
    refuses(ProcessReadParams, { processId: "none", ...bad }, new RegExp(`^${Object.keys(bad)[0]}: `, "m"));
  });
}

for (const bad of [{}, { seq: -1 }, { seq: 1.5 }, { seq: null }, { seq: "1" }]) {
  Deno.test(`ProcessAckParams refuses ${JSON.stringify(bad)}`, () => {
    refuses(ProcessAckParams, { processId: "p", ...bad }, /^seq: /m);
  });
}

Deno.test("UnsignedInt refuses what is not a number", () => {
  for (const bad of [NaN, Infinity, "1", true, {}, null]) refuses(UnsignedInt, bad);
});

Deno.test("ProcessWriteParams decodes the chunk and allows a write without an id", () => {
  const chunk = Uint8Array.of(0x68, 0x69);
  assert.deepEqual(parsed(ProcessWriteParams, { processId: "p", chunk: "aGk=" }), { ...P, chunk });
  assert.deepEqual(parsed(ProcessWriteParams, { processId: "p", chunk: "aGk=", writeId: "w" }), {
    ...P,
    chunk,
    writeId: "w",
  });
});

const BAD_WRITE: [Record<string, unknown>, RegExp][] = [
  [{ writeId: "" }, /^writeId: writeId must not be empty$/m],
  [{ writeId: 1 }, /^writeId/m],
  [{ writeId: "x".repeat(MAX_WRITE_ID_LENGTH + 1) }, /^writeId: writeId must not be longer than 1024 characters$/m],
  [{ chunk: null }, /^chunk/m],
  [{ chunk: undefined }, /^chunk: .*received undefined/m],
];
for (const [fields, message] of BAD_WRITE) {
  Deno.test(`ProcessWriteParams refuses ${JSON.stringify(fields).slice(0, 60)}`, () => {
    refuses(ProcessWriteParams, { processId: "none", chunk: "", writeId: "1", ...fields }, message);
  });
}

for (
  const chunk of [
    "!!!",
    "aGk",
    "_-8=",
    "aGk=\n",
    "a===",
    " aGk=",
    "aG k",
    "aG\tk=",
    "aGk=    ",
    "    ",
    "aGl=",
    "aGkx=",
    "=",
    "====",
    "aGk=aGk=",
    "aGk\u0000",
    "ａGk=",
  ]
) {
  Deno.test(`ProcessWriteParams refuses the chunk ${JSON.stringify(chunk)}`, () => {
    refuses(ProcessWriteParams, { processId: "none", chunk, writeId: "1" }, /^chunk: Invalid base64/m);
  });
}

Deno.test("ProcessSignalParams knows the reference's signal and some of the shell's", () => {
  for (const signal of SIGNAL_NAMES) {
    assert.deepEqual(parsed(ProcessSignalParams, { processId: "p", signal }), { ...P, signal, target: "group" });
  }
  assert(SIGNAL_NAMES.includes("interrupt"));
});

for (const signal of ["kill", "SIGINT", "Interrupt", "", null, 2, undefined, "TERM"]) {
  Deno.test(`ProcessSignalParams refuses the signal ${JSON.stringify(signal)}`, () => {
    refuses(ProcessSignalParams, { processId: "none", signal }, /^signal: /m);
  });
}

Deno.test("ProcessTerminateParams forces by default", () => {
  const force = { ...P, mode: { type: "force" }, tree: false };
  assert.deepEqual(parsed(ProcessTerminateParams, { processId: "p" }), force);
  assert.deepEqual(parsed(ProcessTerminateParams, { processId: "p", mode: null, tree: null }), force);
  const graceful = { mode: { type: "graceful", timeoutMs: 0 }, tree: true };
  assert.deepEqual(parsed(ProcessTerminateParams, { processId: "p", ...graceful }), { ...P, ...graceful });
});

for (const mode of ["kill", {}, { type: "soft" }, { type: "graceful" }, { type: "graceful", timeoutMs: -1 }]) {
  Deno.test(`ProcessTerminateParams refuses the mode ${JSON.stringify(mode)}`, () => {
    refuses(ProcessTerminateParams, { processId: "p", mode }, /^mode/m);
  });
}

for (
  const bad of [{ rows: 0, cols: 1 }, { rows: 1, cols: 65536 }, { rows: -1, cols: 1 }, { rows: 1.5, cols: 2 }, {
    rows: 5,
  }]
) {
  Deno.test(`ProcessResizeParams refuses ${JSON.stringify(bad)}`, () => {
    refuses(ProcessResizeParams, { processId: "p", ...bad });
  });
}

Deno.test("ProcessWaitParams waits for the close, for ever, unless told otherwise", () => {
  assert.deepEqual(parsed(ProcessWaitParams, { processId: "p" }), { ...P, until: "closed" });
  const given = { timeoutMs: 0, until: "exited" };
  assert.deepEqual(parsed(ProcessWaitParams, { processId: "p", ...given }), { ...P, ...given });
  refuses(ProcessWaitParams, { processId: "p", until: "gone" }, /^until/m);
  refuses(ProcessWaitParams, { processId: "p", timeoutMs: -1 }, /^timeoutMs/m);
});

Deno.test("methods that name only a process need that name", () => {
  for (const schema of [ProcessCloseStdinParams, ProcessSnapshotParams]) {
    assert.deepEqual(parsed(schema, { processId: "p", more: 1 }), P);
    refuses(schema, {}, /^processId: .*received undefined$/m);
  }
});

Deno.test("a process is named by its id or by its uid, and never by both", () => {
  assert.deepEqual(parsed(ProcessSnapshotParams, { uid: "u" }), { uid: "u" });
  assert.deepEqual(parsed(ProcessSnapshotParams, { uid: "u", processId: null }), { uid: "u", processId: undefined });
  assert.deepEqual(parsed(ProcessSnapshotParams, { processId: "p", uid: null }), P);
  refuses(ProcessSnapshotParams, { processId: "p", uid: "u" }, /named by processId or by uid, not by both$/);
  refuses(ProcessSnapshotParams, { uid: 1 }, /^uid: .*expected string/);
  // The name comes first, also when more is missing.
  assert.match(issues(ProcessWriteParams, {})[0]!, /^processId: .*received undefined$/);
});

Deno.test("ProcessListParams takes one of two scopes, or none", () => {
  assert.deepEqual(ProcessListParams.parse({ scope: "server" }), { scope: "server" });
  assert.deepEqual(ProcessListParams.parse({ scope: "session" }), { scope: "session" });
  assert.deepEqual(ProcessListParams.parse({ scope: null }), { scope: null });
  refuses(ProcessListParams, { scope: "world" }, /unknown variant `world`, expected `session` or `server`/);
});

Deno.test("NoParams takes absent, null and an empty object, and nothing else", () => {
  for (const good of [undefined, null, {}]) assert.deepEqual(issues(NoParams, good), []);
  for (const bad of [{ a: 1 }, [], 1, "x"]) refuses(ProcessListParams, bad);
});

Deno.test("AbsolutePath throws another machine's path as an invalid request, and the rest as issues", () => {
  assert.deepEqual(AbsolutePath.parse("/a/../b"), { native: "/b", form: "native" });
  refuses(AbsolutePath, "relative", /absolute/);
  assert.throws(() => AbsolutePath.safeParse("file://host/x"), ForeignPathError);
});
