import assert from "node:assert/strict";
import * as z from "zod/mini";
import { capabilities } from "../../src/environment/capability_flags.ts";
import { COMMON_ERRORS, METHODS, NOTIFICATIONS } from "../../src/protocol/methods.ts";
import { OPTIONAL_NOTIFICATIONS } from "../../src/protocol/handshake.ts";
import { VERSION } from "../../src/version.ts";

const REQUESTS = Object.values(METHODS);
const TOLD = Object.values(NOTIFICATIONS);
const ROWS = [...REQUESTS, ...TOLD];

Deno.test("the table has every method and notification once", () => {
  const names = ROWS.map(({ name }) => name);
  assert.deepEqual(names.toSorted(), [...new Set(names)].sort());
  for (const name of ["initialize", "process/start", "fs/readFile", "http/request", "initialized", "process/output"]) {
    assert.ok(names.includes(name as never), name);
  }
});

Deno.test("every row is described in one sentence", () => {
  const sentences = [...REQUESTS, ...TOLD].map(({ description }) => description);
  for (const { errors } of REQUESTS) sentences.push(...Object.values(errors));
  for (const sentence of [...sentences, ...Object.values(COMMON_ERRORS)]) {
    assert.match(sentence, /^[A-Z`](?:(?!\. )[^\n])+\.$/);
  }
});

Deno.test("every row names a flag that the server has, and a version that there was", () => {
  const flags = capabilities({ hasLibc: true, mayConfine: true, mayTunnel: true });
  for (const { name, capability, since } of ROWS) {
    if (capability !== null) assert.equal(flags[capability], true, `${name}: ${capability}`);
    assert.match(since, /^\d+\.\d+\.\d+$/, name);
    assert.ok(isAtMost(since, VERSION), `${name} is said to have come with ${since}, and this is ${VERSION}`);
  }
});

Deno.test("the notifications one can ask for are rows with the flag that says so", () => {
  const flags = new Map(TOLD.map(({ name, capability }) => [name, capability]));
  assert.deepEqual(OPTIONAL_NOTIFICATIONS.map((name) => [name, flags.get(name)]), [
    ["process/started", "lifecycleNotifications"],
    ["process/failed", "lifecycleNotifications"],
    // Whoever is attached is told unasked.
    ["process/resized", "processAttach"],
  ]);
});

Deno.test("every row has a schema for what the server makes, which refuses something else", async () => {
  for (const [name, schema] of await made()) assert.equal(schema.safeParse(7).success, false, name);
});

Deno.test("every schema for what the server makes can be written as JSON Schema of an object", async () => {
  for (const [name, schema] of await made()) assert.equal(z.toJSONSchema(schema).type, "object", name);
});

/** The schemas of what the server makes, with the names of their rows. */
async function made(): Promise<[string, z.ZodMiniType][]> {
  const told = TOLD.filter(({ from }) => from === "server");
  return await Promise.all([
    ...REQUESTS.map(async ({ name, result }): Promise<[string, z.ZodMiniType]> => [name, await result()]),
    ...told.map(async ({ name, params }): Promise<[string, z.ZodMiniType]> => [name, await params()]),
  ]);
}

function isAtMost(version: string, other: string): boolean {
  const [a, b] = [version, other].map((text) => text.split(".").map(Number));
  for (const [i, part] of a!.entries()) {
    if (part !== b![i]) return part < b![i]!;
  }
  return true;
}
