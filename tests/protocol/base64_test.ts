import assert from "node:assert/strict";
import { CONTENT_MEMBERS, contentBytes, decodeBase64, LONG_CONTENT } from "../../src/protocol/base64.ts";
import type { JsonSchema } from "../../src/protocol/spec.ts";
import { loadSpecCheck } from "../support/spec_check.ts";

Deno.test("decodeBase64() gives back every length of bytes", () => {
  for (let length = 0; length < 70; length++) {
    const bytes = Uint8Array.from({ length }, (_, index) => index * 37);
    assert.deepEqual(decodeBase64(bytes.toBase64()), bytes);
  }
});

Deno.test("contentBytes() decodes text, and passes on bytes that were decoded before", () => {
  assert.deepEqual(contentBytes("AQID"), new Uint8Array([1, 2, 3]));
  assert.equal(contentBytes("AQI"), null);
  const bytes = new Uint8Array([1, 2, 3]);
  assert.equal(contentBytes(bytes), bytes);
});

Deno.test("the members that may hold bytes are those that the document calls base64, of each request", async () => {
  const { document } = await loadSpecCheck();
  const found: Record<string, string> = {};
  const look = (method: string, schema: JsonSchema): void => {
    for (const [name, member] of Object.entries(schema.properties ?? {})) {
      const isContent = [member, ...member.anyOf ?? []].some(({ contentEncoding }) => contentEncoding === "base64");
      if (isContent) found[method] = name;
    }
    for (const form of [...schema.oneOf ?? [], ...schema.anyOf ?? [], ...schema.allOf ?? []]) look(method, form);
  };
  for (const method of document.methods) {
    if (method.result !== undefined) look(method.name, method["x-paramsSchema"]);
  }
  assert.ok(found["fs/writeFile"] === "dataBase64");
  assert.deepEqual(found, { ...CONTENT_MEMBERS });
  for (const name of Object.values(found)) assert.ok(LONG_CONTENT.isContent(name), name);
  assert.ok(!LONG_CONTENT.isContent("path"));
});
