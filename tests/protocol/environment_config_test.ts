import assert from "node:assert/strict";
import { EnvironmentConfigReadParams } from "../../src/protocol/environment_config.ts";
import { decodeParams } from "../../src/protocol/decode_params.ts";

function refusal(params: unknown): string {
  try {
    decodeParams(EnvironmentConfigReadParams, params);
  } catch (error) {
    return (error as Error).message;
  }
  assert.fail(`${JSON.stringify(params)} was taken`);
}

Deno.test("EnvironmentConfigReadParams takes paths of keys, also for one of the two only", () => {
  const params = { cwd: "file:///ws", configPaths: [["a"], ["b.c", ""]], requirementsPaths: [] };
  assert.deepEqual(EnvironmentConfigReadParams.parse(params), { ...params, cwd: { native: "/ws", form: "uri" } });
});

Deno.test("EnvironmentConfigReadParams refuses to answer whole documents, or nothing", () => {
  const cwd = "file:///ws";
  const table: [unknown, string | RegExp][] = [
    [{ cwd, configPaths: [], requirementsPaths: [] }, "at least one config or requirements path is required"],
    [{ cwd, configPaths: [[]], requirementsPaths: [] }, "TOML paths must contain at least one key segment"],
    [{ cwd, configPaths: [["a"]], requirementsPaths: [[]] }, "TOML paths must contain at least one key segment"],
    [{ cwd, configPaths: [["a"]] }, "missing field `requirementsPaths`"],
    [{ cwd, requirementsPaths: [["a"]] }, "missing field `configPaths`"],
    [{ configPaths: [["a"]], requirementsPaths: [] }, "missing field `cwd`"],
    [{ cwd, configPaths: null, requirementsPaths: [["a"]] }, /configPaths/],
    [{ cwd: "relative", configPaths: [["a"]], requirementsPaths: [] }, /absolute/],
    [{ cwd: "file://host/x", configPaths: [["a"]], requirementsPaths: [] }, /not usable on this host/],
  ];
  for (const [params, expected] of table) {
    if (typeof expected === "string") assert.equal(refusal(params), expected);
    else assert.match(refusal(params), expected);
  }
});
