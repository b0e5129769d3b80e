/** What an escalated program gets of its caller's environment. */

import assert from "node:assert/strict";
import {
  escalatedEnvironment,
  WITHHELD_IN_ANY_CASE,
  WITHHELD_VARIABLES,
} from "../../../src/process/watched/escalated_env.ts";

function escalated(caller: readonly string[], server: Readonly<Record<string, string>> = {}): string[] {
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  return escalatedEnvironment(caller.map((entry) => encoder.encode(entry)), server).map((entry) =>
    decoder.decode(entry)
  );
}

Deno.test("what is on the list is withheld, by its name, its beginning or its end", () => {
  const withheld = ["LD_PRELOAD=x", "BASH_FUNC_ls%%=() { :; }", "GIT_SSH_COMMAND=x", "MANPAGER=x", "PAGER=x", "ENV=x"];
  const programs = ["LESSOPEN=|x", "LESSCLOSE=x", "ZDOTDIR=x", "_JAVA_OPTIONS=x", "JDK_JAVA_OPTIONS=x"];
  const kept = ["LDFLAGS=x", "LESS=-R", "TERM=x", "EMPTY=", "A=b=c", "MY_ENV=x", "PAGER_SIZE=1", "GITHUB_ACTIONS=1"];
  assert.deepEqual(escalated([...withheld, ...programs, ...kept]), kept);
});

Deno.test("what npm reads in any case is withheld in any case, and nothing else is", () => {
  const withheld = ["npm_config_script_shell=x", "NPM_CONFIG_SCRIPT_SHELL=x", "Npm_Config_script_shell=x"];
  const kept = ["npm_command=x", "ld_preload=x", "Git_dir=x"];
  assert.deepEqual(escalated([...withheld, ...kept]), kept);
});

Deno.test("that there is no network is not said to a program that has it", () => {
  assert.deepEqual(escalated(["CODEX_SANDBOX_NETWORK_DISABLED=1", "CODEX_HOME=x"]), ["CODEX_HOME=x"]);
});

Deno.test("PATH, HOME and XDG_* are the server's, or absent where it has none", () => {
  const caller = ["PATH=/ws/bin", "HOME=/ws", "XDG_CONFIG_HOME=/ws/.config", "LANG=C"];
  assert.deepEqual(escalated(caller, { PATH: "/usr/bin", XDG_DATA_HOME: "/data", LANG: "de" }), [
    "PATH=/usr/bin",
    "XDG_DATA_HOME=/data",
    "LANG=C",
  ]);
});

Deno.test("entries that are no variables are left out", () => {
  assert.deepEqual(escalated(["", "NOTHING", "=C:=x", "A=1"]), ["A=1"]);
});

Deno.test("the list is published, all of it", () => {
  const page = Deno.readTextFileSync(new URL("../../../sandbox/README.md", import.meta.url)).replace(/\s+/g, " ");
  assert.deepEqual(WITHHELD_VARIABLES.filter((name) => !page.includes(`\`${name}\``)), []);
  assert.deepEqual(WITHHELD_IN_ANY_CASE.filter((name) => !page.includes(`\`${name}\` in any case`)), []);
});
