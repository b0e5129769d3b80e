import assert from "node:assert/strict";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { TestServer } from "../support/test_server.ts";

const README = Deno.readTextFileSync(new URL("../../README.md", import.meta.url));

Deno.test("the README's session happens as it is written", async () => {
  const session = /<!-- session: begin[^>]*-->\s*```\n([\s\S]*?)```\s*<!-- session: end -->/.exec(README)![1]!;
  const lines = session.trimEnd().split("\n");
  assert.ok(lines.length > 5);
  await using server = await TestServer.start();
  using socket = await RawWebSocket.connect(server.url);
  for (const line of lines) {
    const text = line.slice(2);
    if (line.startsWith("> ")) await socket.sendText(text);
    else assert.deepEqual(maskLike(JSON.parse(text), await socket.readMessage()), JSON.parse(text), line);
  }
});

Deno.test("the README's commands are tasks that exist", () => {
  const { tasks } = JSON.parse(Deno.readTextFileSync(new URL("../../deno.json", import.meta.url)));
  const named = [...README.matchAll(/deno(?:@[\d.]+)? task (\w+)/g)].map((match) => match[1]!);
  assert.ok(named.includes("serve") && named.includes("test"));
  for (const name of named) assert.ok(name in tasks, name);
});

Deno.test("every page the README and the docs link to exists", () => {
  for (
    const page of [
      "README.md",
      ...[...Deno.readDirSync(new URL("../../docs", import.meta.url))].map((e) => `docs/${e.name}`),
    ]
  ) {
    const base = new URL(`../../${page}`, import.meta.url);
    for (const [, target] of Deno.readTextFileSync(base).matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
      if (!/^https?:/.test(target!)) assert.ok(Deno.statSync(new URL(target!, base)), `${page}: ${target}`);
    }
  }
});

/** Replaces what the expected value leaves open, so that the rest can be compared whole. */
function maskLike(expected: unknown, actual: unknown): unknown {
  if (expected === "…") return "…";
  if (Array.isArray(expected) && Array.isArray(actual)) return actual.map((item, i) => maskLike(expected[i], item));
  if (typeof expected !== "object" || expected === null || typeof actual !== "object" || actual === null) return actual;
  return Object.fromEntries(
    Object.entries(actual).map(([key, value]) => [key, maskLike((expected as Record<string, unknown>)[key], value)]),
  );
}
