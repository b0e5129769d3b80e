import assert from "node:assert/strict";
import { TokenDigest } from "../../../src/transport/tokens/token_digest.ts";
import { Admissions } from "../../../src/transport/tokens/admissions.ts";
import type { TokenEntry } from "../../../src/transport/tokens/token_file.ts";
import { TokenTable, type Wish } from "../../../src/transport/tokens/token_table.ts";
import { ManualClock } from "../../support/manual_clock.ts";

const CREATED = new Date("2026-01-01T00:00:00Z");
const AT_BOX_1: Wish = { role: "client", id: "box-1" };

async function entry(name: string, change: Partial<TokenEntry> = {}): Promise<TokenEntry> {
  const digest = await TokenDigest.ofToken(`token of ${name}`);
  return { name, digest, roles: ["client"], ids: ["box-*"], createdAt: CREATED, expiresAt: null, ...change };
}

/** Admissions whose wall clock is the manual one, counted from CREATED. */
function admissionsOf(...entries: TokenEntry[]) {
  const clock = new ManualClock();
  const nowMs = () => CREATED.getTime() + clock.now();
  return { clock, admissions: new Admissions({ table: new TokenTable(entries), clock, nowMs }) };
}

Deno.test("Admissions.judge() tells wrong, expired and foreign tokens apart", async () => {
  const { admissions, clock } = admissionsOf(
    await entry("alice"),
    await entry("bob", { expiresAt: new Date(CREATED.getTime() + 1000) }),
    await entry("carol", { roles: ["executor"] }),
  );
  const judge = async (token: string, wish = AT_BOX_1) => (await admissions.judge(token, wish)).type;
  assert.equal(await judge("token of alice"), "granted");
  assert.equal(await judge("token of alic"), "unknown");
  assert.equal(await judge("token of alice", { role: "client", id: "ci-1" }), "foreign");
  assert.equal(await judge("token of alice", { role: "executor", id: "box-1" }), "foreign");
  assert.equal(await judge("token of carol", { role: "executor", id: null }), "granted");
  assert.equal(await judge("token of bob"), "granted");
  clock.advance(1000);
  assert.equal(await judge("token of bob"), "expired");
});

Deno.test("a table without the token, or with fewer rights for it, revokes what was granted; others stay", async () => {
  const [alice, bob, carol] = [await entry("alice"), await entry("bob"), await entry("carol")];
  const { admissions } = admissionsOf(alice, bob, carol);
  const [ofAlice, ofBob, ofCarol] = [alice, bob, carol].map((one) => admissions.admit(one, AT_BOX_1));
  // A new token of the same name is another token.
  const newAlice = await entry("alice", { digest: await TokenDigest.ofToken("another") });
  assert.equal(admissions.replace(new TokenTable([newAlice, bob, { ...carol, ids: ["ci-*"] }])), 2);
  assert.equal((ofAlice!.revoked.reason as Error).message, "the token was revoked");
  assert.ok(!ofBob!.revoked.aborted);
  assert.equal((ofCarol!.revoked.reason as Error).message, 'the token is not for the role client at "box-1"');
  admissions[Symbol.dispose]();
});

Deno.test("the connections of a token end when it expires", async () => {
  const bob = await entry("bob", { expiresAt: new Date(CREATED.getTime() + 90_000) });
  const { admissions, clock } = admissionsOf(bob);
  const admission = admissions.admit(bob, AT_BOX_1);
  clock.advance(89_999);
  assert.ok(!admission.revoked.aborted);
  clock.advance(1);
  assert.ok(admission.revoked.aborted);
  assert.equal(clock.pending, 0);
});

Deno.test("a released client is neither told nor waited for", async () => {
  const alice = await entry("alice");
  const { admissions, clock } = admissionsOf(alice);
  const admission = admissions.admit(alice, AT_BOX_1);
  admission.release();
  assert.equal(clock.pending, 0);
  assert.equal(admissions.replace(new TokenTable([])), 0);
  assert.ok(!admission.revoked.aborted);
});
