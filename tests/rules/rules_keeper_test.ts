import assert from "node:assert/strict";
import { decide } from "../../src/rules/policy/decide.ts";
import { namedPlaces, RulePlaceError, rulePlaces } from "../../src/rules/places.ts";
import { RuleReadError } from "../../src/rules/rule_files.ts";
import { RulesKeeper } from "../../src/rules/rules_keeper.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { PLACE } from "./rule_files_text.ts";

const ALLOW = `prefix_rule(["ls"])\n`;
const FORBID = `prefix_rule(["ls"], "forbidden")\n`;

/** A keeper of a directory, and what it has told. */
function keep(directory: string, now?: () => number) {
  const told: string[] = [];
  const keeper = new RulesKeeper({
    places: [{ path: directory, kind: "directory", mustExist: false }],
    programs: PLACE,
    onReload: (rules) => told.push(`${rules.rules.length} rules`),
    onProblem: (problem) => told.push(problem.message.split("\n")[0]!),
    ...(now === undefined ? {} : { now }),
  });
  const decision = () => decide(["ls"], { rules: keeper.current, place: null }).decision;
  return { keeper, told, decision };
}

Deno.test("a change of a file holds for the very next decision", () =>
  inScratchDirectory((directory) => {
    const file = `${directory}/a.rules`;
    Deno.writeTextFileSync(file, ALLOW);
    const { told, decision } = keep(directory);
    assert.equal(decision(), "allow");
    Deno.writeTextFileSync(file, FORBID);
    assert.equal(decision(), "forbidden");
    Deno.removeSync(file);
    assert.equal(decision(), "allow");
    assert.deepEqual(told, ["1 rules", "0 rules"]);
  }));

Deno.test("a change that leaves size and times as they were is noticed while the file is new", () =>
  inScratchDirectory((directory) => {
    const file = `${directory}/a.rules`;
    const time = new Date();
    const write = (decision: string) => {
      Deno.writeTextFileSync(file, `prefix_rule(["ls"], ${JSON.stringify(decision)})`.padEnd(60));
      Deno.utimeSync(file, time, time);
    };
    write("prompt");
    const { decision } = keep(directory);
    for (const wanted of ["forbidden", "prompt", "forbidden"]) {
      write(wanted);
      assert.equal(decision(), wanted);
    }
  }));

Deno.test("a broken file is reported once, and the last good rules stay until it is repaired", () =>
  inScratchDirectory((directory) => {
    const file = `${directory}/a.rules`;
    Deno.writeTextFileSync(file, FORBID);
    const { keeper, told, decision } = keep(directory);
    Deno.writeTextFileSync(file, `prefix_rule(["ls"`);
    assert.deepEqual([decision(), decision(), decision()], ["forbidden", "forbidden", "forbidden"]);
    assert.deepEqual(told, ["starlark error: error: Parse error: unexpected new line, expected symbol ']'"]);
    assert.match(keeper.problem?.message ?? "", new RegExp(`${file}:1:18`));

    Deno.writeTextFileSync(file, ALLOW);
    assert.equal(decision(), "allow");
    assert.equal(keeper.problem, null);
    // Broken, and then what it was before: nothing has changed.
    Deno.writeTextFileSync(file, "?");
    assert.equal(decision(), "allow");
    Deno.writeTextFileSync(file, ALLOW);
    assert.deepEqual([decision(), keeper.problem, told.length], ["allow", null, 3]);
  }));

Deno.test("a directory that cannot be read for a while is reported once, and forgotten when it is back unchanged", () =>
  inScratchDirectory((parent) => {
    const [directory, aside] = [`${parent}/rules`, `${parent}/aside`];
    Deno.mkdirSync(directory);
    Deno.writeTextFileSync(`${directory}/a.rules`, FORBID);
    const { keeper, told, decision } = keep(directory, () => Date.now() + 60_000);
    assert.equal(decision(), "forbidden");
    Deno.renameSync(directory, aside);
    Deno.writeTextFileSync(directory, "");
    assert.match(keeper.problem!.message, /Not a directory/);
    assert.equal(decision(), "forbidden");
    Deno.removeSync(directory);
    Deno.renameSync(aside, directory);
    assert.equal(keeper.problem, null);
    assert.equal(decision(), "forbidden");
    assert.deepEqual(told, ["Not a directory"]);
  }));

Deno.test("files that have not changed for a while are only checked and not read again", () =>
  inScratchDirectory((directory) => {
    const file = `${directory}/a.rules`;
    Deno.writeTextFileSync(file, ALLOW);
    const { decision } = keep(directory, () => Date.now() + 60_000);
    const { atime } = Deno.statSync(file);
    const long = performance.now();
    for (let round = 0; round < 1000; round++) decision();
    assert.ok(performance.now() - long < 10_000);
    assert.deepEqual(Deno.statSync(file).atime, atime);
    Deno.writeTextFileSync(file, FORBID);
    assert.equal(decision(), "forbidden");
  }));

Deno.test("a directory may come later; files are taken by name, in order, without links and folders", () =>
  inScratchDirectory((parent) => {
    const directory = `${parent}/rules`;
    const { keeper } = keep(directory);
    assert.deepEqual(keeper.current.files, []);
    Deno.mkdirSync(`${directory}/folder.rules`, { recursive: true });
    for (const name of ["b.rules", "a.rules", "B.rules", "\u{1f600}.rules", "\uff5e.rules", "c.txt"]) {
      Deno.writeTextFileSync(`${directory}/${name}`, ALLOW);
    }
    Deno.symlinkSync(`${directory}/a.rules`, `${directory}/link.rules`);
    const inOrder = ["B", "a", "b", "\uff5e", "\u{1f600}"];
    assert.deepEqual(keeper.current.files, inOrder.map((name) => `${directory}/${name}.rules`));
    assert.deepEqual(keeper.skipped, [`${directory}/link.rules`]);
  }));

Deno.test("the first set has to be valid", () =>
  inScratchDirectory((directory) => {
    Deno.writeTextFileSync(`${directory}/a.rules`, "x");
    assert.throws(() => keep(directory), /Variable `x` not found/);
    const missing = { places: namedPlaces([`${directory}/none.rules`]), programs: PLACE };
    assert.throws(() => new RulesKeeper(missing), (error) => {
      return error instanceof RuleReadError && error.message === "No such file or directory";
    });
    Deno.writeFileSync(`${directory}/a.rules`, new Uint8Array([0x78, 0xff]));
    assert.throws(() => keep(directory), /UTF-8/);
    Deno.writeTextFileSync(`${directory}/a.rules`, "#".repeat((1 << 20) + 1));
    assert.throws(() => keep(directory), /exceeds 1024 KiB/);
  }));

Deno.test("rulePlaces() are the machine's, the user's, and those that were named", () =>
  inScratchDirectory((directory) => {
    const paths = (env: Record<string, string>, named: string[] = []) => rulePlaces(env, named).map(({ path }) => path);
    assert.deepEqual(paths({ HOME: "/home/a" }), ["/etc/codex/rules", "/home/a/.codex/rules"]);
    assert.deepEqual(paths({ HOME: "/home/a", CODEX_HOME: "" }), ["/etc/codex/rules", "/home/a/.codex/rules"]);
    assert.deepEqual(paths({}), ["/etc/codex/rules"]);
    assert.deepEqual(paths({ CODEX_HOME: directory }, ["x"]), ["/etc/codex/rules", `${directory}/rules`, "x"]);
    assert.throws(
      () => rulePlaces({ CODEX_HOME: `${directory}/none` }),
      new RulePlaceError(`CODEX_HOME points to "${directory}/none", but that path does not exist`),
    );
    assert.deepEqual(namedPlaces([directory, "x"]).map(({ kind }) => kind), ["directory", "file"]);
  }));
