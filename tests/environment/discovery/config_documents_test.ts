import assert from "node:assert/strict";
import { ConfigDocuments } from "../../../src/environment/discovery/config_documents.ts";

/** Counts the turns, of which one comes before every text that is parsed. */
function pacing() {
  return {
    isOver: true,
    turns: 0,
    rest() {
      this.turns++;
      return Promise.resolve();
    },
  };
}

Deno.test("ConfigDocuments parses a text once, in a turn of its own, whoever asks for it", async () => {
  const documents = new ConfigDocuments();
  const pace = pacing();
  const first = await documents.parse("a = 1", "f", pace);
  assert.deepEqual({ ...first.table }, { a: 1n });
  for (const where of ["f", "g", "f"]) assert.equal(await documents.parse("a = 1", where, pace), first);
  assert.equal(pace.turns, 1);
  assert.deepEqual({ ...(await documents.parse("a = 2", "f", pace)).table }, { a: 2n });
  assert.equal(pace.turns, 2);
});

Deno.test("ConfigDocuments remembers what it could not parse, by the file's name", async () => {
  const documents = new ConfigDocuments();
  const pace = pacing();
  const first = await documents.parse("a =", "f", pace).catch((error) => error);
  assert.match(first.message, /^f:1:/);
  assert.equal(await documents.parse("a =", "f", pace).catch((error) => error), first);
  assert.equal(pace.turns, 1);
  await assert.rejects(documents.parse("a =", "g", pace), /^DomainError: g:1:/);
});

Deno.test("ConfigDocuments keeps those used last, as many as fit", async () => {
  const documents = new ConfigDocuments();
  const pace = pacing();
  // Some three megabytes each: the number says how many.
  const large = (name: string) => `${name} = [${"1,".repeat(16_000)}]`;
  for (const name of ["a", "b", "c", "d", "a", "e", "f"]) await documents.parse(large(name), "f", pace);
  assert.equal(pace.turns, 6);
  await documents.parse(large("a"), "f", pace);
  assert.equal(pace.turns, 6);
  await documents.parse(large("b"), "f", pace);
  assert.equal(pace.turns, 7);
});
