/**
 * The real codex as the client of `exec-server mcp`: it runs commands through the tool as its model says, asks its user
 * what has to be asked, and ends commands when it is interrupted or dies. Locally, over HTTP, in the 2026 era, and on a
 * machine behind our own server.
 *
 * Needs codex (`CODEX_DIR`) and the directory of the checks that hold a scripted model (`CHECKS`).
 */

import assert from "node:assert/strict";
import { serverCommand, TestServer } from "../support/test_server.ts";
import { until } from "../support/until.ts";
import { child, McpScene, type Place, RULES, type Say } from "./mcp_scene.ts";
import { NO_CODEX } from "./scene.ts";

const ERA_OF_2026 = { CODEX_MCP_PROTOCOL_VERSION: "2026-07-28" };

function codexTest(name: string, fn: () => Promise<void>): void {
  Deno.test({ name: NO_CODEX === null ? name : `${name} (SKIPPED: ${NO_CODEX})`, ignore: NO_CODEX !== null, fn });
}

const shell = (command: string, more: Record<string, unknown> = {}): Say => {
  return () => ({ tool: "shell", arguments: { command, workdir: "/", login: false, timeout_ms: 60_000, ...more } });
};

/** Commands of which one is allowed, one denied, two are asked about, and one does not end in time. */
function eachDecision(place: () => McpScene["place"], denied: string): Say[] {
  return [
    () => shell(`touch ${place().work}/made; echo x > ${place().work}/denied; ls ${place().work}`)(new Map()),
    shell(denied),
    shell("uname; echo after"),
    shell("uname; echo after"),
    shell("echo before; sleep 600", { timeout_ms: 1500 }),
  ];
}

async function acceptThenDecline(scene: McpScene): Promise<void> {
  const answers = [{ action: "accept", content: {} }, { action: "decline" }];
  scene.app.onQuestion = () => answers.shift();
  await scene.turn();
  await scene.app.untilTurnEnds();
  assert.match(scene.result(0).output, /^made\n.*(Read-only file system|Permission denied)/s);
}

codexTest("codex runs what is allowed, is told what is denied, and asks its user about the rest", async () => {
  await using scene = await McpScene.open({
    server: (place) => child(place),
    calls: eachDecision(() => scene.place, "id; echo after"),
  });
  await acceptThenDecline(scene);
  const denied = scene.result(1);
  assert.deepEqual([denied.exit_code, denied.output], [0, "after\nExecution denied: Execution forbidden by policy\n"]);
  assert.match(denied.denied[0].command, /\/id$/);
  assert.equal(scene.result(2).output, "Linux\nafter\n");
  assert.equal(scene.result(3).output, "after\nExecution denied: User declined execution\n");
  assert.equal(scene.app.questions.length, 2);
  assert.match(scene.app.questions[0]!, /^Allow agent to run `\/(usr\/)?bin\/uname` in `\/`\?$/);
  const timedOut = scene.result(4);
  assert.deepEqual([timedOut.timed_out, timedOut.output], [true, "before\n"]);
});

codexTest("the sandbox is the one that codex has at the moment, in both eras", async () => {
  for (const era of ["2025", "2026"]) {
    await using scene = await McpScene.open({
      ...(era === "2025" ? {} : { features: "mcp_2026_07_28 = true" }),
      server: (place) => child(place, era === "2025" ? {} : { env: ERA_OF_2026 }),
      calls: [
        () => {
          const { work, home } = scene.place;
          return shell(`echo inside > ${work}/f; cat ${work}/f; echo outside > ${home}/f`)(new Map());
        },
      ],
    });
    // The server alone would not let it write anywhere.
    await scene.turn({ sandbox: "workspace-write" });
    await scene.app.untilTurnEnds();
    assert.match(scene.result(0).output, /^inside\n/, era);
    assert.ok(!exists(`${scene.place.home}/f`));
    assert.equal(scene.result(0).looks_denied_by_sandbox, true);
  }
});

codexTest("with what docs/mcp.md says codex has no shell of its own, and ours works", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/mcp.md", import.meta.url));
  const features = /^\[features\]\n(.*)\n$/m.exec(page)![1]!;
  await using scene = await McpScene.open({
    features,
    server: (place) => child(place),
    calls: [
      () => ({ tool: "exec_command", isCodexs: true, arguments: { cmd: "echo own" } }),
      shell("echo ours"),
    ],
  });
  await scene.turn();
  await scene.app.untilTurnEnds();
  assert.match(scene.text(0), /unsupported call: exec_command/);
  assert.equal(scene.result(1).output, "ours\n");
});

codexTest("where codex may not ask, it declines at once, and under full access it accepts at once", async () => {
  for (const sandbox of ["workspace-write", "danger-full-access"]) {
    await using scene = await McpScene.open({ server: (place) => child(place), calls: [shell("uname; echo after")] });
    await scene.turn({ sandbox, approvalPolicy: "never" });
    await scene.app.untilTurnEnds();
    const denied = "after\nExecution denied: User declined execution\n";
    assert.equal(scene.result(0).output, sandbox === "workspace-write" ? denied : "Linux\nafter\n");
    assert.deepEqual(scene.app.questions, []);
  }
});

codexTest("codex goes on with a long command by its handle", async () => {
  let handle = "";
  await using scene = await McpScene.open({
    server: (place) => child(place, { words: ["--tools", "all"] }),
    calls: [
      shell("echo one; read line; echo got $line", { yield_ms: 1000, stdin: true }),
      () => {
        handle = scene.result(0).handle;
        return { tool: "shell_poll", arguments: { handle, wait_ms: 500 } };
      },
      () => ({ tool: "shell_input", arguments: { handle, text: "two\n", wait_ms: 30_000 } }),
      shell("sleep 600", { yield_ms: 500 }),
      () => ({ tool: "shell_stop", arguments: { handle: scene.result(3).handle } }),
    ],
  });
  await scene.turn();
  await scene.app.untilTurnEnds();
  assert.deepEqual([scene.result(0).running, scene.result(1).running], [true, true]);
  assert.match(scene.result(0).output + scene.result(1).output, /^one\n$/);
  assert.deepEqual([scene.result(2).exit_code, scene.result(2).output], [0, "got two\n"]);
  assert.equal(scene.result(4).stopped, true);
});

/** Every way in which a command loses its client, and the places where it runs. */
const LOSSES = [["interrupt", "here"], ["death", "here"], ["interrupt", "there"], ["death", "there"]] as const;

for (const [way, place] of LOSSES) {
  const where = place === "here" ? "" : ", on a machine behind our own server";
  const who = way === "interrupt" ? "an interrupted turn" : "a codex that dies";
  codexTest(`${who} ends the command with what it let out of the sandbox${where}`, async () => {
    const mark = crypto.randomUUID();
    // A machine keeps the session of a client that is gone for a while, in case it comes back.
    const args = ["--detached-session-ttl-ms", "1000"];
    await using machine = place === "there" ? await TestServer.start({ args }) : null;
    const words = ["--escalate", "shell"];
    await using scene = await McpScene.open({
      server: machine === null ? (place) => child(place, { words }) : behind(machine, words),
      calls: [
        () => {
          // What leaves the sandbox writes where nothing inside may.
          const { rules, work } = scene.place;
          Deno.writeTextFileSync(rules, `${RULES}prefix_rule(pattern = ["sh"], decision = "allow")\n`);
          const outside = `echo $$ > ${work}/outside; exec sleep 600.${parseInt(mark, 16) % 1000}`;
          return shell(`sleep 601 & sh -c '${outside}'; echo never`)(new Map());
        },
      ],
    });
    const turn = await scene.turn();
    const file = `${scene.place.work}/outside`;
    const pid = () => Deno.readTextFileSync(file).trim();
    await until(() => exists(file) && pid() !== "", () => `nothing ran outside: ${scene.text(0)}`);
    assert.ok(isAlive(pid()));
    if (way === "interrupt") {
      await scene.app.request("turn/interrupt", turn);
      await scene.app.untilTurnEnds();
    } else await scene.app.kill();
    await until(() => !isAlive(pid()), () => `${pid()} outlives the ${way}`);
  });
}

codexTest("codex reaches the tool over HTTP with a token, and asks there too", async () => {
  const { program, args } = serverCommand();
  const directory = await Deno.makeTempDir();
  await Deno.writeTextFile(`${directory}/token`, "a-token-for-codex-alone", { mode: 0o600 });
  await Deno.writeTextFile(`${directory}/r.rules`, RULES);
  await using server = await TestServer.start({
    command: [program, ...args, "mcp", "--rules", `${directory}/r.rules`],
    listen: "127.0.0.1:0",
    args: ["--ws-auth", "capability-token", "--ws-token-file", `${directory}/token`],
  });
  await using scene = await McpScene.open({
    server: () =>
      `[mcp_servers.box]
url = "${server.url}"
http_headers = { Authorization = "Bearer a-token-for-codex-alone" }
default_tools_approval_mode = "approve"
required = true
startup_timeout_sec = 60
`,
    calls: [shell("uname; echo after"), shell("id; echo after")],
  });
  scene.app.onQuestion = () => ({ action: "accept", content: {} });
  await scene.turn();
  await scene.app.untilTurnEnds();
  assert.equal(scene.result(0).output, "Linux\nafter\n");
  assert.equal(scene.result(1).output, "after\nExecution denied: Execution forbidden by policy\n");
  await Deno.remove(directory, { recursive: true });
});

codexTest("in the 2026 era codex asks between two rounds of one call", async () => {
  await using scene = await McpScene.open({
    features: "mcp_2026_07_28 = true",
    server: (place) => child(place, { env: ERA_OF_2026 }),
    calls: [shell("uname; uname | cat; echo after"), shell("uname; echo after")],
  });
  const answers = [{ action: "accept", content: {} }, { action: "accept", content: {} }, { action: "decline" }];
  scene.app.onQuestion = () => answers.shift();
  await scene.turn();
  await scene.app.untilTurnEnds();
  assert.equal(scene.result(0).output, "Linux\nLinux\nafter\n");
  assert.equal(scene.result(1).output, "after\nExecution denied: User declined execution\n");
  assert.equal(scene.app.questions.length, 3);
});

/** Behind a machine that codex reaches through our own server: there the tool is a child of that server. */
function behind(machine: TestServer, words: readonly string[] = []): (place: Place) => string {
  return (place) => {
    Deno.writeTextFileSync(
      `${place.home}/codex/environments.toml`,
      `default = "devbox"\ninclude_local = true\n[[environments]]\nid = "devbox"\nurl = "${machine.url}"\n`,
    );
    return child(place, { words, more: `environment_id = "devbox"\ncwd = ${JSON.stringify(place.work)}` });
  };
}

codexTest("on a machine behind our own server: allowed, denied, asked about and timed out", async () => {
  await using machine = await TestServer.start();
  await using scene = await McpScene.open({
    server: behind(machine),
    calls: eachDecision(() => scene.place, "echo here; id; echo after"),
  });
  await acceptThenDecline(scene);
  assert.equal(scene.result(1).output, "here\nafter\nExecution denied: Execution forbidden by policy\n");
  assert.equal(scene.result(2).output, "Linux\nafter\n");
  assert.equal(scene.result(3).output, "after\nExecution denied: User declined execution\n");
  assert.equal(scene.app.questions.length, 2);
  const timedOut = scene.result(4);
  assert.deepEqual([timedOut.timed_out, timedOut.output], [true, "before\n"]);
});

codexTest("on a machine behind our own server: a long command goes on by its handle", async () => {
  let handle = "";
  await using machine = await TestServer.start();
  await using scene = await McpScene.open({
    server: behind(machine, ["--tools", "all"]),
    calls: [
      shell("echo one; read line; echo got $line", { yield_ms: 1000, stdin: true }),
      () => {
        handle = scene.result(0).handle;
        return { tool: "shell_input", arguments: { handle, text: "two\n", wait_ms: 30_000 } };
      },
      shell("sleep 600", { yield_ms: 500 }),
      () => ({ tool: "shell_stop", arguments: { handle: scene.result(2).handle } }),
    ],
  });
  await scene.turn();
  await scene.app.untilTurnEnds();
  assert.deepEqual([scene.result(0).running, scene.result(0).output], [true, "one\n"]);
  assert.deepEqual([scene.result(1).exit_code, scene.result(1).output], [0, "got two\n"]);
  assert.equal(scene.result(3).stopped, true);
});

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

function isAlive(pid: string): boolean {
  try {
    return !/^State:\s+Z/m.test(Deno.readTextFileSync(`/proc/${pid}/status`));
  } catch {
    return false;
  }
}
