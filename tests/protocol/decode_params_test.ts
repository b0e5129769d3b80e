import assert from "node:assert/strict";
import { FsOpenParams } from "../../src/protocol/fs.ts";
import { HttpRequestParams } from "../../src/protocol/http.ts";
import { NoParams } from "../../src/protocol/primitives.ts";
import {
  ProcessResizeParams,
  ProcessSignalParams,
  ProcessStartParams,
  ProcessWriteParams,
} from "../../src/protocol/process.ts";
import { SandboxParam } from "../../src/protocol/sandbox.ts";
import { decodeParams, type ParamsSchema } from "../../src/protocol/decode_params.ts";

const START = { processId: "p", argv: ["true"], cwd: "/", env: {}, tty: false };
const GET = { requestId: "r", method: "GET", url: "http://x/" };

/** Where the reference has words for the same, they are these. */
const TEXTS: [name: string, schema: ParamsSchema<unknown>, params: unknown, text: string][] = [
  ["an absent text", ProcessStartParams, { ...START, processId: undefined }, "missing field `processId`"],
  ["an absent word", ProcessSignalParams, { processId: "p" }, "missing field `signal`"],
  ["an absent word further down", ProcessStartParams, { ...START, envPolicy: {} }, "missing field `inherit`"],
  [
    "an unknown word of three",
    FsOpenParams,
    { handleId: "h", path: "/", mode: "a" },
    "unknown variant `a`, expected one of `read`, `replace`, `update`",
  ],
  [
    "an unknown word of two",
    HttpRequestParams,
    { ...GET, redirectPolicy: "x" },
    "unknown variant `x`, expected `follow` or `stop`",
  ],
  ["an empty list", ProcessStartParams, { ...START, argv: [] }, "argv must not be empty"],
  ["an empty write id", ProcessWriteParams, { processId: "p", chunk: "", writeId: "" }, "writeId must not be empty"],
  ["a wrong type", ProcessStartParams, { ...START, tty: 1 }, "tty: Invalid input: expected boolean, received number"],
  [
    "a wrong type in a list",
    ProcessStartParams,
    { ...START, argv: [1] },
    "argv.0: Invalid input: expected string, received number",
  ],
  [
    "a map that is null",
    ProcessStartParams,
    { ...START, env: null },
    "env: Invalid input: expected record, received null",
  ],
  ["no object", NoParams, 1, "Invalid input: expected object, received number"],
  ["a number that no type can hold", NoParams, Infinity, "Invalid input: expected object, received Infinity"],
  ["a member where there is none", NoParams, { x: 1 }, 'Unrecognized key: "x"'],
  [
    "a number that is too small",
    ProcessResizeParams,
    { processId: "p", rows: 0, cols: 1 },
    "rows: Too small: expected number to be >=1",
  ],
  [
    "a number that is too big",
    ProcessResizeParams,
    { processId: "p", rows: 65536, cols: 1 },
    "rows: Too big: expected number to be <=65535",
  ],
  [
    "a fraction",
    ProcessResizeParams,
    { processId: "p", rows: 1.5, cols: 1 },
    "rows: Invalid input: expected int, received number",
  ],
  [
    "an unknown kind of object",
    ProcessStartParams,
    { ...START, io: { type: "x" } },
    "io.type: Invalid discriminator value. Expected 'pipe' | 'pty'",
  ],
  [
    "a wrong type inside a permission profile",
    SandboxParam,
    { permissions: { type: "managed", network: "enabled", file_system: { type: "restricted", entries: 1 } } },
    "permissions.file_system.entries: Invalid input: expected array, received number",
  ],
];
for (const [name, schema, params, text] of TEXTS) {
  Deno.test(`decodeParams() says ${text} of ${name}`, () => {
    assert.throws(() => decodeParams(schema, params), { name: "DomainError", kind: "invalidParams", message: text });
  });
}
