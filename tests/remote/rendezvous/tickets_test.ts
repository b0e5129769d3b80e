import assert from "node:assert/strict";
import { type Ticket, TicketOffice, tokenMark, tokenOf } from "../../../src/remote/rendezvous/tickets.ts";
import { UsedTickets } from "../../../src/remote/rendezvous/used_tickets.ts";
import { TokenTable } from "../../../src/transport/tokens/token_table.ts";
import { entryOf } from "./hall.ts";

const FIELDS = { id: "box-1", registration: "r", token: ["me", "0123"] as const, expiresAtMs: 5 };

Deno.test("a ticket is accepted only by its own office, for its own purpose, and unchanged", async () => {
  const office = await TicketOffice.open();
  const text = await office.issue({ ...FIELDS, purpose: "harness" });
  const { nonce, ...rest } = (await office.read(text, "harness"))!;
  assert.deepEqual(rest, { ...FIELDS, purpose: "harness" });
  assert.ok(nonce.length > 16);
  assert.notEqual(await office.issue({ ...FIELDS, purpose: "harness" }), text);

  assert.equal(await office.read(text, "executor"), null);
  assert.equal(await (await TicketOffice.open()).read(text, "harness"), null);
  const [content, signature] = text.split(".");
  for (
    const other of [
      "",
      ".",
      text.slice(1),
      text.slice(0, -1),
      `${content}.`,
      `.${signature}`,
      `${content}.AAAA`,
      "x".repeat(10_000),
    ]
  ) assert.equal(await office.read(other, "harness"), null, other.slice(0, 80));
  const other = JSON.stringify({ ...FIELDS, purpose: "harness", id: "box-2", nonce });
  const changed = new TextEncoder().encode(other).toBase64({ alphabet: "base64url", omitPadding: true });
  assert.equal(await office.read(`${changed}.${signature}`, "harness"), null);
});

Deno.test("the token of a ticket is found again, and not another of its name", async () => {
  const entry = await entryOf("a-token", { name: "me" });
  const ticket = { token: tokenMark(entry) } as unknown as Ticket;
  assert.equal(tokenOf(ticket, new TokenTable([entry])), entry);
  assert.equal(tokenOf(ticket, new TokenTable([await entryOf("another", { name: "me" })])), null);
});

Deno.test("UsedTickets lets each be used once, and forgets those that have expired", () => {
  const used = new UsedTickets();
  const ticket = (nonce: string, expiresAtMs: number) => ({ nonce, expiresAtMs }) as Ticket;
  assert.ok(used.use(ticket("a", 100), 0));
  assert.ok(!used.use(ticket("a", 100), 50));
  assert.ok(used.use(ticket("b", 200), 150));
  assert.equal(used.size, 1);
});
