import assert from "node:assert/strict";
import { CliError, quoted, refusal } from "../../src/cli/cli_error.ts";
import { splitCommand } from "../../src/cli/command.ts";
import { nearestWord } from "../../src/nearest_word.ts";

const COMMANDS = ["serve", "exec", "attach", "doctor"] as const;

Deno.test("splitCommand() serves when the first word is a flag or missing", () => {
  for (const argv of [[], ["--listen", "exec"], ["-h"], ["--"]]) {
    assert.deepEqual(splitCommand(argv, COMMANDS), { command: "serve", args: argv });
  }
});

Deno.test("splitCommand() takes a command from the first word and leaves it the rest", () => {
  assert.deepEqual(splitCommand(["serve"], COMMANDS), { command: "serve", args: [] });
  assert.deepEqual(splitCommand(["exec", "serve", "--x"], COMMANDS), { command: "exec", args: ["serve", "--x"] });
});

Deno.test("splitCommand() refuses an unknown command, naming the nearest", () => {
  const cases: [string, string][] = [
    ["sreve", 'unknown command "sreve": did you mean "serve"?'],
    ["Serve", 'unknown command "Serve": did you mean "serve"?'],
    ["exce", 'unknown command "exce": did you mean "exec"?'],
    ["doc", 'unknown command "doc": did you mean "doctor"?'],
    ["ws://127.0.0.1:0", 'unknown command "ws://127.0.0.1:0": see --help'],
    ["", 'unknown command "": see --help'],
  ];
  for (const [word, message] of cases) {
    assert.throws(() => splitCommand([word], COMMANDS), (error) => {
      assert.ok(error instanceof CliError);
      assert.deepEqual([error.exitCode, error.message], [2, message]);
      return true;
    });
  }
});

Deno.test("splitCommand() takes help, alone and with a command", () => {
  assert.deepEqual(splitCommand(["help"], COMMANDS), { command: "serve", args: ["--help"] });
  assert.deepEqual(splitCommand(["help", "doctor", "x"], COMMANDS), { command: "doctor", args: ["--help"] });
  assert.throws(() => splitCommand(["help", "doctr"], COMMANDS), /unknown command "doctr": did you mean "doctor"\?/);
});

Deno.test("splitCommand() takes a hidden command and never suggests one", () => {
  const hidden = ["fs-helper"] as const;
  assert.deepEqual(splitCommand<string>(["fs-helper", "x"], COMMANDS, hidden), { command: "fs-helper", args: ["x"] });
  for (const argv of [["fs-helpr"], ["helper"], ["help", "fs-helper"]]) {
    assert.throws(() => splitCommand<string>(argv, COMMANDS, hidden), (error) => {
      assert.ok(error instanceof CliError);
      assert.doesNotMatch(error.message, /mean.*fs-helper/);
      return true;
    });
  }
});

Deno.test("a refusal shows no character that controls a terminal, whatever it quotes, and keeps its lines", () => {
  const { message } = refusal("cannot read it: readfile '/\u202etxt'\n  \u001b[31mé");
  assert.equal(message, "cannot read it: readfile '/\\u202etxt'\n  \\u001b[31mé");
});

Deno.test("nearestWord() prefers the smallest edit, then an abbreviation, else says nothing", () => {
  const words = ["log", "log-level", "listen", "ws-token-file", "ws-token-sha256"];
  const cases: [string, string | null][] = [
    ["log", "log"],
    ["lgo", "log"],
    ["logs", "log"],
    ["log-lvl", "log-level"],
    ["lisetn", "listen"],
    ["ws-token", "ws-token-file"],
    ["sha256", "ws-token-sha256"],
    ["token-file", "ws-token-file"],
    ["slow", null],
    ["port", null],
    ["fi", null],
    ["x".repeat(100_000), null],
  ];
  for (const [word, expected] of cases) assert.equal(nearestWord(word, words), expected, word.slice(0, 40));
  assert.equal(nearestWord("log", []), null);
  assert.equal(nearestWord("sl", ["ps", "ls"]), "ls");
});

Deno.test("quoted() keeps a word on one line, without escapes, and bounded", () => {
  assert.equal(quoted('a"b\n\x1b[0m\x7f\x85\u2028\u202e'), '"a\\"b\\n\\u001b[0m\\u007f\\u0085\\u2028\\u202e"');
  assert.equal(quoted("x".repeat(1000)).length, 83);
});
