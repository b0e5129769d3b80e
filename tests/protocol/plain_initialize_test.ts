import assert from "node:assert/strict";
import { decode } from "../../src/protocol/decode_params.ts";
import { InitializeParams } from "../../src/protocol/handshake.ts";
import { plainInitialize } from "../../src/protocol/plain_initialize.ts";
import { Random } from "../support/random.ts";

Deno.test("plainInitialize() takes what real clients send", () => {
  const cases = [
    { clientName: "codex" },
    { clientName: "codex", resumeSessionId: null },
    { clientName: "codex", resumeSessionId: "0b5c", takeover: true },
    { clientName: "library", detachTtlMs: 0 },
    { clientName: "", notifications: ["process/started"], optionalFields: ["processUid"] },
    { clientName: "later", somethingNew: { a: 1 } },
  ];
  for (const raw of cases) assert.notEqual(plainInitialize(raw), null, JSON.stringify(raw));
});

Deno.test("plainInitialize() gives what the schema gives, and nothing where the schema refuses", () => {
  const values = [null, "", "x", 0, 1, -1, 1.5, 2 ** 64, 2 ** 65, true, false, [], ["a", "b"], ["a", 1], [null], {}, {
    a: 1,
  }];
  // Whatever the schema takes: a member that only the schema knows would be lost.
  const names = [...Object.keys(InitializeParams.shape), "other", "__proto__"];
  const usual: Readonly<Record<string, readonly unknown[]>> = {
    clientName: ["", "x"],
    resumeSessionId: ["x", null],
    takeover: [true, null],
    detachTtlMs: [0, 2 ** 64, null],
    notifications: [["a"], null],
    optionalFields: [["a"], null],
  };
  const valueOf = (name: string) => random.pick(random.chance(0.5) ? usual[name] ?? values : values);
  const random = new Random(8);
  let taken = 0;
  for (let round = 0; round < 20_000; round++) {
    const members = names.filter(() => random.chance(0.6)).map((name) => [name, valueOf(name)]);
    // As it comes off the wire: `__proto__` is a member like any other there.
    const raw: unknown = random.chance(0.02) ? random.pick(values) : Object.fromEntries(members);
    const plain = plainInitialize(raw);
    const parsed = decode(InitializeParams, raw);
    if (plain === null) continue;
    taken++;
    assert.ok(parsed.success, JSON.stringify(raw));
    assert.deepEqual(Object.entries(plain), Object.entries(parsed.data), JSON.stringify(raw));
  }
  assert.ok(taken > 100, `${taken} were taken`);
});

Deno.test("plainInitialize() leaves nothing to the schema that the schema would take", () => {
  const optional = [["x", null], [true, null], [["a"], [], null], [["b"], null]];
  const raws = optional[0]!.flatMap((resumeSessionId) =>
    optional[1]!.flatMap((takeover) =>
      optional[2]!.flatMap((notifications) =>
        optional[3]!.map((optionalFields) => ({
          clientName: "c",
          resumeSessionId,
          takeover,
          notifications,
          optionalFields,
        }))
      )
    )
  );
  for (const raw of raws) {
    assert.ok(decode(InitializeParams, raw).success);
    assert.notEqual(plainInitialize(raw), null, JSON.stringify(raw));
  }
});
