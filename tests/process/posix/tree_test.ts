/** The claims of `fixtures/tree_scenarios.ts`, each checked in a process of its own. */

import { CLAIMS } from "../../fixtures/tree_scenarios.ts";
import { fixtureCommand, outputOf } from "../../support/fixture.ts";

for (const claim of CLAIMS) {
  Deno.test(claim, async () => {
    await outputOf(fixtureCommand("tree_scenarios", [claim]));
  });
}
