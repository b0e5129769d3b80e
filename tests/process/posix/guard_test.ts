import { fixtureCommand, outputOf } from "../../support/fixture.ts";

Deno.test("children of a killed server get SIGTERM, and none survives", async () => {
  await outputOf(fixtureCommand("guard_scenario"));
});
