/** Completions in the real shells: what a user gets who presses the key. */

import assert from "node:assert/strict";
import { CLIENT_COMMANDS } from "../../src/cli/client_commands.ts";
import { COMMAND_WORDS } from "../../src/cli/command_words.ts";
import { COMMAND_TABLES } from "../../src/cli/completions/command_tables.ts";
import { CommandHome } from "../support/command_home.ts";

function hasShell(name: string): boolean {
  return Deno.env.get("PATH")!.split(":").some((directory) => {
    try {
      return Deno.statSync(`${directory}/${name}`).isFile;
    } catch {
      return false;
    }
  });
}

/** The script of a shell in a file, and what that shell says to a line of its own. */
async function inShell(shell: string, words: readonly string[], line: (script: string) => string): Promise<string> {
  await using home = await CommandHome.make();
  const { code, stdout } = await home.run(["completions", shell]);
  assert.equal(code, 0);
  await Deno.writeTextFile(`${home.path}/script`, stdout);
  const { stdout: said, stderr } = await new Deno.Command(shell, {
    args: [...words, line(`${home.path}/script`)],
    env: { HOME: home.path, TERM: "xterm" },
    stdin: "null",
  }).output();
  return new TextDecoder().decode(said) + new TextDecoder().decode(stderr);
}

Deno.test("every command has completions and a line in --help", async () => {
  const main = await Deno.readTextFile(new URL("../../main.ts", import.meta.url));
  const names = [...main.slice(0, main.indexOf("const HIDDEN")).matchAll(/^ {2}(\w+): async/gm)].map(([, name]) =>
    name!
  );
  const commands = [...names, ...Object.keys(CLIENT_COMMANDS)].sort();
  assert.deepEqual(Object.keys(COMMAND_TABLES).sort(), commands);
  assert.deepEqual(Object.keys(COMMAND_WORDS).sort(), commands);
});

Deno.test({
  name: "bash completes commands, flags and choices",
  ignore: !hasShell("bash"),
  fn: async () => {
    const complete = (line: string) =>
      `COMP_WORDS=(${line}); COMP_CWORD=$((\${#COMP_WORDS[@]}-1)); _exec_server; echo "\${COMPREPLY[@]}"`;
    const said = await inShell(
      "bash",
      ["--norc", "-c"],
      (script) =>
        [
          `. ${script}`,
          complete("exec-server po"),
          complete("exec-server ps --j"),
          complete("exec-server exec --sandbox r"),
          complete("exec-server token c"),
        ].join("\n"),
    );
    assert.equal(said, "ports\n--json\nread-only\ncreate\n");
  },
});

Deno.test({
  name: "fish completes commands, flags and choices",
  ignore: !hasShell("fish"),
  fn: async () => {
    const said = await inShell(
      "fish",
      ["--no-config", "-c"],
      (script) =>
        [`source ${script}`, ...["po", "ps --j", "exec --sandbox r"].map((line) => `complete -C 'exec-server ${line}'`)]
          .join("; "),
    );
    assert.deepEqual(said.trim().split("\n").map((line) => line.split("\t")[0]), ["ports", "--json", "read-only"]);
  },
});

Deno.test({
  name: "zsh is given commands, flags and choices",
  ignore: !hasShell("zsh"),
  fn: async () => {
    // The functions of its completion system, which only work while a key is pressed, show what they are given.
    const shown = [
      'compdef() { print -r -- "$@" }',
      "_describe() { print -rl -- $commands }",
      '_arguments() { print -rl -- "$words[*] $CURRENT" "$@" }',
    ];
    const complete = (line: string) => `words=(${line}); CURRENT=$#words; _exec_server`;
    const said = await inShell(
      "zsh",
      ["-f", "-c"],
      (script) =>
        [...shown, `source ${script}`, complete("exec-server po"), complete("exec-server exec --s")].join("\n"),
    );
    const lines = said.split("\n");
    assert.equal(lines[0], "_exec_server exec-server");
    assert.ok(lines.includes("ports:List listening ports"), said);
    assert.ok(lines.includes("exec --s 2"), said);
    assert.ok(lines.some((line) => /^\*--sandbox\[.*\]:value:\(read-only workspace-write\)$/.test(line)), said);
    assert.doesNotMatch(said, /parse error|not found/);
  },
});
