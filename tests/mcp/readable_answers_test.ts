/** Answers to questions that are no well-formed JSON-RPC: none of them leaves a call without an end. */

import assert from "node:assert/strict";
import { readableText } from "../../src/mcp/readable_message.ts";
import { McpPeer, RawAnswer } from "../support/mcp_peer.ts";
import { mcpTest, shell, textOf } from "../support/mcp_scene.ts";
import { McpServer } from "../support/mcp_server.ts";
import { until } from "../support/until.ts";

const ACCEPT = { action: "accept", content: {} };
const UNREADABLE = "the client's answer cannot be read";
const DECLINED = "User declined execution";

/** The members of an answer, and what it means: null for yes, else the reason of the denial. */
const ANSWERS: readonly (readonly [object, string | null])[] = [
  [{ result: ACCEPT }, null],
  [{ result: { ...ACCEPT, _meta: null } }, null],
  [{ result: { action: "accept", content: null, _meta: null } }, null],
  [{ result: ACCEPT, error: null }, null],
  [{ result: ACCEPT, method: null, params: null }, null],
  ...[{ reason: null }, { a: { b: 1 } }, [1], [], "yes", 5, true].map((content) =>
    [{ result: { action: "accept", content } }, null] as const
  ),
  [{ result: { action: "decline", _meta: null } }, DECLINED],
  [{ result: { action: "decline", content: [null] }, error: null }, DECLINED],
  [{ result: { action: "cancel", _meta: null } }, "User cancelled execution"],
  ...[null, "accept", 5, true, [], [ACCEPT], {}, { action: "maybe" }, { action: null }, { ...ACCEPT, _meta: "x" }].map((
    result,
  ) => [{ result }, UNREADABLE] as const),
  [{ error: null }, UNREADABLE],
  [{}, UNREADABLE],
  [{ error: {} }, UNREADABLE],
  [{ error: { message: "no code" } }, UNREADABLE],
  [{ error: "no" }, UNREADABLE],
  [{ result: ACCEPT, error: { code: -32_000, message: "both" } }, UNREADABLE],
  [{ result: ACCEPT, jsonrpc: "1.0" }, UNREADABLE],
  [{ result: null, error: { code: -32_603, message: "no window" } }, "the client could not be asked for approval"],
];

mcpTest("on standard input every answer counts, or is reported as unreadable", async (scene) => {
  const { work, rules, env } = scene;
  await using server = new McpServer({ args: rules, env, cwd: work });
  const { peer } = server;
  await peer.initialize();
  for (const [members, reason] of ANSWERS) {
    peer.onElicit = () => new RawAnswer(members);
    // deno-lint-ignore no-explicit-any
    let result: any = null;
    void peer.call("shell", shell("uname", work)).then((answer) => result = textOf(answer));
    await until(() => result !== null, () => `no result after ${JSON.stringify(members)}`);
    assert.equal(result.denied?.[0].reason ?? null, reason, JSON.stringify(members));
    assert.equal(result.output, reason === null ? "Linux\n" : `Execution denied: ${reason}\n`);
  }
});

mcpTest("in the 2026 era, too, an accept counts whatever its content is", async ({ work, rules, env }) => {
  await using server = new McpServer({ args: rules, env, cwd: work });
  const { peer } = server;
  const meta = McpPeer.modernMeta();
  const contents = [null, { reason: null }, { a: {} }, [1], 5];
  for (const answer of [...contents.map((content) => ({ action: "accept", content })), { ...ACCEPT, _meta: null }]) {
    const { requestState, inputRequests } = await peer.call("shell", shell("uname", work), meta);
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((id) => [id, answer]));
    const result = await peer.call("shell", shell("uname", work), meta, { requestState, inputResponses });
    assert.equal(textOf(result).output, "Linux\n", JSON.stringify(answer));
  }
});

Deno.test("readable answers, and messages that are not answers, stay as they are", () => {
  const texts = [
    '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    '{ "id": 1, "method": 5 }',
    '{"jsonrpc":"2.0","id":null,"result":null}',
    '{"method":"x","params":null}',
    '[{"jsonrpc":"2.0","method":"x"}]',
    "no JSON",
    "",
    "null",
  ];
  for (const text of texts) assert.equal(readableText(text), text);
  const response = {
    jsonrpc: "2.0",
    id: "a",
    result: { action: "accept", content: { persist: "session" }, _meta: {} },
  };
  assert.deepEqual(JSON.parse(readableText(JSON.stringify(response))), response);
  const batch = [{ jsonrpc: "2.0", id: 1, method: "ping" }, { jsonrpc: "2.0", id: 2, result: null }];
  const [ping, answer] = JSON.parse(readableText(JSON.stringify(batch)));
  assert.deepEqual([ping, answer.id, answer.error.message], [batch[0], 2, UNREADABLE]);
});
