import assert from "node:assert/strict";
import { Scene, textOf } from "./scene.ts";

Deno.test("a time-out may be any number that the reference takes", async () => {
  for (const timeout_ms of [2 ** 53, 18_446_744_073_709_551_615]) {
    const scene = new Scene();
    const { peer } = await scene.client();
    const started = scene.shells.next();
    const answer = peer.call("shell", { command: "x", workdir: "/work", timeout_ms });
    const shell = await Promise.race([started, answer]);
    scene.clock.advance(1e12);
    assert.equal(shell.isTerminated, false);
    shell.exit(0);
    assert.equal(textOf(await answer).exit_code, 0);
  }
});
