import assert from "node:assert/strict";
import { type FlagTable, parseFlags } from "../../src/cli/flags.ts";

const TABLE = {
  interactive: { section: "A", kind: "switch", short: "i", default: false, help: "" },
  tty: { section: "A", kind: "switch", short: "t", default: false, help: "" },
  cwd: { section: "A", kind: "text", short: "C", placeholder: "DIR", default: null, help: "" },
  env: { section: "A", kind: "list", short: "e", isWhole: true, placeholder: "K=V", default: [], help: "" },
} as const satisfies FlagTable;

function parsed(argv: string[], grammar = { endsAtPositional: true, hasPlaces: true }) {
  const result = parseFlags(TABLE, argv, {}, grammar);
  assert.ok(result.type === "values");
  return { ...result.values, words: result.positionals, place: result.place };
}

const NONE = { interactive: false, tty: false, cwd: null, env: [], words: [], place: null };

Deno.test("flags of a command that runs another one end at its first word", () => {
  assert.deepEqual(parsed(["-i", "ls", "-la", "--", "-t"]), {
    ...NONE,
    interactive: true,
    words: ["ls", "-la", "--", "-t"],
  });
  assert.deepEqual(parsed(["-t", "--", "-x", "@y"]), { ...NONE, tty: true, words: ["-x", "@y"] });
});

Deno.test("short letters may be written together, and a value directly after its letter", () => {
  assert.deepEqual(parsed(["-it", "-C/work", "sh"]), {
    ...NONE,
    interactive: true,
    tty: true,
    cwd: "/work",
    words: ["sh"],
  });
  assert.deepEqual(parsed(["-itC", "/work"]), { ...NONE, interactive: true, tty: true, cwd: "/work" });
  assert.deepEqual(parsed(["-e", "A=1,2", "-eB=3"]), { ...NONE, env: ["A=1,2", "B=3"] });
});

Deno.test("@NAME is a place before the command, and a word after it", () => {
  assert.deepEqual(parsed(["@devbox", "-i", "cat", "@file"]), {
    ...NONE,
    place: "devbox",
    interactive: true,
    words: ["cat", "@file"],
  });
  assert.deepEqual(parsed(["a", "@b"], { endsAtPositional: false, hasPlaces: true }), {
    ...NONE,
    words: ["a"],
    place: "b",
  });
});
