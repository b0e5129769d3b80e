import assert from "node:assert/strict";
import { ConfigDocuments } from "../../../src/environment/discovery/config_documents.ts";
import { Pacer } from "../../../src/os/loop/pacer.ts";

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
  const large = (name: string) => `${name} = [${"1,".repeat(10_500)}]`;
  const isParsed = async (name: string) => {
    const { turns } = pace;
    await documents.parse(large(name), "f", pace);
    return pace.turns > turns;
  };
  for (const name of ["a", "b", "c", "d"]) assert.equal(await isParsed(name), true);
  assert.equal(await isParsed("a"), false);
  for (const name of ["e", "f"]) assert.equal(await isParsed(name), true);
  assert.equal(await isParsed("a"), false);
  assert.equal(await isParsed("b"), true);
});

Deno.test("ConfigDocuments lets others have two turns between any two long texts, however many requests wait", async () => {
  const pacer = new Pacer();
  const pace = { isOver: true, rest: () => pacer.turn() };
  let parsed = 0;
  // Of different servers, too: they share the thread.
  const all = [new ConfigDocuments(), new ConfigDocuments()].flatMap((documents, server) =>
    Array.from({ length: 8 }, async (_, at) => {
      await documents.parse(`a = ${at} # ${server} ${"x".repeat(5_000)}`, "f", pace);
      parsed++;
    })
  );
  for (let done = 1; done <= 16; done++) {
    await all[done - 1];
    for (let turn = 0; turn < 2; turn++) await pacer.turn();
    assert.equal(parsed, done);
  }
});

Deno.test("ConfigDocuments keeps no more texts full of escapes than fit", async () => {
  const documents = new ConfigDocuments();
  const pace = pacing();
  // Some three megabytes each, once their pieces are one.
  const large = (name: string) => `${name} = "${"ab\\n".repeat(250_000)}"`;
  const names = ["a", "b", "c", "d", "e", "f", "g"];
  for (const name of names) await documents.parse(large(name), "f", pace);
  const { turns } = pace;
  await documents.parse(large("g"), "f", pace);
  assert.equal(pace.turns, turns);
  await documents.parse(large("a"), "f", pace);
  assert.ok(pace.turns > turns);
});
