import assert from "node:assert/strict";
import { parseWords, UsageError } from "./words.ts";

Deno.test("parseWords() tells paths from flags, also from those whose value is the next word", () => {
  assert.deepEqual(parseWords(["tests/rpc", "--filter", "resize", "--fail-fast", "tests/os/errno_test.ts"]), {
    paths: ["tests/rpc", "tests/os/errno_test.ts"],
    options: ["--filter=resize", "--fail-fast"],
    filter: "resize",
    isOneAtATime: false,
    isHelp: false,
  });
  assert.deepEqual(parseWords(["-c", "deno.json", "--shuffle=7"]).options, ["-c", "deno.json", "--shuffle=7"]);
});

Deno.test("parseWords() takes any value, as one word and as two", () => {
  assert.equal(parseWords(["--filter=a=b"]).filter, "a=b");
  assert.equal(parseWords(["--filter", "--help | true"]).filter, "--help | true");
  assert.deepEqual(parseWords(["--filter", "--help"]), {
    paths: [],
    options: ["--filter=--help"],
    filter: "--help",
    isOneAtATime: false,
    isHelp: false,
  });
});

Deno.test("parseWords() keeps the runner's own flag to itself", () => {
  const { isOneAtATime, options, paths } = parseWords(["--one-at-a-time", "tests/soak/processes.ts", "--fail-fast"]);
  assert.deepEqual([isOneAtATime, options, paths], [true, ["--fail-fast"], ["tests/soak/processes.ts"]]);
});

Deno.test("parseWords() refuses a flag without its value, and words for a program", () => {
  assert.throws(() => parseWords(["tests", "--filter"]), new UsageError("--filter needs a value"));
  assert.throws(() => parseWords(["--", "x"]), UsageError);
});
