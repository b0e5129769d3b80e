/** What a user is promised about login shells that start from a kept state, seen from the other end of a real socket. */

import assert from "node:assert/strict";
import { Gate } from "../support/gate.ts";
import { processesMarked } from "../support/proc.ts";
import { NO_SANDBOX } from "../support/sandbox_host.ts";
import { BASH, NOTE_RUN, SnapshotScene, snapshotTest, TERMINAL } from "../support/snapshot_scene.ts";
import { until } from "../support/until.ts";

snapshotTest(
  "a profile runs once for the commands of a scope, which have its results but not its output",
  async () => {
    await using scene = await SnapshotScene.open(
      `${NOTE_RUN}; echo noise; export FROM=profile; greet() { echo hello $1; }`,
    );
    for (let turn = 0; turn < 3; turn++) {
      assert.deepEqual(await scene.run("greet $FROM; exit 3"), { output: "hello profile\n", exitCode: 3 });
    }
    assert.equal(scene.runs, 1);
    await scene.run("true", { scopeId: "other" });
    assert.equal(scene.runs, 2);
    assert.deepEqual([...Deno.readDirSync(scene.home.path("tmp"))], [], "nothing is kept on the disk");
  },
);

snapshotTest("the server says that it keeps shell states, and shows commands as they were sent", async () => {
  await using scene = await SnapshotScene.open("export FROM=profile");
  const { capabilities } = await scene.client.call("environment/info", null);
  assert.equal(capabilities["shellSnapshotV2"], true);
  const { output } = await scene.run("echo $0 $FROM; tr '\\0' ' ' < /proc/$$/cmdline");
  assert.match(output, /^\/bin\/bash profile\n\/bin\/bash --noprofile -lc /);
  const { processes } = await scene.client.call("process/list", null);
  assert.deepEqual(processes.map(({ argv }) => argv), [[
    BASH,
    "-lc",
    "echo $0 $FROM; tr '\\0' ' ' < /proc/$$/cmdline",
  ]]);
});

snapshotTest("commands that start together share one run of the profile", async () => {
  await using scene = await SnapshotScene.open(`${NOTE_RUN}; export FROM=profile`);
  const results = await Promise.all(Array.from({ length: 8 }, (_, at) => scene.run(`echo ${at} $FROM`)));
  assert.deepEqual(results.map(({ output }) => output), results.map((_, at) => `${at} profile\n`));
  assert.equal(scene.runs, 1);
});

snapshotTest("terminals have a state of their own, and keep it exactly", async () => {
  const profile = String.raw`${NOTE_RUN}
    if [ -t 0 ]; then export PLACE=terminal; else export PLACE=pipe; fi
    export LINES_IN_VALUE=$'a\nb\r\nc'`;
  await using scene = await SnapshotScene.open(profile);
  const script = "echo $PLACE; declare -p LINES_IN_VALUE; [ -t 1 ] && stty size";
  const plain = await scene.run(script, { io: TERMINAL, shellSnapshot: null });
  assert.equal(scene.runs, 1);
  for (let turn = 0; turn < 2; turn++) {
    assert.deepEqual(await scene.run(script, { io: TERMINAL }), plain);
    assert.match((await scene.run("echo $PLACE")).output, /^pipe\n$/);
  }
  assert.match(plain.output, /^terminal\r\n[^]*24 80\r\n$/);
  assert.equal(scene.runs, 3, "once more for each kind of start");
});

snapshotTest("a profile that sets up the terminal runs for every terminal", async () => {
  await using scene = await SnapshotScene.open(`${NOTE_RUN}; [ -t 0 ] && stty -echo`);
  assert.match((await scene.run("stty -a", { io: TERMINAL })).output, / -echo /);
  assert.match((await scene.run("stty -a", { io: TERMINAL })).output, / -echo /);
});

snapshotTest("a state does not bring back what a policy withholds from a command", async () => {
  await using scene = await SnapshotScene.open('export COPY="[$SERVER_TOKEN]"', { env: { SERVER_TOKEN: "s3cret" } });
  const policy = { inherit: "all", exclude: [], set: {}, includeOnly: [] };
  const env = { HOME: scene.home.root };
  const script = "echo $COPY [$SERVER_TOKEN]";
  const open = await scene.run(script, { env, envPolicy: { ...policy, ignoreDefaultExcludes: true } });
  assert.equal(open.output, "[s3cret] [s3cret]\n");
  const closed = await scene.run(script, { env, envPolicy: { ...policy, ignoreDefaultExcludes: false } });
  assert.equal(closed.output, "[] []\n");
});

snapshotTest("variables that the client sets are those the profile has worked with", async () => {
  await using scene = await SnapshotScene.open('export PATH="$HOME/bin:$PATH"; export SEEN="$CHOICE"');
  for (const CHOICE of ["one", "two"]) {
    const env = { PATH: `/usr/bin:/bin:/${CHOICE}`, HOME: scene.home.root, CHOICE, CODEX_TOOL_CALL_ID: CHOICE };
    const { output } = await scene.run("echo $PATH $CHOICE $SEEN $CODEX_TOOL_CALL_ID", { env });
    assert.match(output, new RegExp(`^${scene.home.root}/bin:.* ${CHOICE} ${CHOICE} ${CHOICE}\n$`));
  }
});

snapshotTest("prepared starts, other names and other shells run as they are given", async () => {
  await using scene = await SnapshotScene.open(`${NOTE_RUN}; export FROM=profile`, {});
  const { processId, argv, cwd, env, io, shellSnapshot } = scene.params("echo $FROM");
  const stream = scene.client.follow(processId);
  const prepared = { kind: "prepared", processId, io, shellSnapshot, request: { argv, cwd, env } } as const;
  await scene.client.call("process/start", prepared);
  for await (const _ of stream);
  await scene.run("echo $FROM", { arg0: "bash" });
  const sh = { name: "sh", path: "/bin/sh" };
  await scene.home.write(".profile", NOTE_RUN);
  assert.equal((await scene.run("", { shell: sh, argv: ["/bin/sh", "-lc", "echo ok"] })).output, "ok\n");
  assert.equal(scene.runs, 3);
});

snapshotTest("unknown shells are refused in the reference's words", async () => {
  await using scene = await SnapshotScene.open("");
  const fish = { shell: { name: "fish", path: BASH } };
  await assert.rejects(scene.run("true", fish), { message: "shell snapshots are unsupported for shell `fish`" });
});

snapshotTest("a command whose profile hangs still starts, and can be ended", async () => {
  await using scene = await SnapshotScene.open('echo up > "$HOME/up"; read line < "$HOME/never"');
  const up = await Gate.make(scene.home.root, "up");
  await Gate.make(scene.home.root, "never");
  const running = scene.run("true");
  await up.readAll();
  assert.deepEqual(await scene.client.call("process/terminate", { processId: "p1" }), { running: true });
  assert.equal((await running).exitCode, 137);
});

snapshotTest("what a profile leaves running serves the commands of the session, and ends with it", async () => {
  const profile = `${NOTE_RUN}; export HELPER=$(sh -c "read line < $HOME/never" >&2 & echo $!)`;
  await using scene = await SnapshotScene.open(profile, { args: ["--detached-session-ttl-ms", "50"] });
  const never = await Gate.make(scene.home.root, "never");
  for (let turn = 0; turn < 2; turn++) assert.match((await scene.run("kill -0 $HELPER && echo alive")).output, /alive/);
  assert.deepEqual([scene.runs, processesMarked(never.path).length], [1, 1]);
  await scene.client.close();
  await until(() => processesMarked(never.path).length === 0, () => JSON.stringify(processesMarked(never.path)));
});

snapshotTest("a profile with jobs runs for every command, which has them", async () => {
  await using scene = await SnapshotScene.open(`${NOTE_RUN}; sh -c "read line < $HOME/never" >/dev/null 2>&1 &`);
  await Gate.make(scene.home.root, "never");
  for (let turn = 0; turn < 2; turn++) assert.equal((await scene.run("jobs -pr | wc -l")).output, "1\n");
  assert.equal(scene.runs, 3, "a capture in vain, and two commands");
});

for (const [end, signal] of [["its session", null], ["a server that is killed", "SIGKILL"]] as const) {
  snapshotTest(`a capture under way ends with ${end}`, async () => {
    await using scene = await SnapshotScene.open('sh -c "echo up > $HOME/up; read line < $HOME/never"', {
      args: ["--detached-session-ttl-ms", "50"],
    });
    const up = await Gate.make(scene.home.root, "up");
    const never = await Gate.make(scene.home.root, "never");
    const running = scene.run("true").catch(() => {});
    await up.readAll();
    assert.equal(processesMarked(never.path).length, 1);
    if (signal === null) await scene.client.close();
    else scene.server.kill(signal);
    await until(() => processesMarked(never.path).length === 0, () => JSON.stringify(processesMarked(never.path)));
    await running;
  });
}

snapshotTest("the state of a confined command comes from a profile that was confined as much", async () => {
  await using scene = await SnapshotScene.open(
    'export SECRET="[$(cat "$HOME/secret" 2>/dev/null)]"; echo x 2>/dev/null > "$HOME/trace" && export WROTE=yes; true',
  );
  await scene.home.write("secret", "s3cret");
  const script = "echo $SECRET $WROTE; touch made && echo made; touch ../outside 2>/dev/null || echo refused";
  const open = await scene.run(script);
  assert.equal(open.output, "[s3cret] yes\nmade\n");
  await scene.home.remove("trace");
  const fields = { sandbox: scene.sandbox(["secret"]) };
  for (let turn = 0; turn < 2; turn++) {
    assert.deepEqual(await scene.run(script, fields), { output: "[]\nmade\nrefused\n", exitCode: 0 });
  }
  assert.throws(() => Deno.statSync(scene.home.path("trace")), Deno.errors.NotFound);
}, NO_SANDBOX);

snapshotTest("confined commands share a state, also a large one", async () => {
  const functions = Array.from({ length: 300 }, (_, at) => `f${at}() { echo ${"x".repeat(700)}; }`).join("\n");
  await using scene = await SnapshotScene.open(`echo run >> "$HOME/work/runs"\n${functions}`);
  const sandbox = scene.sandbox();
  for (let turn = 0; turn < 3; turn++) {
    assert.deepEqual(await scene.run("f299 | wc -c; declare -F | wc -l", { sandbox }), {
      output: "701\n300\n",
      exitCode: 0,
    });
  }
  assert.equal(Deno.readTextFileSync(scene.home.path("work/runs")), "run\n");
}, NO_SANDBOX);
