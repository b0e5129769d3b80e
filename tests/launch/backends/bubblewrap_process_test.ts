/** How a sandboxed process starts, is signalled and ends, tried for real. */

import assert from "node:assert/strict";
import { shell, startPlan } from "../run_plan.ts";
import { type Box, isMissing, sandboxTest, TOOL } from "../sandboxed.ts";

const SIGHUP = 1;
const SIGINT = 2;
const SIGKILL = 9;
const SIGTERM = 15;

const bash = (args: string[], cwd: string) => ({ ...shell("", cwd), program: "/bin/bash", argv: ["bash", ...args] });

sandboxTest("exit codes pass through, signals become 128 and their number", async (box) => {
  for (
    const [script, code] of [["exit 0", 0], ["exit 7", 7], ["exit 126", 126], ["kill -TERM $$", 143], [
      "kill -9 $$",
      137,
    ]] as const
  ) {
    const run = await box.run("read /", script);
    assert.deepEqual({ code: run.code, report: run.report }, { code, report: { type: "executed" } }, script);
  }
});

sandboxTest("the program gets its name, arguments and directory", async (box) => {
  const command = {
    ...shell("", `${box.root}/ws`),
    argv: ["zed", "-c", 'tr "\\0" "|" < /proc/$$/cmdline; echo; pwd', "x", "", "y z"],
  };
  const { stdout } = await box.runCommand("read /", command);
  assert.match(stdout, /^zed\|-c\|tr .*\|x\|\|y z\|\n/);
  assert.equal(stdout.slice(stdout.indexOf("\n") + 1), `${box.root}/ws\n`);
});

sandboxTest("the program gets its environment, and PWD on top", async (box) => {
  const env = { PATH: "/usr/bin:/bin", EMPTY: "", "with space": "a=b\nc", LC_ALL: "C", "ü": "ß" };
  const command = { program: "/usr/bin/env", argv: ["env", "-0"], env, cwd: `${box.root}/ws` };
  const { stdout } = await box.runCommand("read /", command);
  const seen = Object.fromEntries(
    stdout.split("\0").filter((line) => line !== "").map((line) => {
      const equals = line.indexOf("=");
      return [line.slice(0, equals), line.slice(equals + 1)];
    }),
  );
  assert.deepEqual(seen, { ...env, PWD: `${box.root}/ws` });
});

sandboxTest("the program has only standard descriptors, and no signal blocked or ignored", async (box) => {
  const policy = "read /, write ws, read ws/a/b";
  const status = {
    program: "/bin/grep",
    argv: ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"],
    env: {},
    cwd: "/",
  };
  const { stdout } = await box.runCommand(policy, status);
  assert.match(stdout, /SigBlk:\s*0000000000000000/);
  // The C library leaves 32 and 33 as they were, for itself.
  assert.equal(BigInt(`0x${/SigIgn:\s*(\w+)/.exec(stdout)![1]}`) & 0x7fffffffn, 0n, stdout);
  const list = await box.runCommand(policy, { program: "/bin/ls", argv: ["ls", "/proc/self/fd"], env: {}, cwd: "/" });
  assert.deepEqual(list.stdout.trim().split("\n"), ["0", "1", "2", "3"]); // the last is ls itself, looking
});

sandboxTest("standard input arrives", async (box) => {
  const run = await box.start("read /", "head -c 3", { stdin: "open" });
  run.write("abcdef");
  assert.equal((await run.finished()).stdout, "abc");
});

sandboxTest("a program that cannot be executed is distinguished from a sandbox that cannot be set up", async (box) => {
  const missing = await box.runCommand("read /", { ...shell(""), program: "/no/such/program" });
  assert.deepEqual(missing, { code: 126, stdout: "", stderr: "", report: { type: "notExecuted", errno: 2 } });
  const forbidden = await box.runCommand("read /", { ...shell(""), program: `${box.root}/ws/in.txt` });
  assert.deepEqual(forbidden.report, { type: "notExecuted", errno: 13 });
  const noDirectory = await box.runCommand("read /", shell("echo ran", "/no/such/directory"));
  assert.deepEqual(noDirectory.report, { type: "notConfined", failure: "set up the sandbox", errno: null });
  assert.equal(noDirectory.stdout, "");
  assert.match(noDirectory.stderr, /^bwrap: Can't chdir to \/no\/such\/directory/);
});

sandboxTest("a root that was replaced by a link after the policy was made is not mounted", async (box) => {
  const { plan, release } = await box.prepare("read /, write two", shell("touch two/x", box.root));
  release();
  await Deno.remove(`${box.root}/two`, { recursive: true });
  await Deno.symlink("out", `${box.root}/two`);
  await assert.rejects(startPlan(plan!), /-40/);
  assert.deepEqual([...Deno.readDirSync(`${box.root}/out`)].map(({ name }) => name).sort(), ["h.txt", "o.txt", "w"]);
}, { because: TOOL?.bindsDescriptors === false && "bubblewrap cannot bind descriptors" });

sandboxTest("the command's environment does not reach the wrapper", async (box) => {
  // The loader complains of a library that it cannot load, once for each program it loads.
  const command = { ...shell("exit 0"), env: { LD_PRELOAD: "/no/such/library.so" } };
  const { stderr } = await box.runCommand("read /", command);
  assert.equal(stderr.match(/cannot be preloaded/g)?.length, 1, stderr);
});

sandboxTest("an interrupt of the group reaches the program, and not the wrapper", async (box) => {
  for (const [signal, name] of [[SIGINT, "INT"], [SIGTERM, "TERM"], [SIGHUP, "HUP"]] as const) {
    const trapped = await box.start(
      "read /",
      `trap 'echo caught; exit 7' ${name}; echo ready; while :; do sleep 0.05; done`,
    );
    await trapped.seen("ready");
    trapped.signal(signal);
    const run = await trapped.finished();
    assert.deepEqual([run.code, run.stdout], [7, "ready\ncaught\n"]);
    const plain = await box.startCommand("read /", bash(["-c", "echo ready; sleep 60"], "/"));
    await plain.seen("ready");
    plain.signal(signal);
    assert.equal((await plain.finished()).code, 128 + signal);
  }
});

sandboxTest("killing the group ends everything inside, also what has left the group", async (box) => {
  const mark = `6${Deno.pid}.${Math.floor(performance.now())}`;
  const run = await box.start(
    "read /",
    `setsid sleep ${mark} & (setsid nohup sleep ${mark} >/dev/null 2>&1 &); echo up; sleep ${mark}`,
  );
  await run.seen("up");
  while (countSleeping(mark) < 3) await new Promise((resolve) => setTimeout(resolve, 5));
  run.signal(SIGKILL);
  assert.equal((await run.finished()).code, -SIGKILL);
  while (countSleeping(mark) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
});

sandboxTest("when the program ends, whatever it left behind ends with it", async (box) => {
  const mark = `7${Deno.pid}.${Math.floor(performance.now())}`;
  const { code } = await box.run("read /", `setsid nohup sleep ${mark} >/dev/null 2>&1 & exit 3`);
  assert.equal(code, 3);
  assert.equal(countSleeping(mark), 0);
});

sandboxTest("when the server dies, everything inside dies", async (box) => {
  const mark = `8${Deno.pid}.${Math.floor(performance.now())}`;
  const script = new URL("../start_and_wait.ts", import.meta.url).pathname;
  const server = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "-P=serve", "--no-check", script, box.root, `echo up; sleep ${mark}`],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const reader = server.stdout.getReader();
  assert.equal(new TextDecoder().decode((await reader.read()).value).trim(), "up");
  await untilSleeping(mark);
  server.kill("SIGKILL");
  await server.status;
  await reader.cancel();
  while (countSleeping(mark) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
});

function countSleeping(mark: string): number {
  let count = 0;
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (Deno.readTextFileSync(`/proc/${name}/cmdline`) === `sleep\0${mark}\0`) count++;
    } catch {
      // It ended while we looked.
    }
  }
  return count;
}

async function onTerminal(box: Box, args: string[]) {
  return await box.startCommand("read /, write ws", bash(args, `${box.root}/ws`), { terminal: true });
}

sandboxTest("on a terminal: its size is known, and typing an interrupt runs the program's own handler", async (box) => {
  const run = await onTerminal(box, [
    "-c",
    "stty size; trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.05; done",
  ]);
  await run.seen("ready");
  run.write("\x03");
  const { code, stdout } = await run.finished();
  assert.equal(code, 7);
  assert.match(stdout, /^24 80\r\nready\r\n\^Ccaught\r\n$/);
});

sandboxTest("on a terminal: typing an interrupt ends a program that does not handle it", async (box) => {
  const run = await onTerminal(box, ["-c", "echo ready; exec sleep 60"]);
  await run.seen("ready");
  run.write("\x03");
  assert.equal((await run.finished()).code, 130);
});

sandboxTest("on a terminal: a shell has job control", async (box) => {
  const mark = (index: number) => `9${Deno.pid}.${index}`;
  const run = await onTerminal(box, ["--norc", "--noprofile", "-i"]);
  // Typed in two halves, so that only the command's own output matches.
  run.write("PS1=; echo re''ady\n");
  await run.seen("\nready");
  run.write(`sleep ${mark(1)}\n`);
  await untilSleeping(mark(1));
  run.write("\x03");
  run.write("echo inter''rupted\n");
  await run.seen("\ninterrupted");
  run.write(`sleep ${mark(2)}\n`);
  await untilSleeping(mark(2));
  run.write("\x1a");
  await run.seen("Stopped");
  run.write("bg; kill %1; wait; echo back''ground\n");
  await run.seen("\nbackground");
  run.write("exit 5\n");
  const { code, stdout } = await run.finished();
  assert.equal(code, 5, stdout);
  assert.doesNotMatch(stdout, /no job control|cannot set terminal process group/);
});

/** Until a program has really been started by a shell that only echoes what is typed. */
async function untilSleeping(mark: string): Promise<void> {
  while (countSleeping(mark) === 0) await new Promise((resolve) => setTimeout(resolve, 5));
}

sandboxTest("on a terminal: nothing can be typed on the program's behalf", async (box) => {
  const script =
    "import fcntl, sys\ntry:\n fcntl.ioctl(0, 0x5412, b'x')\n print('typed')\nexcept OSError as error:\n print(error.errno)";
  const command = { program: "/usr/bin/python3", argv: ["python3", "-c", script], env: { PATH: "/usr/bin" }, cwd: "/" };
  const run = await box.startCommand("read /", command, { terminal: true });
  assert.equal((await run.finished()).stdout, "1\r\n");
}, { because: isMissing("/usr/bin/python3") });
