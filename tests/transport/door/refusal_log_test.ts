import assert from "node:assert/strict";
import { createLogger } from "../../../src/log.ts";
import { RefusalLog } from "../../../src/transport/door/refusal_log.ts";
import { ManualClock } from "../../support/manual_clock.ts";

function setUp() {
  const clock = new ManualClock();
  const lines: Record<string, unknown>[] = [];
  const log = createLogger({ level: "warn", format: "json", write: (line) => lines.push(JSON.parse(line)) });
  return { clock, lines, refusals: new RefusalLog({ log, clock }) };
}

const wrong = (remote: string) => ({ remote, status: 401, reason: "invalid websocket bearer token" });

Deno.test("RefusalLog tells address and reason of the first refusals and counts the others", () => {
  const { clock, lines, refusals } = setUp();
  refusals.add({ remote: "[::1]:7", status: 403, reason: "because" });
  for (let port = 1; port <= 1000; port++) refusals.add(wrong(`10.0.0.1:${port}`));
  assert.deepEqual(lines.map(({ message, remote, reason }) => [message, remote, reason]), [
    ["request refused", "[::1]:7", "because"],
    ...[1, 2, 3].map((port) => ["login refused", `10.0.0.1:${port}`, "invalid websocket bearer token"]),
  ]);
  assert.ok(lines.every(({ level }) => level === "warn"));
  lines.length = 0;
  clock.advance(60_000);
  assert.deepEqual(
    lines.map(({ count, addresses, mostFrom, most }) => [count, addresses, mostFrom, most]),
    [[997, 2, "10.0.0.1", 1000]],
  );
  refusals.add(wrong("10.0.0.1:1"));
  assert.equal(lines.at(-1)!.message, "login refused", "a new window");
  lines.length = 0;
  refusals.close();
  assert.deepEqual([lines, clock.pending], [[], 0], "nothing was left untold");
});

Deno.test("RefusalLog bounds its lines and its memory whatever the number of addresses", () => {
  const { clock, lines, refusals } = setUp();
  for (let i = 0; i < 100_000; i++) refusals.add(wrong(`[2001:db8::${(i >> 8).toString(16)}:${i & 0xff}]:443`));
  assert.equal(lines.length, 30);
  clock.advance(60_000);
  assert.equal(lines.length, 31);
  assert.deepEqual([lines.at(-1)!.count, lines.at(-1)!.addresses], [99_970, "256 or more"]);
  assert.equal(clock.pending, 0);
});

Deno.test("RefusalLog tells of refused origins also when the address has tried many wrong tokens", () => {
  const { lines, refusals } = setUp();
  for (let port = 1; port <= 10; port++) refusals.add(wrong(`127.0.0.1:${port}`));
  for (let port = 11; port <= 20; port++) {
    refusals.add({ remote: `127.0.0.1:${port}`, status: 403, reason: `Origin: http://${port}.example` });
  }
  assert.deepEqual(lines.map(({ remote }) => remote), [1, 2, 3, 11, 12, 13].map((port) => `127.0.0.1:${port}`));
  refusals.close();
  assert.deepEqual([lines.at(-1)!.count, lines.at(-1)!.most], [14, 20]);
});
