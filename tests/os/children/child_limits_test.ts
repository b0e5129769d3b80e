import assert from "node:assert/strict";
import { fixtureCommand, outputOf, quoted } from "../../support/fixture.ts";
import { Gate } from "../../support/gate.ts";

Deno.test("children get the limit on open files that we were started with, while ours is raised", async () => {
  const directory = await Deno.makeTempDir();
  const gate = await Gate.make(directory, "gate");
  // The second child is started with more descriptors open than the room that lowering our own limit needs.
  const command = fixtureCommand("print_limits", [gate.path, "500"]).map(quoted).join(" ");
  const output = await outputOf(["sh", "-c", `ulimit -Sn 600; ${command}; exit $?`]);
  assert.deepEqual(JSON.parse(output), { isRaised: true, roomy: "600", crowded: "600" });
  await Deno.remove(directory, { recursive: true });
});
