import assert from "node:assert/strict";
import { UpgradesUnderWay } from "../../src/transport/upgrades_under_way.ts";
import { ManualClock } from "../support/manual_clock.ts";

/** One websocket under way, and what became of it. */
function underWay() {
  const clock = new ManualClock();
  const upgrades = new UpgradesUnderWay(clock);
  const socket = new EventTarget();
  const calls: string[] = [];
  upgrades.add(socket, { opened: () => calls.push("opened"), givenUp: () => calls.push("given up") });
  assert.equal(upgrades.size, 1);
  return { clock, upgrades, socket, calls };
}

Deno.test("UpgradesUnderWay counts a websocket until it opens, and reports the outcome once", () => {
  const { clock, upgrades, socket, calls } = underWay();
  for (const event of ["open", "error", "close"]) socket.dispatchEvent(new Event(event));
  upgrades.giveUpAll();
  assert.deepEqual([calls, upgrades.size, clock.pending], [["opened"], 0, 0]);
});

Deno.test("UpgradesUnderWay gives up a websocket that fails, closes, or never opens", () => {
  const ends: ((scene: ReturnType<typeof underWay>) => void)[] = [
    ({ socket }) => socket.dispatchEvent(new Event("error")),
    ({ socket }) => socket.dispatchEvent(new Event("close")),
    ({ clock }) => clock.advance(30_000),
    ({ upgrades }) => upgrades.giveUpAll(),
  ];
  for (const end of ends) {
    const scene = underWay();
    end(scene);
    scene.socket.dispatchEvent(new Event("open"));
    assert.deepEqual([scene.calls, scene.upgrades.size, scene.clock.pending], [["given up"], 0, 0]);
  }
});
