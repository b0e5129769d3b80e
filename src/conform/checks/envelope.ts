/** Requests, answers, and messages that are neither. */

import { type Check, holds, promised, same } from "../check.ts";
import type { Peer } from "../peer.ts";

export const ENVELOPE: readonly Check[] = [
  promised("envelope/ids", "Ids are texts or integers of 64 bits, and are answered exactly as sent.", async (peer) => {
    for (const id of ['"a"', '""', "0", "-7", "9007199254740993", "-9223372036854775808"]) {
      peer.send(`{"id":${id},"method":"environment/status"}`);
      const { text } = await peer.take(({ result }) => result?.status === "ready", `an answer to ${id}`);
      holds(text.includes(`"id":${id}`), `the answer should have the id ${id}: it is ${text}`);
    }
  }),
  promised("envelope/unknown-members", "jsonrpc and unknown members are ignored.", async (peer) => {
    peer.send('{"jsonrpc":"1.0","id":1,"method":"environment/status","params":{},"more":{"a":1}}');
    same((await peer.answer(1)).result, { status: "ready" }, "the result");
  }),
  promised("envelope/plain", "Answers have id and result, or id and error, and nothing else.", async (peer) => {
    const answered = await peer.request("environment/status");
    same(Object.keys(answered).sort(), ["id", "result"], "the members of an answer");
    const refused = await peer.request("conform/nothing");
    same(Object.keys(refused).sort(), ["error", "id"], "the members of a refusal");
    same(Object.keys(refused.error!).sort(), ["code", "message"], "the members of its error");
  }),
  ...malformed({
    "bad-json": ["{", "", "nonsense", '{"id":1,"method":"environment/status"} 7'],
    "no-object": ["[]", "7", "null", '[{"id":1,"method":"environment/status"}]'],
    "bad-ids": [
      '{"id":null,"method":"environment/status"}',
      '{"id":1.5,"method":"environment/status"}',
      '{"id":true,"method":"environment/status"}',
      '{"id":9223372036854775808,"method":"environment/status"}',
    ],
    "bad-method": ['{"id":1,"method":7}', "{}", '{"id":1}'],
    "key-twice": ['{"id":1,"id":2,"method":"environment/status"}', '{"id":1,"method":"a","params":{"b":1,"b":2}}'],
    "too-deep": [`{"id":1,"method":"a","params":${"[".repeat(128)}${"]".repeat(128)}}`],
  }),
  promised(
    "envelope/stray-notification",
    "A notification other than initialized ends the connection.",
    async (peer) => {
      peer.notify("conform/nothing");
      await peer.closed();
    },
  ),
  promised("envelope/stray-notification-told", "Before that comes an error with id -1.", async (peer) => {
    peer.notify("conform/nothing");
    await assertRefused(peer, "a notification that nobody expects");
  }),
  promised("envelope/stray-answer", "An answer that was not asked for ends the connection.", async (peer) => {
    peer.send('{"id":7,"result":{}}');
    await peer.closed();
  }),
  promised(
    "envelope/close-reason",
    "A connection that the server ends has a close code and a reason.",
    async (peer) => {
      peer.notify("conform/nothing");
      same((await peer.closed()).code, 1008, "the close code");
    },
  ),
];

/** Messages that are answered with id -1, after which the connection goes on. */
function malformed(groups: Readonly<Record<string, readonly string[]>>): Check[] {
  return Object.entries(groups).map(([name, texts]) =>
    promised(
      `envelope/${name}`,
      `Malformed messages are answered with -32600 and id -1, and the connection goes on (${name.replace("-", " ")}).`,
      async (peer) => {
        for (const text of texts) {
          peer.send(text);
          await assertRefused(peer, text);
        }
        same(await peer.result("environment/status"), { status: "ready" }, "environment/status");
      },
    )
  );
}

async function assertRefused(peer: Peer, what: string): Promise<void> {
  const { message } = await peer.take(({ id }) => id === -1, `an error with id -1 for ${what.slice(0, 60)}`);
  same(message.error?.code, -32600, "its code");
}
