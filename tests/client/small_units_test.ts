/** Durations, base64, waits, ignore rules and messages: what is decided without a server. */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import {
  decodeBase64,
  decodePortably,
  decodeWithBuffer,
  encodeBase64,
  encodePortably,
} from "../../src/client/base64.ts";
import { milliseconds } from "../../src/client/duration.ts";
import { ProtocolError } from "../../src/client/errors.ts";
import { ignoreTest } from "../../src/client/fs/ignore_rules.ts";
import { shellText } from "../../src/client/process/quote.ts";
import { statusOf } from "../../src/client/process/process_status.ts";
import { backOffMs } from "../../src/client/session/back_off.ts";
import { readWelcome } from "../../src/client/session/handshake.ts";
import { readInbound } from "../../src/client/session/inbound.ts";
import { isRepeatable } from "../../src/client/session/repeatable.ts";
import { forSeeds, randomBytes } from "../support/seeds.ts";

Deno.test("milliseconds() takes numbers and texts with a unit, and nothing else", () => {
  const good: [number | string, number][] = [[5, 5], ["250ms", 250], ["30s", 30_000], [" 1.5 h ", 5_400_000], [
    "2d",
    172_800_000,
  ]];
  for (const [given, expected] of good) assert.equal(milliseconds(given, "x"), expected);
  for (const bad of [0, -1, NaN, Infinity, "", "5", "5 minutes", "-5s", "s"]) {
    assert.throws(() => milliseconds(bad, "timeout"), /timeout must be a positive number of milliseconds or a text/);
  }
});

Deno.test("base64 is the same with and without the runtime's help", () =>
  forSeeds(50, (random) => {
    const bytes = randomBytes(random, random.int(20_000));
    const text = encodeBase64(bytes);
    assert.equal(encodePortably(bytes), text);
    assert.deepEqual(decodeBase64(text), bytes);
    assert.deepEqual(decodePortably(text), bytes);
    const decoded = decodeWithBuffer(text, Buffer);
    assert.deepEqual(decoded, bytes);
    // Whoever hands its memory to a worker gives nobody else's away.
    assert.equal(decoded.buffer.byteLength, bytes.length);
    assert.equal(decoded.constructor, Uint8Array);
  }));

Deno.test("decodeWithBuffer() refuses what is not base64", () => {
  for (const text of ["AAA", "AAA!", "AA A", "A===", "AAAA\n", "====", "ÄAAA"]) {
    assert.throws(() => decodeWithBuffer(text, Buffer), SyntaxError, text);
  }
});

Deno.test("wrong base64 from a server is a ProtocolError", () => {
  for (const sent of ["AAA!", "A", 7, null, undefined, {}]) {
    assert.throws(() => decodeBase64(sent as string), ProtocolError, `${sent}`);
  }
});

Deno.test("backOffMs() begins at once, doubles, is bounded and never nothing after that", () => {
  const options = { firstMs: 100, maxMs: 1000 };
  assert.equal(backOffMs(1, options), 0);
  for (const random of [0, 0.5, 0.999]) {
    const waits = [2, 3, 4, 5, 6, 7, 50].map((attempt) => backOffMs(attempt, options, () => random));
    const longest = [100, 200, 400, 800, 1000, 1000, 1000];
    waits.forEach((wait, i) => assert.ok(wait >= longest[i]! / 2 && wait <= longest[i]!, `${wait} of ${longest[i]}`));
  }
});

Deno.test("ignoreTest() reads patterns as .gitignore does", () => {
  const isIgnored = ignoreTest([
    "# no pattern",
    "",
    "node_modules/",
    "*.log",
    "!keep.log",
    "/build",
    "docs/**/*.tmp",
    "a?[0-9].ts",
  ]);
  const table: [string, boolean, boolean][] = [
    ["node_modules", true, true],
    ["deep/node_modules", true, true],
    ["node_modules", false, false],
    ["x.log", false, true],
    ["deep/x.log", false, true],
    ["keep.log", false, false],
    ["build", true, true],
    ["deep/build", true, false],
    ["docs/x.tmp", false, true],
    ["docs/a/b/x.tmp", false, true],
    ["other/x.tmp", false, false],
    ["ab1.ts", false, true],
    ["abc.ts", false, false],
    ["x.logs", false, false],
  ];
  for (const [path, isDirectory, expected] of table) assert.equal(isIgnored(path, isDirectory), expected, path);
});

Deno.test("shellText() puts parameters in the places of values", () => {
  const text = (strings: TemplateStringsArray, ...values: never[]) => shellText(strings, values);
  const made = text`cp ${"a b" as never} ${["x", "y'z"] as never} --n=${3 as never}`;
  assert.deepEqual(made, {
    script: '_0=0; for _v do _0=$((_0 + 1)); eval "_$_0=\\$_v"; done; cp "${_1}" "${_2}" "${_3}" --n="${_4}"',
    parameters: ["a b", "x", "y'z", "3"],
    shown: "cp 'a b' x 'y'\\''z' --n=3",
  });
  assert.throws(() => text`echo ${{} as never}`, /must be a text, a number or a list/);
  assert.throws(() => text`echo ${"a\0b" as never}`, /NUL/);
  assert.throws(() => text`printf '\x'`, /an escape that JavaScript does not know/);
  assert.equal(text`exit 4`.script, "exit 4");
});

Deno.test("readInbound() reads output the short way and the long way alike", () => {
  const short = '{"method":"process/output","params":{"processId":"p","seq":12,"stream":"stderr","chunk":"aGk="}}';
  const long = '{"params":{"chunk":"aGk=","stream":"stderr","seq":12,"processId":"p"},"method":"process/output"}';
  const expected = { type: "output", processId: "p", seq: 12, stream: "stderr", chunk: "aGk=" };
  assert.deepEqual(readInbound(short), expected);
  assert.deepEqual(readInbound(long), expected);
  const escaped = short.replace('"p"', '"\\u0070"');
  assert.deepEqual(readInbound(escaped), expected);
});

Deno.test("readInbound() reads content of files the short way and the long way alike", () => {
  const content = "aGk/".repeat(2000);
  const results = [`{"chunk":"${content}","eof":false}`, `{"dataBase64":"${content}"}`, `{"chunk":"","eof":true}`];
  for (const result of results) {
    const expected = { type: "result", id: 7, result: JSON.parse(result) };
    assert.deepEqual(readInbound(`{"id":7,"result":${result}}`), expected);
    assert.deepEqual(readInbound(`{"result":${result},"id":7}`), expected);
    // Some escape slashes.
    assert.deepEqual(readInbound(`{"id":7,"result":${result.replaceAll("/", "\\/")}}`), expected);
  }
  const twice = `{"id":7,"result":{"chunk":"${content}","chunk":"last"}}`;
  assert.equal(readInbound(twice).type, "result");
  for (const cut of [1, 3, 100]) {
    const whole = `{"id":7,"result":{"chunk":"${content}","eof":false}}`;
    assert.throws(() => readInbound(whole.slice(0, -cut)), ProtocolError);
  }
});

Deno.test("readInbound() refuses what is not a message", () => {
  const bad = ["", "x", "[]", "{}", '{"id":"text","result":1}'];
  for (const text of bad) assert.throws(() => readInbound(text), ProtocolError, text);
  for (
    const params of [
      "{}",
      '{"processId":"p","seq":1.5,"stream":"stdout","chunk":""}',
      '{"processId":"p","seq":1,"stream":"x","chunk":""}',
    ]
  ) {
    assert.throws(() => readInbound(`{"method":"process/output","params":${params}}`), ProtocolError, params);
  }
});

Deno.test("readInbound() tells whose answer it is that cannot be read", () => {
  for (
    const [text, reason] of [
      ['{"id":1}', "neither a result nor an error"],
      ['{"id":1,"error":{"code":"x"}}', "an error without code and message"],
      ['{"id":1,"error":null}', "an error without code and message"],
    ]
  ) assert.deepEqual(readInbound(text!), { type: "malformed", id: 1, reason });
});

Deno.test("isRepeatable() is false for requests that must not be carried out twice", () => {
  const not = [
    "initialize",
    "process/signal",
    "process/attach",
    "net/write",
    "fs/rename",
    "fs/copy",
    "fs/symlink",
    "fs/open",
    "fs/writeBlock",
    "http/request",
    "no/such",
  ];
  for (const method of not) assert.equal(isRepeatable(method, {}), false, method);
  for (const method of ["rpc.discover", "environment/info"]) assert.equal(isRepeatable(method, null), true, method);
  assert.equal(isRepeatable("process/write", { writeId: "w" }), true);
  assert.equal(isRepeatable("process/write", {}), false);
  assert.equal(isRepeatable("fs/writeFile", { ifMatch: null }), true);
  assert.equal(isRepeatable("fs/writeFile", { ifMatch: "absent" }), false);
  assert.equal(isRepeatable("fs/createDirectory", { recursive: false }), false);
  assert.equal(isRepeatable("fs/remove", { force: false }), false);
});

Deno.test("readWelcome() has defaults for what an older server leaves out, and needs a session", () => {
  const { environmentInfo, detachTtlMs } = readWelcome({ sessionId: "s" });
  assert.equal(detachTtlMs, 30_000);
  assert.deepEqual(environmentInfo.shell, { name: "sh", path: "/bin/sh" });
  assert.deepEqual([environmentInfo.cwd, environmentInfo.userHomeDir, environmentInfo.capabilities], [null, null, {}]);
  const newer = readWelcome({ sessionId: "s", detachTtlMs: 5, environmentInfo: { cwd: "file:///w", tomorrow: 1 } });
  assert.deepEqual([newer.detachTtlMs, newer.environmentInfo.cwd], [5, "file:///w"]);
  for (const result of [null, {}, { sessionId: 1 }]) assert.throws(() => readWelcome(result), ProtocolError);
});

Deno.test("statusOf() says no more than is known about an exit without details", () => {
  const report = {
    exitCode: 3,
    sandboxDenied: false,
    endReason: null,
    signal: null,
    networkDenials: null,
    failure: null,
  };
  const { success, code, sandboxDenied, endReason } = statusOf(report);
  assert.deepEqual([success, code, sandboxDenied, endReason], [false, 3, false, null]);
  assert.equal(statusOf({ ...report, exitCode: 0 }).success, true);
  assert.equal(statusOf({ ...report, exitCode: null }).success, false);
});
