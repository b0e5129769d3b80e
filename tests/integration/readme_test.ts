import assert from "node:assert/strict";
import { maskLike } from "../support/mask_like.ts";
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
