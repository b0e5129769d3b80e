import assert from "node:assert/strict";
import { Leftovers } from "../../../src/process/posix/leftovers.ts";

/** A list, and what the guard would remember of what it was told. */
function setUp() {
  let told: string[] = [];
  let tellings = 0;
  const leftovers = new Leftovers((lines) => {
    tellings++;
    assert.ok(lines.endsWith("\n"), lines);
    for (const line of lines.slice(0, -1).split("\n")) {
      if (line === "") told = [];
      else told.push(line);
    }
  });
  return { leftovers, told: () => told, tellings: () => tellings };
}

Deno.test("Leftovers reports a path once, however often it is used", () => {
  const { leftovers, told, tellings } = setUp();
  for (let round = 0; round < 3; round++) {
    leftovers.add("/ws/.git");
    leftovers.add("/ws/.git");
    leftovers.delete("/ws/.git");
    leftovers.delete("/ws/.git");
  }
  assert.deepEqual([told(), tellings()], [["/ws/.git"], 1]);
});

Deno.test("Leftovers.tellAll() reports the paths in use, and no others", () => {
  const { leftovers, told } = setUp();
  for (const path of ["/a", "/b", "/b", "/c"]) leftovers.add(path);
  for (const path of ["/a", "/b"]) leftovers.delete(path);
  leftovers.tellAll();
  assert.deepEqual(told(), ["/b", "/c"]);
  leftovers.delete("/b");
  leftovers.delete("/c");
  leftovers.tellAll();
  assert.deepEqual(told(), []);
});

Deno.test("Leftovers keeps the guard's list short, and what is in use on it", () => {
  const { leftovers, told } = setUp();
  leftovers.add("/kept");
  for (let count = 0; count < 10_000; count++) {
    leftovers.add(`/ws${count}/.git`);
    assert.ok(told().includes(`/ws${count}/.git`));
    leftovers.delete(`/ws${count}/.git`);
    assert.ok(told().length <= 257, String(told().length));
  }
  assert.ok(told().includes("/kept"));
  // More in use than the list is to be long: all are on it, and adding one does not tell all the others again.
  const many = setUp();
  for (let count = 0; count < 1000; count++) many.leftovers.add(`/many${count}`);
  assert.deepEqual([many.told().length, many.tellings()], [1000, 1000]);
});

Deno.test("Leftovers writes paths so that a shell reads them as one word, and printf as they are", async () => {
  const path = "/a b'c\"d$e`f\\g\nh*i?[j]é;&|/.git";
  const { leftovers, told } = setUp();
  leftovers.add(path);
  assert.match(told()[0]!, /^[A-Za-z0-9/._\\-]+$/);
  const { stdout } = await new Deno.Command("sh", { args: ["-c", `printf '%b' "$1"`, "sh", told()[0]!] }).output();
  assert.equal(new TextDecoder().decode(stdout), path);
});
