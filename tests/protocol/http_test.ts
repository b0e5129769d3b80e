import assert from "node:assert/strict";
import { HttpRequestParams, MAX_HTTP_REQUEST_ID_LENGTH } from "../../src/protocol/http.ts";
import { decodeParams } from "../../src/protocol/decode_params.ts";

const SHORTEST = { requestId: "r", method: "GET", url: "http://x/" };

function refusal(params: unknown): string {
  try {
    decodeParams(HttpRequestParams, params);
  } catch (error) {
    return (error as Error).message;
  }
  assert.fail(`${JSON.stringify(params)} was taken`);
}

Deno.test("HttpRequestParams brings the shortest request into the full form", () => {
  assert.deepEqual(HttpRequestParams.parse(SHORTEST), {
    ...SHORTEST,
    headers: [],
    body: null,
    timeoutMs: null,
    redirectPolicy: "follow",
    streamResponse: false,
  });
});

Deno.test("HttpRequestParams takes everything a request can carry, in order", () => {
  const parsed = HttpRequestParams.parse({
    ...SHORTEST,
    headers: [{ name: "A", value: "1" }, { name: "a", value: "2", valueEnvVar: "V" }, {
      name: "b",
      value: "",
      valueEnvVar: null,
    }],
    bodyBase64: "AAE=",
    timeoutMs: 0,
    redirectPolicy: "stop",
    streamResponse: true,
    someFutureField: 1,
  });
  assert.deepEqual(parsed, {
    ...SHORTEST,
    headers: [
      { name: "A", value: "1", valueEnvVar: null },
      { name: "a", value: "2", valueEnvVar: "V" },
      { name: "b", value: "", valueEnvVar: null },
    ],
    body: Uint8Array.of(0, 1),
    timeoutMs: 0,
    redirectPolicy: "stop",
    streamResponse: true,
  });
});

Deno.test("HttpRequestParams refuses what the reference refuses", () => {
  const { requestId: _requestId, ...unnamed } = SHORTEST;
  assert.equal(refusal(unnamed), "missing field `requestId`");
  assert.equal(refusal({}), "missing field `method`");
  assert.equal(refusal({ requestId: "r" }), "missing field `method`");
  assert.equal(refusal({ method: "GET" }), "missing field `url`");
  assert.equal(refusal({ ...SHORTEST, headers: [{ name: "a" }] }), "missing field `value`");
  for (
    const fields of [
      { headers: null },
      { bodyBase64: "!" },
      { timeoutMs: -1 },
      { timeoutMs: 1.5 },
      { redirectPolicy: "zz" },
      { redirectPolicy: null },
      { streamResponse: null },
      { url: null },
      { requestId: "x".repeat(MAX_HTTP_REQUEST_ID_LENGTH + 1) },
    ]
  ) refusal({ ...SHORTEST, ...fields });
});
