/** `exec -t`, `shell` and `attach` on a real terminal: one that a server under test has made, with our program on it. */

import assert from "node:assert/strict";
import { CommandHome } from "../support/command_home.ts";
import type { Client } from "../support/rpc_client.ts";
import { KEY, TerminalSession } from "../support/terminal_session.ts";
import { TestServer } from "../support/test_server.ts";

/** A shell without a profile, in which commands are typed. */
async function localShell(client: Client, home: CommandHome): Promise<TerminalSession> {
  const [program, ...words] = home.words([]);
  const env = { ...home.env, PS1: "local> ", PROGRAM: [program, ...words].join(" ") };
  return await TerminalSession.start(client, ["/bin/sh", "-i"], { cwd: home.path, env });
}

const isDetached = (lines: readonly string[]) => lines.includes("exec-server: detached from loop");
const last = (session: TerminalSession) => session.screen.lines.at(-1) ?? "";

Deno.test("exec -t runs on a terminal of the same size, raw while it runs and as it was afterwards", async () => {
  await using home = await CommandHome.make();
  await using server = await TestServer.start();
  await using client = await server.connect();
  await using shell = await localShell(client, home);
  await shell.until(() => last(shell) === "local>");
  await shell.enter("$PROGRAM exec -t sh -c 'stty size; read x; echo got:$x; exit 5'");
  await shell.until(({ lines }) => lines.includes("24 80"));
  await shell.enter("hello");
  await shell.until(({ lines }) => lines.includes("got:hello") && last(shell) === "local>");
  await shell.enter("echo code=$? $(stty -a | grep -o '[-]*icanon')");
  await shell.until(({ lines }) => lines.includes("code=5 icanon"));
});

Deno.test("keys reach the remote program: Ctrl-C ends it there, ~. ends the connection", async () => {
  await using home = await CommandHome.make();
  await using server = await TestServer.start();
  await using client = await server.connect();
  await using shell = await localShell(client, home);
  await shell.until(() => last(shell) === "local>");
  // A program that has answered surely gets the signal; a shell that is just about to start one may swallow it.
  await shell.enter("$PROGRAM exec -t sh -c 'echo ready; exec cat'; echo code=$?");
  await shell.until(({ lines }) => lines.includes("ready"));
  await shell.enter("here");
  await shell.until(({ lines }) => lines.filter((line) => line === "here").length === 2);
  await shell.type(KEY.ctrlC);
  await shell.until(({ lines }) => lines.some((line) => line.endsWith("code=130")) && last(shell) === "local>");
  await shell.enter("clear; $PROGRAM exec -t sh -c 'echo again; exec cat'; echo code=$?");
  await shell.until(({ lines }) => lines.includes("again"));
  await shell.enter("abc");
  await shell.until(({ lines }) => lines.filter((line) => line === "abc").length === 2);
  await shell.type("~.");
  await shell.until(({ lines }) => lines.some((line) => line.endsWith("code=255")));
});

Deno.test("a signal that ends the program leaves the terminal as it was, and the remote command with it", async () => {
  await using home = await CommandHome.make();
  await using server = await TestServer.start();
  await using client = await server.connect();
  await using shell = await localShell(client, home);
  await shell.until(() => last(shell) === "local>");
  for (const [signal, code] of [["SIGTERM", 143], ["SIGHUP", 129]] as const) {
    const ready = `ready-${signal}`;
    await shell.enter(`clear; sh -c 'echo pid=$$; exec $PROGRAM exec -t sh -c "echo ${ready}; sleep 600"'`);
    await shell.until(({ lines }) => lines.includes(ready));
    const pid = Number(/^pid=(\d+)$/m.exec(shell.screen.lines.join("\n"))![1]);
    Deno.kill(pid, signal);
    await shell.until(() => last(shell) === "local>");
    await shell.enter("echo code=$? $(stty -a | grep -o '[-]*icanon')");
    await shell.until(({ lines }) => lines.includes(`code=${code} icanon`) && last(shell) === "local>");
  }
});

Deno.test("attach draws the present screen, passes keys, and leaves the process running when the user detaches", async () => {
  await using home = await CommandHome.make();
  await using server = await TestServer.start();
  await using client = await server.connect();
  await using shell = await localShell(client, home);
  await shell.until(() => last(shell) === "local>");
  const script = "printf 'gone\\033[2J\\033[H\\033[3;3Hhere\\n'; while read x; do echo got:$x; done";
  const started = await home.run(["exec", "--detach", "-t", "--name", "loop", "--", "sh", "-c", script]);
  assert.equal(started.code, 0, started.stderr);
  await shell.enter("$PROGRAM attach loop");
  await shell.until(({ lines }) => lines[2] === "  here" && !lines.some((line) => line.includes("gone")));
  await shell.enter("one");
  await shell.until(({ lines }) => lines.includes("got:one"));
  await shell.type("~.");
  await shell.until(({ lines }) => isDetached(lines) && last(shell) === "local>");
  await shell.enter("clear; $PROGRAM attach --view loop");
  await shell.until(({ lines }) => lines[2] === "  here" && lines.includes("got:one") && !isDetached(lines));
  await shell.type(`ignored${KEY.enter}~.`);
  await shell.until(({ lines }) => isDetached(lines) && last(shell) === "local>");
  await shell.enter("clear; $PROGRAM attach loop; echo code=$?");
  await shell.until(({ lines }) => lines.includes("got:one") && !isDetached(lines));
  assert.ok(!shell.screen.lines.some((line) => line.includes("ignored")));
  await shell.type(KEY.ctrlD);
  await shell.until(({ lines }) => lines.some((line) => line.endsWith("code=0")));
});

Deno.test("attach says when there is no such process, and exits with the code of one that has ended", async () => {
  await using home = await CommandHome.make();
  const nobody = await home.run(["attach", "nobody"]);
  assert.equal(nobody.code, 125);
  assert.match(nobody.stderr, /^exec-server: there is no process "nobody": exec-server ps -a lists them\n$/);
  const words = ["exec", "--detach", "--name", "short", "--", "sh", "-c", "echo all of it; exit 6"];
  const { stdout: id } = await home.run(words);
  for (const word of ["short", id.trim(), id.slice(0, 6)]) {
    const ended = await home.run(["attach", word]);
    assert.deepEqual([ended.code, ended.stdout], [6, "all of it\n"], ended.stderr);
  }
});
