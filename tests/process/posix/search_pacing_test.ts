/** How often, and when, a tree looks through all processes, with a look so slow that searches could fill all of the time. */

import assert from "node:assert/strict";
import { MarkSeries } from "../../../src/os/children/process_mark.ts";
import { ProcessTree } from "../../../src/process/posix/tree.ts";

/** Longer than the rest that is always kept between two searches. */
const LOOK_MS = 30;

interface Look {
  readonly beganAtMs: number;
  readonly endedAtMs: number;
}

/** A tree on a machine without processes, on which it takes long to find that out. */
function slowTree(): { tree: ProcessTree; looks: Look[] } {
  const looks: Look[] = [];
  const list = () => {
    const beganAtMs = performance.now();
    while (performance.now() < beganAtMs + LOOK_MS);
    looks.push({ beganAtMs, endedAtMs: performance.now() });
    return [];
  };
  const tree = new ProcessTree(new MarkSeries(), { list });
  return { tree, looks };
}

/** As a session does whose time is over. */
function endInTurn(tree: ProcessTree): Promise<unknown> {
  return new Promise((resolve) => setTimeout(() => resolve(tree.endAll({ roots: [tree.plan()], graceMs: 0 })), 0));
}

Deno.test("ends that fall due together are one search, however slow looking is", async () => {
  const { tree, looks } = slowTree();
  await endInTurn(tree);
  const looksOfOne = looks.length;
  assert.ok(looksOfOne > 0);
  await Promise.all(Array.from({ length: 50 }, () => endInTurn(tree)));
  // Those that fell due in the same millisecond; a second search for any that fell due a moment later.
  assert.ok(looks.length <= 3 * looksOfOne, `${looks.length} looks, where one search has ${looksOfOne}`);
});

Deno.test("between two searches everything else has as much time as the first one took", async () => {
  const { tree, looks } = slowTree();
  await endInTurn(tree);
  const first = [...looks];
  await endInTurn(tree);
  const spentMs = first.reduce((sum, { beganAtMs, endedAtMs }) => sum + endedAtMs - beganAtMs, 0);
  // What lay between the looks of the first search was everybody's too.
  const betweenMs = looks[first.length]!.beganAtMs - first[0]!.beganAtMs - spentMs;
  assert.ok(betweenMs >= spentMs * 0.99, `${betweenMs} ms for others, after ${spentMs} ms of looking`);
});
