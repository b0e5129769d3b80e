import assert from "node:assert/strict";
import { loadSpecCheck } from "../support/spec_check.ts";
import { maskLike } from "../support/mask_like.ts";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";

const PAGE = Deno.readTextFileSync(new URL("../../docs/protocol.md", import.meta.url));
const SESSIONS = Array.from(
  PAGE.matchAll(/<!-- session: begin[^>]*-->\s*```\n([\s\S]*?)```\s*<!-- session: end -->/g),
  (match) => match[1]!.trimEnd().split("\n"),
);

/** What stands on the page for the directory of this run. */
const DIRECTORY = "/tmp/demo";

Deno.test("the page has a session with a lost connection, and one without", () => {
  assert.deepEqual(SESSIONS.map((lines) => lines.some((line) => line.startsWith("---"))), [false, true]);
});

for (const [index, lines] of SESSIONS.entries()) {
  Deno.test(`session ${index + 1} of the protocol's page happens as it is written`, async () => {
    await inScratchDirectory(async (directory) => {
      await using server = await TestServer.start();
      let socket = await RawWebSocket.connect(server.url);
      let sessionId = "";
      for (const line of lines) {
        const text = line.slice(2).replaceAll(DIRECTORY, directory);
        if (line.startsWith("--- a new connection")) socket = await RawWebSocket.connect(server.url);
        else if (line.startsWith("---")) socket.drop();
        else if (line.startsWith("> ")) {
          await socket.sendText(text.replace('"resumeSessionId":"…"', `"resumeSessionId":"${sessionId}"`));
        } else {
          const expected = JSON.parse(text);
          // After a resume notifications may come between.
          const isAwaited = ({ id }: { id?: unknown }) => expected.id === undefined || id === expected.id;
          const message = await socket.readUntil(isAwaited);
          sessionId ||= message.result?.sessionId ?? "";
          assert.deepEqual(maskLike(expected, message), expected, line);
        }
      }
      socket.drop();
    });
  });
}

Deno.test("the sandboxes of the protocol's page are what the document says they are", async () => {
  const check = await loadSpecCheck();
  const blocks = Array.from(PAGE.matchAll(/```json\n([\s\S]*?)```/g), (match) => match[1]!);
  const sandboxes = blocks.flatMap((block) => block.startsWith("{\n") ? [block] : block.trimEnd().split("\n"));
  assert.ok(sandboxes.length > 2);
  for (const text of sandboxes) {
    const params = { path: "/x", sandbox: JSON.parse(text) };
    assert.equal(check.paramsProblem("fs/readFile", params), null, text);
  }
});
