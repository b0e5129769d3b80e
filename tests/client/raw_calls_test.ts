/** Requests that users write themselves. */

import assert from "node:assert/strict";
import { connect, ServerError } from "../../src/client/mod.ts";
import { TestServer } from "../support/test_server.ts";

Deno.test("box.call() with content that is not base64 is refused like any other wrong request, however long it is", async () => {
  await using server = await TestServer.start();
  await using box = await connect(server.url);
  const long = "QUJD".repeat(64 * 1024);
  for (const bodyBase64 of ['"', "\n", '","requestId":"other']) {
    const params = { requestId: "r", method: "POST", url: "http://127.0.0.1:1/", bodyBase64: long + bodyBase64 };
    await assert.rejects(
      box.call("http/request", params, { signal: AbortSignal.timeout(10_000) }),
      (error) => error instanceof ServerError && error.code === -32602,
    );
  }
});
