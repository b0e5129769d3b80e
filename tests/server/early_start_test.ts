import assert from "node:assert/strict";
import { METHODS } from "../../src/protocol/methods.ts";
import { prepareEarly } from "../../src/server/early_start.ts";
import { MethodTable } from "../../src/server/method_table.ts";
import type { SessionState } from "../../src/server/session_state.ts";

const PARAMS = { processId: "p", argv: ["/bin/true"], cwd: "file:///", env: {}, tty: false };

Deno.test("prepareEarly() schedules a start as the table does", () => {
  const table = new MethodTable<unknown, SessionState>();
  table.bind(METHODS.processStart, () => ({ processId: "p", sandboxType: "none" as const }));
  const scope = { processKey: ({ processId }: { processId?: string }) => `id ${processId}` } as unknown as SessionState;
  const expected = table.prepare("process/start", PARAMS)!;
  const early = prepareEarly("process/start", PARAMS)!;
  assert.deepEqual(
    [early.family, early.lane, early.answerBytes, early.claims(scope)],
    [expected.family, expected.lane, expected.answerBytes, expected.claims(scope)],
  );
});

Deno.test("prepareEarly() leaves everything else to the methods", () => {
  assert.equal(prepareEarly("process/start", { ...PARAMS, argv: [] }), null);
  assert.equal(prepareEarly("process/read", PARAMS), null);
});
