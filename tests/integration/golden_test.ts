/** The recorded frames of `tests/golden/`, played again. After a wanted change: `deno task golden`, and read the difference. */

import assert from "node:assert/strict";
import { METHODS, NOTIFICATIONS } from "../../src/protocol/methods.ts";
import { pageNames, pageUrl, replay } from "../golden/replay.ts";

for (const name of pageNames()) {
  Deno.test(`the server answers as recorded in tests/golden/${name}`, async () => {
    const page = Deno.readTextFileSync(pageUrl(name));
    assert.equal(await replay(page), page);
  });
}

Deno.test("every method has been recorded with a result, and every notification", () => {
  const frames = pageNames().flatMap((name) => recordedFrames(Deno.readTextFileSync(pageUrl(name))));
  assert.deepEqual(Object.values(METHODS).map(({ name }) => name).filter((name) => !frames.includes(name)), []);
  assert.deepEqual(Object.values(NOTIFICATIONS).map(({ name }) => name).filter((name) => !frames.includes(name)), []);
});

/** Methods that a page has a result for, and those of its notifications. */
function recordedFrames(page: string): string[] {
  const asked = new Map<unknown, string>();
  const names: string[] = [];
  for (const line of page.split("\n").filter((line) => /^[<>] \{.*\}$/.test(line))) {
    const { id, method, result } = JSON.parse(line.slice(2).replaceAll("$PORT", "1"));
    if (method !== undefined && id !== undefined) asked.set(id, method);
    else if (method !== undefined) names.push(method);
    else if (result !== undefined) names.push(asked.get(id)!);
  }
  return names;
}
