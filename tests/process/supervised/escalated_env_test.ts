/** What an escalated program gets of its caller's environment. */

import assert from "node:assert/strict";
import {
  escalatedEnvironment,
  SERVER_VARIABLES,
  WITHHELD_IN_ANY_CASE,
  WITHHELD_VARIABLES,
} from "../../../src/process/supervised/escalated_env.ts";

function escalated(caller: readonly string[], server: Readonly<Record<string, string>> = {}): string[] {
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  return escalatedEnvironment(caller.map((entry) => encoder.encode(entry)), server).map((entry) =>
    decoder.decode(entry)
  );
}

Deno.test("variables on the list are withheld, by name, beginning or end", () => {
  const withheld = ["LD_PRELOAD=x", "BASH_FUNC_ls%%=() { :; }", "GIT_SSH_COMMAND=x", "MANPAGER=x", "PAGER=x", "ENV=x"];
  const programs = ["LESSOPEN=|x", "LESSCLOSE=x", "ZDOTDIR=x", "_JAVA_OPTIONS=x", "JDK_JAVA_OPTIONS=x"];
  const kept = ["LDFLAGS=x", "LESS=-R", "TERM=x", "EMPTY=", "A=b=c", "MY_ENV=x", "PAGER_SIZE=1", "GITHUB_ACTIONS=1"];
  assert.deepEqual(escalated([...withheld, ...programs, ...kept]), kept);
});

Deno.test("variables that npm reads in any case are withheld in any case, and no others", () => {
  const withheld = ["npm_config_script_shell=x", "NPM_CONFIG_SCRIPT_SHELL=x", "Npm_Config_script_shell=x"];
  const kept = ["npm_command=x", "ld_preload=x", "Git_dir=x"];
  assert.deepEqual(escalated([...withheld, ...kept]), kept);
});

Deno.test("a program with network is not told that it has none", () => {
  assert.deepEqual(escalated(["CODEX_SANDBOX_NETWORK_DISABLED=1", "CODEX_HOME=x"]), ["CODEX_HOME=x"]);
});

Deno.test("PATH, HOME and XDG_* are the server's, or absent if it has none", () => {
  const caller = ["PATH=/ws/bin", "HOME=/ws", "XDG_CONFIG_HOME=/ws/.config", "LANG=C"];
  assert.deepEqual(escalated(caller, { PATH: "/usr/bin", XDG_DATA_HOME: "/data", LANG: "de" }), [
    "PATH=/usr/bin",
    "XDG_DATA_HOME=/data",
    "LANG=C",
  ]);
});

Deno.test("variables that hold or name a command are withheld", () => {
  const withheld = ["TAR_OPTIONS=--checkpoint-action=exec=x", "RSYNC_RSH=x", "MAKEFLAGS=--eval=x", "SSH_SK_PROVIDER=x"];
  const editors = ["EDITOR=x", "KUBE_EDITOR=x", "SUDO_EDITOR=x", "SUDO_ASKPASS=x"];
  const kept = ["SSH_AUTH_SOCK=x", "EDITOR_COLOR=x", "TAR=x", "http_proxy=x"];
  assert.deepEqual(escalated([...withheld, ...editors, ...kept], { TAR_OPTIONS: "-v" }), kept);
});

Deno.test("variables that name configurations with code are the server's, or absent if it has none", () => {
  const configurations = ["OPENSSL_CONF=/ws/x", "KRB5_CONFIG=/ws/x", "CURL_HOME=/ws", "KUBECONFIG=/ws/x"];
  const more = ["AWS_CONFIG_FILE=/ws/x", "DOCKER_CONFIG=/ws", "APT_CONFIG=/ws/x", "GNUPGHOME=/ws"];
  assert.deepEqual(escalated([...configurations, ...more, "AWS_PROFILE=a"], { KUBECONFIG: "/etc/k", LANG: "de" }), [
    "KUBECONFIG=/etc/k",
    "AWS_PROFILE=a",
  ]);
});

Deno.test("entries that are not variables are left out", () => {
  assert.deepEqual(escalated(["", "NOTHING", "=C:=x", "A=1"]), ["A=1"]);
});

Deno.test("the whole list is published", () => {
  const page = Deno.readTextFileSync(new URL("../../../sandbox/README.md", import.meta.url)).replace(/\s+/g, " ");
  const names = [...WITHHELD_VARIABLES, ...SERVER_VARIABLES];
  assert.deepEqual(names.filter((name) => !page.includes(`\`${name}\``)), []);
  assert.deepEqual(WITHHELD_IN_ANY_CASE.filter((name) => !page.includes(`\`${name}\` in any case`)), []);
});
