import assert from "node:assert/strict";
import { FsOpenParams } from "../../src/protocol/fs.ts";
import { HttpRequestParams } from "../../src/protocol/http.ts";
import { ProcessSignalParams, ProcessStartParams, ProcessWriteParams } from "../../src/protocol/process.ts";
import { decodeParams, type ParamsSchema } from "../../src/rpc/method_table.ts";

const START = { processId: "p", argv: ["true"], cwd: "/", env: {}, tty: false };
const GET = { requestId: "r", method: "GET", url: "http://x/" };

/** Where the reference has words for the same, they are these. */
const TEXTS: [name: string, schema: ParamsSchema<unknown>, params: unknown, text: string][] = [
  ["an absent text", ProcessStartParams, { ...START, processId: undefined }, "missing field `processId`"],
  ["an absent word", ProcessSignalParams, { processId: "p" }, "missing field `signal`"],
  ["an absent word further down", ProcessStartParams, { ...START, envPolicy: {} }, "missing field `inherit`"],
  [
    "an unknown word of two",
    FsOpenParams,
    { handleId: "h", path: "/", mode: "a" },
    "unknown variant `a`, expected `read` or `replace`",
  ],
  [
    "an unknown word",
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
];
for (const [name, schema, params, text] of TEXTS) {
  Deno.test(`decodeParams() says ${text} of ${name}`, () => {
    assert.throws(() => decodeParams(schema, params), { name: "DomainError", kind: "invalidParams", message: text });
  });
}
