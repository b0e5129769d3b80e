/** Signals to the caller of a program outside of the sandbox: they reach the program, and the caller waits for it. */

import assert from "node:assert/strict";
import { readStat } from "../../src/os/children/procfs.ts";
import { eventually } from "../support/recorded_child.ts";
import { SIGNAL_CODES, signalHandling } from "../support/signal_handling.ts";
import { ESCALATE, isAlive, type SceneOptions, supervisedTest } from "../support/supervised_scene.ts";

const GO = new TextEncoder().encode("go\n");
supervisedTest(
  "a program whose caller is stopped is stopped, and goes on when its caller is continued",
  async (scene) => {
    const started = Promise.withResolvers<{ caller: number; pid: number }>();
    const running = await scene.start("sleep 1000; echo after $?", {
      rules: { sleep: ESCALATE },
      onEscalated: (call, outcome) => {
        if (outcome.type === "started") started.resolve({ caller: call.pid, pid: outcome.pid });
      },
    });
    const { caller, pid } = await started.promise;
    for (let times = 0; times < 2; times++) {
      Deno.kill(caller, "SIGSTOP");
      await eventually("the program stands still", () => readStat(pid)?.state === "T");
      Deno.kill(caller, "SIGCONT");
      await eventually("the program goes on", () => readStat(pid)?.state === "S");
    }
    Deno.kill(caller, "SIGTERM");
    assert.equal((await running.outcome()).stdout, "after 143\n");
  },
);

for (const sandbox of ["read /, write ws", null]) {
  supervisedTest(
    `a program gets signals that its caller does not handle, and is waited for (${sandbox ?? "no sandbox"})`,
    async (scene) => {
      const { program, ready } = await signalHandling(scene);
      for (const [name, code] of SIGNAL_CODES) {
        const running = await scene.start(`${program} & read -r go; kill -${name} $!; wait $!; echo rc $?`, {
          sandbox,
          stdin: "open",
          strictExec: name === "USR1",
          rules: { sh: ESCALATE },
        });
        await ready();
        await running.shell.write(GO);
        const { stdout, stderr } = await running.outcome();
        assert.equal(stdout, `${name}\nrc ${code}\n`, stderr);
      }
    },
  );

  supervisedTest(
    `a program that runs in place of the shell gets its signals (${sandbox ?? "no sandbox"})`,
    async (scene) => {
      const { program, ready } = await signalHandling(scene);
      const caller = Promise.withResolvers<number>();
      const running = await scene.start(`exec ${program}`, {
        sandbox,
        rules: { sh: ESCALATE },
        onEscalated: ({ pid }) => caller.resolve(pid),
      });
      await ready();
      Deno.kill(await caller.promise, "SIGTERM");
      const { stdout, exitCode, signal } = await running.outcome();
      assert.deepEqual([stdout, exitCode, signal], ["TERM\n", 5, null]);
    },
  );
}

supervisedTest("a signal that the caller ignores does not reach the program", async (scene) => {
  const { program, ready } = await signalHandling(scene);
  const command = `trap '' HUP; ${program} & read -r go; kill -HUP $!; kill -TERM $!; wait $!; echo rc $?`;
  const running = await scene.start(command, { stdin: "open", rules: { sh: ESCALATE } });
  await ready();
  await running.shell.write(GO);
  assert.equal((await running.outcome()).stdout, "TERM\nrc 5\n");
});

supervisedTest(
  "a program that a signal ends gives its own code to the caller, even if it leaves a core",
  async (scene) => {
    const started = Promise.withResolvers<number>();
    const running = await scene.start("sh -c 'ulimit -c 0; exec sleep 1000'; echo rc $?", {
      rules: { sh: ESCALATE },
      onEscalated: ({ pid }, { type }) => {
        if (type === "started") started.resolve(pid);
      },
    });
    Deno.kill(await started.promise, "SIGQUIT");
    assert.equal((await running.outcome()).stdout, "rc 131\n");
  },
);

supervisedTest("a program ends with a caller that is killed, also while another signal waits", async (scene) => {
  const { program, ready } = await signalHandling(scene);
  const started = Promise.withResolvers<{ caller: number; pid: number }>();
  const running = await scene.start(`${program}; echo rc $?`, {
    rules: { sh: ESCALATE },
    onEscalated: (call, outcome) => {
      if (outcome.type === "started") started.resolve({ caller: call.pid, pid: outcome.pid });
    },
  });
  await ready();
  const { caller, pid } = await started.promise;
  Deno.kill(caller, "SIGSTOP");
  Deno.kill(caller, "SIGUSR2");
  Deno.kill(caller, "SIGKILL");
  assert.match((await running.outcome()).stdout, /^rc 137$/m);
  await eventually("the program has ended", () => !isAlive(pid));
  assert.equal(readStat(caller), null, "nothing is left of the caller");
});

supervisedTest(
  "a program of a caller that somebody else traces runs, and its caller's call fails then",
  async (scene) => {
    const PTRACE_TRACEME = 0;
    const python = "import ctypes, os; pid = os.fork(); pid and (os.waitpid(pid, 0), os._exit(0)); " +
      `ctypes.CDLL(None).ptrace(${PTRACE_TRACEME}, 0, 0, 0); os.execv("/bin/echo", ["echo", "outside"])`;
    // Sandboxes refuse tracing.
    const options: SceneOptions = { sandbox: null, escalate: "all", rules: { echo: ESCALATE } };
    const { stdout, stderr, escalations } = await scene.run(`python3 -c '${python}'`, options);
    assert.deepEqual([stdout, escalations.map(({ type }) => type)], ["outside\n", ["started", "exited"]]);
    assert.match(stderr, /PermissionError/);
  },
);

supervisedTest("a program runs for any thread of its caller, and ends with it", async (scene) => {
  const python = (way: string) =>
    `python3 -c '
import os, sys, threading
run = lambda: os.execv("/bin/sleep", ["sleep", "1000"])
threading.Thread(target=run if "${way}" == "other" else threading.Event().wait, daemon=True).start()
if "${way}" == "main": run()
threading.Event().wait()'; echo rc $?`;
  for (const way of ["main", "other"]) {
    for (const [signal, code] of [["SIGTERM", 143], ["SIGKILL", 137]] as const) {
      let pid = 0;
      const running = await scene.start(python(way), {
        rules: { sleep: ESCALATE },
        escalate: "all",
        onEscalated: (call, outcome) => {
          if (outcome.type !== "started") return;
          pid = outcome.pid;
          Deno.kill(call.pid, signal);
        },
      });
      assert.equal((await running.outcome()).stdout, `rc ${code}\n`, `${way} ${signal}`);
      await running.shell.terminate();
      assert.ok(!isAlive(pid), `${way} ${signal}`);
    }
  }
});
