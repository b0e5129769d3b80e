import assert from "node:assert/strict";
import { DomainError } from "../../src/errors.ts";
import { createLogger } from "../../src/log.ts";
import { SandboxDecoder } from "../../src/server/sandbox_decoder.ts";

function recorded(): { decoder: SandboxDecoder; lines: string[] } {
  const lines: string[] = [];
  const log = createLogger({ level: "info", format: "json", write: (line) => lines.push(line) });
  return { decoder: new SandboxDecoder(log), lines };
}

/** As it comes: every request has its own object. */
const sandbox = (path: string, more = "") =>
  JSON.parse(
    `{"permissions":{"type":"managed","file_system":{"type":"restricted","entries":[{"path":{"type":"path",` +
      `"path":"file://${path}"},"access":"read"}]${more}},"network":"restricted"},"cwd":"file:///w",` +
      `"windowsSandboxLevel":"disabled"}`,
  );

Deno.test("SandboxDecoder decodes an object that comes again only once", () => {
  const { decoder } = recorded();
  const first = decoder.decode(sandbox("/a"));
  assert.equal(decoder.decode(sandbox("/a")), first);
  const other = decoder.decode(sandbox("/b"));
  assert.notDeepEqual(other, first);
  assert.equal(decoder.decode(sandbox("/b")), other);
  assert.equal(decoder.decode(sandbox("/a")), first);
});

Deno.test("SandboxDecoder refuses what is wrong every time, also when something alike was accepted", () => {
  const { decoder } = recorded();
  const depth = (value: string) => sandbox("/a", `,"glob_scan_max_depth":${value}`);
  const accepted = decoder.decode(depth("null"));
  assert.equal(decoder.decode(depth("null")), accepted);
  // Infinite, which the text of a value has no word for but null.
  for (const wrong of ["1e999", "-1", '"null"']) {
    for (let time = 0; time < 2; time++) assert.throws(() => decoder.decode(depth(wrong)), DomainError, wrong);
  }
  assert.equal(decoder.decode(depth("null")), accepted);
  assert.throws(() => decoder.decode(null), DomainError);
});

Deno.test("SandboxDecoder accepts an infinite number where nothing is looked at, and does not take it for null", () => {
  const { decoder } = recorded();
  const odd = decoder.decode(sandbox("/a", ',"newer":1e999'));
  assert.notEqual(decoder.decode(sandbox("/a", ',"newer":null')), odd);
});

Deno.test("SandboxDecoder warns of an unknown member once, however often its object comes", () => {
  const { decoder, lines } = recorded();
  for (let time = 0; time < 3; time++) decoder.decode(sandbox("/a", ',"newer":true'));
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /permissions\.file_system\.newer/);
});

Deno.test("SandboxDecoder forgets the oldest, and keeps no long ones", () => {
  const { decoder } = recorded();
  const first = decoder.decode(sandbox("/first"));
  for (let i = 0; i < 64; i++) decoder.decode(sandbox(`/${i}`));
  const again = decoder.decode(sandbox("/first"));
  assert.notEqual(again, first);
  assert.deepEqual(again, first);
  const long = { ...sandbox("/"), workspaceRoots: new Array(16).fill(`/${"x".repeat(1024)}`) };
  assert.notEqual(decoder.decode(long), decoder.decode(long));
});
