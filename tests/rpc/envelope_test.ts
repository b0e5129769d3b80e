import assert from "node:assert/strict";
import {
  decodeMessage as decode,
  encodeError,
  encodeNotification,
  encodeResult,
  type Message,
  type RequestId,
} from "../../src/rpc/envelope.ts";
import { contentResult, EncodedResult } from "../../src/rpc/encoded_result.ts";
import { LONG_CONTENT } from "../../src/protocol/base64.ts";
import { MESSAGE_LIMITS } from "../../src/protocol/limits.ts";
import { StreamedMessage, writeStreamed } from "../../src/rpc/streamed_message.ts";

const decodeMessage = (text: string) => decode(text, { limits: MESSAGE_LIMITS, content: LONG_CONTENT });

const id = (json: string) => json as RequestId;

const ACCEPTED: [string, Message][] = [
  ['{"id":1,"method":"m"}', { type: "request", id: id("1"), method: "m", params: undefined }],
  ['{"method":"m","id":1,"params":null}', { type: "request", id: id("1"), method: "m", params: null }],
  ['{"jsonrpc":7,"id":-7,"method":"m"}', { type: "request", id: id("-7"), method: "m", params: undefined }],
  ['{"id":"","method":""}', { type: "request", id: id('""'), method: "", params: undefined }],
  ['{"id":"a\\"b","method":"m"}', { type: "request", id: id('"a\\"b"'), method: "m", params: undefined }],
  ['{"id":1,"method":"m","result":1}', { type: "request", id: id("1"), method: "m", params: undefined }],
  ['{"id":1,"method":"m","extra":[1]}', { type: "request", id: id("1"), method: "m", params: undefined }],
  ['{"method":"m","params":[1]}', { type: "notification", method: "m", params: [1] }],
  ['{"id":3,"result":null}', { type: "result", id: id("3"), result: null }],
  ['{"id":3,"result":1,"error":{"code":1,"message":"m"}}', { type: "result", id: id("3"), result: 1 }],
  ['{"id":3,"error":{"code":-1,"message":"m","data":5}}', {
    type: "error",
    id: id("3"),
    error: { code: -1, message: "m" },
  }],
  [
    '{"id":1,"method":"m","trace":{"traceparent":"zz","tracestate":null}}',
    {
      type: "request",
      id: id("1"),
      method: "m",
      params: undefined,
      trace: { traceparent: "zz", tracestate: null },
    },
  ],
];

Deno.test("decodeMessage() classifies well-formed messages", () => {
  for (const [text, message] of ACCEPTED) assert.deepEqual(decodeMessage(text), message, text);
});

Deno.test("decodeMessage() keeps an integer id exactly as it was written, up to 64 bits", () => {
  for (
    const source of ["0", "9007199254740991", "9007199254740993", "9223372036854775807", "-9223372036854775808", "1000"]
  ) {
    for (
      const text of [
        `{"id":${source},"method":"m"}`,
        `{ "method" : "m" , "id" : ${source} }`,
        `{"params":{"id":5,"x":"\\"id\\":6,}"},"id":${source},"method":"m"}`,
        `{"params":[{"id":1}],"method":"m","\\u0069d":${source}}`,
      ]
    ) assert.equal((decodeMessage(text) as { id: string }).id, source, text);
  }
});

Deno.test("decodeMessage() takes the id -0 for 0", () => {
  for (const text of ['{"id":-0,"method":"m"}', '{"method":"m","id":-0}']) {
    assert.deepEqual(decodeMessage(text), { type: "request", id: "0", method: "m", params: undefined }, text);
  }
});

Deno.test("decodeMessage() reports malformed messages as values", () => {
  for (
    const text of [
      "{nope",
      "",
      "   ",
      "null",
      "1",
      '"x"',
      "[]",
      '[{"id":1,"method":"m"}]',
      "{}",
      '{"id":1}',
      '{"params":{}}',
      '{"id":1,"method":5}',
      '{"method":null}',
      '{"id":null,"method":"m"}',
      '{"id":true,"method":"m"}',
      '{"id":{},"method":"m"}',
      '{"id":1.5,"method":"m"}',
      '{"id":1.0,"method":"m"}',
      '{"id":1e2,"method":"m"}',
      '{"id":1e400,"method":"m"}',
      '{"id":-0.0,"method":"m"}',
      '{"id":9223372036854775808,"method":"m"}',
      '{"id":-9223372036854775809,"method":"m"}',
      '{"id":1,"id":2,"method":"m"}',
      '{"id":1,"method":"m"} x',
      '\ufeff{"id":1,"method":"m"}',
      '{"id":1,"method":"m","trace":5}',
      '{"id":1,"method":"m","trace":[]}',
      '{"id":1,"method":"m","trace":{"traceparent":1}}',
      '{"id":1,"error":{"code":"x","message":"m"}}',
      '{"id":1,"error":{"code":1}}',
      '{"id":1,"error":null}',
      '{"result":1}',
    ]
  ) assert.equal(decodeMessage(text).type, "malformed", text);
});

Deno.test("decodeMessage() refuses an id that is longer than any client's", () => {
  const text = (length: number) => `{"id":"${"x".repeat(length)}","method":"m"}`;
  assert.equal(decodeMessage(text(65_536)).type, "request");
  assert.deepEqual(decodeMessage(text(65_537)), { type: "malformed", reason: "id has more than 65536 characters" });
  assert.deepEqual(decodeMessage(`{"id":${"1".repeat(1 << 20)},"method":"m"}`), {
    type: "malformed",
    reason: "a number of more than 1024 characters",
  });
});

Deno.test("decodeMessage() keeps to the bounds of its caller", () => {
  const limits = { maxValues: 4, maxDepth: 2, maxNumberCharacters: 3, maxIdCharacters: 2 };
  const reason = (text: string) => {
    const message = decode(text, { limits, content: LONG_CONTENT });
    return message.type === "malformed" ? message.reason : null;
  };
  assert.equal(reason('{"id":"ab","method":"m"}'), null);
  assert.equal(reason('{"id":"abc","method":"m"}'), "id has more than 2 characters");
  assert.equal(reason('{"id":"abc","params":{}}'), "id has more than 2 characters");
  assert.equal(reason('{"id":1000,"method":"m"}'), "a number of more than 3 characters");
});

Deno.test("a malformed message's reason never quotes the message", () => {
  const message = decodeMessage('{"token":"s3cret');
  assert.ok(message.type === "malformed" && !message.reason.includes("s3cret"));
});

Deno.test("messages are encoded without a jsonrpc member and read back the same", () => {
  const texts = [
    encodeNotification("m", { a: "ü" }),
    encodeNotification("m", undefined),
    encodeNotification("m", null),
    encodeResult(id("9007199254740993"), {}),
    encodeError(id('"x"'), { code: -32600, message: 'say "no"' }),
  ];
  assert.deepEqual(texts, [
    '{"method":"m","params":{"a":"ü"}}',
    '{"method":"m"}',
    '{"method":"m","params":null}',
    '{"id":9007199254740993,"result":{}}',
    '{"id":"x","error":{"code":-32600,"message":"say \\"no\\""}}',
  ]);
  for (const text of texts) assert.notEqual(decodeMessage(text).type, "malformed", text);
});

Deno.test("EncodedResult.encode() gives ASCII parts that read back as the same id and result", () => {
  for (const name of [JSON.stringify("\u00fc\ud83d\ude00"), "-7", '""']) {
    const parts = new EncodedResult('{"data":"', "QUJD", '"}').encode(id(name));
    assert.ok(Array.isArray(parts));
    const text = parts.join("");
    // deno-lint-ignore no-control-regex
    assert.match(text, /^[\x00-\x7f]*$/);
    assert.deepEqual(decodeMessage(text), { type: "result", id: name, result: { data: "QUJD" } });
  }
});

Deno.test("contentResult() is the same text whether its content is streamed or not", async () => {
  for (const length of [0, 1, 1000, 200_000]) {
    const bytes = Uint8Array.from({ length }, (_, at) => at * 7);
    const message = contentResult('{"chunk":"', bytes.slice(), '","eof":true}').encode(id('"\u00fc"'));
    assert.equal(message instanceof StreamedMessage, length > 100_000);
    let text = "";
    if (message instanceof StreamedMessage) {
      const decoder = new TextDecoder();
      const write = (piece: Uint8Array) => Promise.resolve(void (text += decoder.decode(piece)));
      await writeStreamed(message, { buffer: new Uint8Array(4096), filled: 0, write });
    } else text = typeof message === "string" ? message : message.join("");
    const result = { chunk: bytes.toBase64(), eof: true };
    assert.deepEqual(decodeMessage(text), { type: "result", id: '"\u00fc"', result });
  }
});

/** Long enough to be treated apart. */
const CONTENT = new Uint8Array(45_000).map((_, index) => index * 7).toBase64();

Deno.test("decodeMessage() reads a message around its long content as it would the whole", () => {
  const texts = [
    `{"id":1,"method":"m","params":{"a":"b","chunk":"${CONTENT}"}}`,
    `{"id":1,"method":"m","params":{"chunk":"${CONTENT}","after":[1,"x",null]}}`,
    `{"params":{"chunk":"${CONTENT}"},"method":"m","id":9007199254740993}`,
    `{ "id" : 1 , "method" : "m", "params" : { "chunk" : "${CONTENT}" } }`,
    `{"method":"m","params":{"chunk":"${CONTENT}"}}`,
    `{"id":1,"method":"m","params":{"chunk":"${CONTENT}","other":"${CONTENT}"}}`,
    `{"id":1,"method":"m","params":{"__proto__":"${CONTENT}"}}`,
    `{"id":1,"method":"m","params":{"x\\"":"${CONTENT}"}}`,
    `{"id":1,"method":"m","params":{"x":"\\"${CONTENT}"}}`,
    `{"id":1,"method":"m","params":{"x":{"chunk":"${CONTENT}"}}}`,
    `{"id":1,"method":"m","params":["${CONTENT}"]}`,
    `{"id":"${CONTENT}","method":"m","params":{}}`,
    `{"id":1,"method":"${CONTENT}","params":{}}`,
    `{"id":1,"result":{"chunk":"${CONTENT}"}}`,
    `{"id":1,"method":"m","params":{"chunk":"${CONTENT}!"}}`,
    `{"id":1,"method":"m","params":{"chunk":"${CONTENT.slice(1)}"}}`,
    `{"id":1,"method":"m","params":{"chunk":"\\u0041${CONTENT}"}}`,
  ];
  for (const text of texts) {
    const { id, method, params, result } = JSON.parse(text);
    const message = decodeMessage(text);
    const about = text.replaceAll(CONTENT, "…").replaceAll(CONTENT.slice(1), "…");
    assert.deepEqual("params" in message ? withText(message.params) : undefined, params, about);
    assert.deepEqual("result" in message ? message.result : undefined, result, about);
    assert.equal("method" in message ? message.method : undefined, method, about);
    if (typeof id === "string") assert.equal("id" in message ? message.id : undefined, JSON.stringify(id), about);
  }
  const exact = decodeMessage(`{"params":{"chunk":"${CONTENT}"},"method":"m","id":9007199254740993}`);
  assert.equal("id" in exact ? exact.id : null, "9007199254740993");
});

Deno.test("decodeMessage() gives bytes in place of the long text of a parameter with content, and of nothing else", () => {
  const paramsOf = (text: string) => {
    const message = decodeMessage(text);
    return message.type === "request" ? message.params : assert.fail(message.type);
  };
  const bytes = Uint8Array.fromBase64(CONTENT);
  for (const name of ["chunk", "dataBase64", "bodyBase64"]) {
    assert.deepEqual(paramsOf(`{"id":1,"method":"m","params":{"${name}":"${CONTENT}"}}`), { [name]: bytes });
  }
  assert.deepEqual(paramsOf(`{"id":1,"method":"m","params":{"name":"${CONTENT}"}}`), { name: CONTENT });
  assert.deepEqual(paramsOf('{"id":1,"method":"m","params":{"chunk":"AQID"}}'), { chunk: "AQID" });
});

/** Parameters with text again where there are bytes. */
function withText(params: unknown): unknown {
  if (typeof params !== "object" || params === null || Array.isArray(params)) return params;
  const entries = Object.entries(params).map(([name, value]) => [
    name,
    value instanceof Uint8Array ? value.toBase64() : value,
  ]);
  // As JSON.parse does it, whatever the name.
  return JSON.parse(JSON.stringify(Object.fromEntries(entries)));
}

Deno.test("decodeMessage() is as strict with long content as without", () => {
  const cases = [
    [`{"id":1,"method":"m","params":{"chunk":"${CONTENT}","chunk":"${CONTENT}"}}`, /duplicate key/],
    [`{"id":1,"method":"m","params":{"chunk":"${CONTENT}","a":1,"a":2}}`, /duplicate key/],
    [`{"id":1,"method":"m","params":{"chunk":"${CONTENT}"}`, /not valid JSON/],
    [`{"id":1,"method":"m","params":{"chunk":"${CONTENT}}}`, /not valid JSON/],
    [`{"id":1,"method":"m","params":{"chunk":"${CONTENT}"}}x`, /not valid JSON/],
    [`{"id":1,"method":"m","params":{"chunk":"a\n${CONTENT}"}}`, /not valid JSON/],
    [`{"id":1,"method":"m","params":{"chunk":"${CONTENT}\u0000"}}`, /not valid JSON/],
    [`{"id":1,"method":"m","params":{"chunk":"${CONTENT}","deep":${"[".repeat(200)}${"]".repeat(200)}}}`, /nesting/],
    [`{"id":1.5,"method":"m","params":{"chunk":"${CONTENT}"}}`, /id must be/],
  ] as const;
  for (const [text, reason] of cases) {
    const message = decodeMessage(text);
    assert.equal(message.type, "malformed");
    assert.match(message.type === "malformed" ? message.reason : "", reason);
  }
});

Deno.test("decodeMessage() never reveals the placeholder for long content", () => {
  const seen: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value === "string") seen.push(value);
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(visit);
  };
  visit(decodeMessage(`{"id":1,"method":"m","params":{"a":"x","chunk":"${CONTENT}","b":["y"]}}`));
  visit(decodeMessage(`{"id":1,"method":"m","params":{"__proto__":"${CONTENT}"}}`));
  assert.deepEqual(seen.filter((text) => /^[0-9a-f]{8}-[0-9a-f]{4}-/.test(text)), []);
});
