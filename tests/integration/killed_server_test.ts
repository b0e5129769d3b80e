import { areInstalled } from "../support/installed.ts";
import { fixtureCommand, outputOf } from "../support/fixture.ts";
import { namedIfSkipped, NO_SANDBOX } from "../support/sandbox_host.ts";

Deno.test({
  name: namedIfSkipped("placeholders of a killed server go, unless they are others'"),
  ignore: NO_SANDBOX !== null || !areInstalled(["flock"], "what a killed server leaves behind"),
  fn: async () => void await outputOf(fixtureCommand("killed_server_scenario")),
});
