import assert from "node:assert/strict";
import { ProtocolError } from "../../../src/client/errors.ts";
import { type CallOptions, RequestTable } from "../../../src/client/session/request_table.ts";

/** The message of one request, as a server reads it. */
function sent(method: string, params: unknown, options: CallOptions = {}): unknown {
  const requests = new RequestTable();
  const { id } = requests.add(method, params, options);
  let text = "";
  requests.send(id, (message) => text = message);
  return JSON.parse(text);
}

const LONG = "QUJD".repeat(64 * 1024);

Deno.test("a request with content has the same text, however long the content is and wherever it stands", () => {
  for (const content of ["", "QUJD", LONG]) {
    const table: [method: string, params: Record<string, unknown>][] = [
      ["process/write", { processId: "p", chunk: content, writeId: "w" }],
      ["process/write", { chunk: content }],
      ["fs/writeBlock", { handleId: "h", offset: 0, chunk: content }],
      ["fs/writeFile", { dataBase64: content, path: "file:///a" }],
      ["net/write", { tunnelId: "t", chunk: content }],
      ["http/request", { url: "http://localhost/", bodyBase64: content }],
    ];
    for (const [method, params] of table) assert.deepEqual(sent(method, params), { id: 1, method, params }, method);
  }
});

Deno.test("a request whose content is missing or not base64 is still a valid message, which the server can refuse", () => {
  for (const chunk of ['a"b', "QUJD\n", 7, null]) {
    const params = { processId: "p", chunk };
    assert.deepEqual(sent("process/write", params), { id: 1, method: "process/write", params });
  }
  assert.deepEqual(sent("http/request", { url: "http://localhost/" }), {
    id: 1,
    method: "http/request",
    params: { url: "http://localhost/" },
  });
  for (const chunk of [LONG, `${LONG}","sandbox":null,"more":"`, `${LONG}\n`, `${LONG}\\`]) {
    const params = { processId: "p", chunk };
    assert.deepEqual(sent("process/write", params, { isForeign: true }), { id: 1, method: "process/write", params });
  }
  assert.deepEqual(sent("process/write", null), { id: 1, method: "process/write", params: null });
});

Deno.test("a request whose result is not an object fails, without effect on others", async () => {
  const requests = new RequestTable();
  const other = requests.add("fs/readFile", {}, {});
  for (const result of [null, "text", 7, true, [], undefined]) {
    const { id, answer } = requests.add("process/read", {}, {});
    const failed = assert.rejects(
      answer,
      (error) => error instanceof ProtocolError && /^process\/read: .* not an object$/.test(error.message),
      `${result}`,
    );
    assert.equal(requests.succeed(id, result), true);
    await failed;
  }
  requests.succeed(other.id, { dataBase64: "" });
  assert.deepEqual(await other.answer, { dataBase64: "" });
});
