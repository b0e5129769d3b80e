/** Every execve of a shell is decided: real shells, real sandboxes, and what each verdict does. */

import assert from "node:assert/strict";
import { ESCALATE, FORBIDDEN, isAlive, supervisedEachWay, supervisedTest } from "../support/supervised_scene.ts";

supervisedEachWay("programs of the shell, and of what it started, are asked about", async (scene, sandbox) => {
  const { stdout, calls, exitCode } = await scene.run("cd sub; env printf '%s\\n' 'a b'; (sh -c 'ls /dev/null')", {
    sandbox,
  });
  assert.equal(exitCode, 0);
  assert.equal(stdout, "a b\n/dev/null\n");
  const seen = calls.map(({ file, argv, isShell }) => [file.split("/").at(-1), argv.slice(1), isShell]);
  assert.deepEqual(seen, [
    ["env", ["printf", "%s\\n", "a b"], true],
    ["printf", ["%s\\n", "a b"], false],
    ["sh", ["-c", "ls /dev/null"], true],
    ["ls", ["/dev/null"], false],
  ]);
  assert.ok(calls.every(({ cwd }) => cwd === `${scene.ws}/sub`));
  assert.equal(calls[0]!.env.HOME, scene.ws);
});

supervisedEachWay(
  "a denied program says so on stderr and ends with 1; the script goes on",
  async (scene, sandbox) => {
    const command =
      'true; id; echo $?; python3 -c \'import os; os.execvp("id", ["id"])\'; echo $?; env id | cat; exec id';
    const { stdout, stderr, exitCode, counters } = await scene.run(command, { sandbox, rules: { id: FORBIDDEN } });
    assert.equal(stdout, "1\n1\n");
    assert.equal(stderr, "Execution denied: Execution forbidden by policy\n".repeat(4));
    assert.equal(exitCode, 1);
    assert.equal(counters.denied, 4);
  },
);

supervisedEachWay(
  "an escalated program writes outside, with the caller's input, directory and mask",
  async (scene, sandbox) => {
    const command =
      `cd sub; umask 027; echo content | tee ../../out/new > /dev/null; echo \${PIPESTATUS[1]}; exec false`;
    const rules = { tee: ESCALATE, false: ESCALATE };
    const { stdout, exitCode, escalations } = await scene.run(command, { sandbox, rules });
    assert.equal(stdout, "0\n");
    assert.equal(exitCode, 1);
    assert.equal(await Deno.readTextFile(`${scene.out}/new`), "content\n");
    assert.equal((await Deno.stat(`${scene.out}/new`)).mode! & 0o777, 0o640);
    assert.deepEqual(escalations.map(({ type }) => type), ["started", "exited", "started", "exited"]);
  },
);

supervisedTest("what is not escalated cannot write outside", async (scene) => {
  const { stderr, exitCode } = await scene.run("touch ../out/new");
  assert.match(stderr, /Read-only file system/);
  assert.equal(exitCode, 1);
});

supervisedTest(
  "with Landlock what is not escalated cannot write, and what it cannot express is refused",
  async (scene) => {
    const { stderr, exitCode } = await scene.run("touch ../out/new", { sandbox: "read /" });
    assert.match(stderr, /Permission denied/);
    assert.equal(exitCode, 1);
    await assert.rejects(scene.run("true"), /Landlock cannot express the policy: /);
  },
  { setting: "landlock" },
);

supervisedTest("a program that the shell started cannot leave the sandbox, unless all may", async (scene) => {
  const rules = { touch: ESCALATE };
  const nested = await scene.run("env touch ../out/a; bash -c 'touch ../out/b'", { rules });
  assert.match(nested.stderr, /a'?: Read-only[^]*b'?: Read-only/);
  assert.equal(nested.counters.escalated, 0);
  const all = await scene.run("env touch ../out/a; bash -c 'touch ../out/b'", { rules, escalate: "all" });
  assert.equal(all.stderr, "");
  assert.equal(all.counters.escalated, 2);
  assert.ok((await Deno.stat(`${scene.out}/b`)).isFile);
});

supervisedTest(
  "copies of the shell are the shell: subshells, pipelines, functions, background jobs, substitutions",
  async (scene) => {
    const command = "(id -u); id -u | cat; f() { id -u; }; f; id -u & wait; echo $(id -u)";
    const { calls, counters } = await scene.run(command, { rules: { id: ESCALATE } });
    const asked = calls.filter(({ file }) => file.endsWith("/id"));
    assert.equal(asked.length, 5);
    assert.ok(asked.every(({ isShell }) => isShell));
    assert.equal(counters.escalated, 5);
  },
);

supervisedTest("with interception of the shell alone, what its programs run is not asked about", async (scene) => {
  const { calls, stdout } = await scene.run("env id -u; id -u", { intercept: "shell", rules: { id: FORBIDDEN } });
  assert.deepEqual(calls.map(({ file }) => file), ["/usr/bin/env", "/usr/bin/id"]);
  assert.equal(stdout, `${Deno.uid()}\n`);
});

supervisedTest(
  "bash's own fallbacks stay: 127 for a missing program, 126 for one that is not executable, scripts without #!",
  async (scene) => {
    await Deno.writeTextFile(`${scene.ws}/script`, "echo script $1\n", { mode: 0o755 });
    const { stdout } = await scene.run("nothing; echo $?; ./in.txt; echo $?; ./script a");
    assert.equal(stdout, "127\n126\nscript a\n");
  },
);

supervisedTest("the path is judged as it was named: relative, with dots, through links", async (scene) => {
  await Deno.copyFile("/usr/bin/true", `${scene.ws}/sub/prog`);
  await Deno.symlink("sub/prog", `${scene.ws}/link`);
  const { calls, exitCode } = await scene.run("set -e; ./sub/../sub/./prog; cd sub; ../link; PATH=. prog");
  assert.equal(exitCode, 0);
  assert.deepEqual(calls.map(({ file }) => file), [
    `${scene.ws}/sub/prog`,
    `${scene.ws}/link`,
    `${scene.ws}/sub/prog`,
  ]);
});

supervisedTest("arguments and environment of any length and any bytes arrive whole", async (scene) => {
  const python = `import os; a = b"x" * 120000; ` +
    `os.execve("/usr/bin/md5sum", [b"md5sum", b"--", b"\\xff\\xfe"] + [a] * 8, {b"BIG": a, b"A": b"\\xff"})`;
  const { calls } = await scene.run(`python3 -c '${python}'`);
  const { argv, env } = calls[1]!;
  assert.deepEqual(argv.map(({ length }) => length), [6, 2, 2, ...Array(8).fill(120_000)]);
  assert.equal(argv[2], "\ufffd\ufffd");
  assert.equal(env.BIG!.length, 120_000);
});

supervisedTest("an escalated program gets bytes that are not text unchanged", async (scene) => {
  const { stdout } = await scene.run("printf '%s' $'\\xff\\xfe'; /usr/bin/printf '%s' $'\\xff' | od -An -tx1", {
    rules: { printf: ESCALATE },
  });
  assert.match(stdout, / ff\n$/);
});

supervisedTest(
  "the environment of an escalated program: the caller's, without the list, with the server's HOME, and PATH outside of the workspace",
  async (scene) => {
    const command =
      "export KEPT=1 LD_PRELOAD= GIT_DIR=x PYTHONPATH=x BASH_ENV=x PAGER=x MANPAGER=x PATH=/usr/bin:/x; env | sort";
    const { stdout } = await scene.run(command, { rules: { env: ESCALATE } });
    const names = stdout.trim().split("\n").map((line) => line.split("=")[0]);
    for (const name of ["LD_PRELOAD", "GIT_DIR", "PYTHONPATH", "BASH_ENV", "PAGER", "MANPAGER"]) {
      assert.ok(!names.includes(name), name);
    }
    assert.match(stdout, /^KEPT=1$/m);
    assert.match(stdout, /^PATH=\/usr\/bin:\/bin$/m);
    assert.match(stdout, /^HOME=\/nowhere$/m);
    assert.match(stdout, /^XDG_CONFIG_HOME=\/nowhere\/config$/m);
  },
);

supervisedTest(
  "an escalated program has the caller's limits, and a signal that ends it becomes 128 and its number",
  async (scene) => {
    const command = "ulimit -n 77; bash -c 'ulimit -n; kill -9 $$'; echo $?";
    const { stdout } = await scene.run(command, { rules: { bash: ESCALATE } });
    assert.equal(stdout, "77\n137\n");
  },
);

supervisedTest("descriptors beyond the first three are passed on only when the verdict says so", async (scene) => {
  const command = "exec 5> got; sh -c 'echo five >&5'; echo $?; cat got";
  const kept = await scene.run(command, { rules: { sh: ESCALATE } });
  assert.match(kept.stdout, /^2\n/);
  const passed = await scene.run(command, { rules: { sh: { kind: "escalate", passFds: true } } });
  assert.equal(passed.stdout, "0\nfive\n");
});

supervisedTest("a signal that the caller handles is passed on to the escalated program", async (scene) => {
  const python =
    "import os, signal; signal.signal(signal.SIGUSR1, print); os.execv('/usr/bin/sleep', ['sleep', '1000'])";
  const running = await scene.start(`python3 -c "${python}"; echo after $?`, {
    rules: { sleep: ESCALATE },
    escalate: "all",
    onEscalated: (call, outcome) => {
      if (outcome.type === "started") Deno.kill(call.pid, "SIGUSR1");
    },
  });
  assert.equal((await running.outcome()).stdout, "after 138\n");
});

supervisedTest("a signal that ends the caller ends the escalated program", async (scene) => {
  let pid = 0;
  const running = await scene.start("sleep 1000; echo after $?", {
    rules: { sleep: ESCALATE },
    onEscalated: (call, outcome) => {
      if (outcome.type !== "started") return;
      pid = outcome.pid;
      Deno.kill(call.pid, "SIGTERM");
    },
  });
  assert.equal((await running.outcome()).stdout, "after 143\n");
  await running.shell.terminate();
  assert.ok(!isAlive(pid));
});

supervisedTest("an escalated program ends with its caller, and with the shell", async (scene) => {
  const started = Promise.withResolvers<number>();
  const running = await scene.start("sleep 1000", {
    rules: { sleep: ESCALATE },
    onEscalated: (_, outcome) => {
      if (outcome.type === "started") started.resolve(outcome.pid);
    },
  });
  const pid = await started.promise;
  assert.ok(isAlive(pid));
  await running.shell.terminate();
  assert.ok(!isAlive(pid));
});

supervisedTest("the judge is told when nobody waits for its decision any more", async (scene) => {
  const asked = Promise.withResolvers<number>();
  const aborted = Promise.withResolvers<void>();
  const running = await scene.start("id; echo after $?", {
    decide: ({ pid }, signal) => {
      asked.resolve(pid);
      signal.addEventListener("abort", () => aborted.resolve());
      return new Promise(() => {});
    },
  });
  Deno.kill(await asked.promise, "SIGKILL");
  await aborted.promise;
  assert.match((await running.outcome()).stdout, /after 137/);
});

supervisedTest("a judge that fails denies, without telling the caller why", async (scene) => {
  const error = new Error("secret");
  const thrower = () => {
    throw error;
  };
  for (const decide of [() => Promise.reject(error), thrower]) {
    const { stderr, exitCode } = await scene.run("id", { decide });
    assert.equal(stderr, "Execution denied\n");
    assert.equal(exitCode, 1);
  }
});

supervisedTest("standard input, and output in the order written", async (scene) => {
  const running = await scene.start("cat; echo err >&2; echo out; echo err >&2", { stdin: "open", output: "merged" });
  await running.shell.write(new TextEncoder().encode("typed\n"));
  running.shell.closeStdin();
  assert.equal((await running.outcome()).stdout, "typed\nerr\nout\nerr\n");
});

supervisedTest(
  "strict supervision runs programs and scripts like any other, and fails what the kernel fails",
  async (scene) => {
    await Deno.writeTextFile(`${scene.ws}/script`, "#!/bin/sh -e\necho script $1\n", { mode: 0o755 });
    await Deno.writeTextFile(`${scene.ws}/odd`, "#!/nowhere/interpreter\n", { mode: 0o755 });
    const command = "./script a; PATH=.:$PATH script b; ./odd || echo failed; id -u";
    const { stdout, counters } = await scene.run(command, { strictExec: true });
    assert.equal(stdout, `script a\nscript b\nfailed\n${Deno.uid()}\n`);
    assert.equal(counters.mismatched, 0);
  },
);

supervisedTest("a program that runs itself, or an open file, by what /proc calls it runs inside", async (scene) => {
  await Deno.writeTextFile(`${scene.ws}/script`, "#!/bin/sh\necho script\n", { mode: 0o755 });
  await Deno.symlink("/proc/self/exe", `${scene.ws}/self`);
  const python = "import os; os.execv('/proc/self/exe', ['python3', '-c', 'print(1)'])";
  const { stdout } = await scene.run(`python3 -c "${python}"; ./self -c 'echo 2'; exec 7< script; /dev/fd/7`);
  assert.equal(stdout, "1\n2\nscript\n");
});

supervisedTest(
  "if the kernel gives no listener, because there is one already, nothing runs and the reason is given",
  async (scene) => {
    const fixture = new URL("../fixtures/supervision_obstacle.ts", import.meta.url).pathname;
    const config = new URL("../../deno.json", import.meta.url).pathname;
    const { stdout } = await scene.run(`${Deno.execPath()} run --no-check -A --config ${config} ${fixture}`, {
      sandbox: null,
      env: { ...Deno.env.toObject(), NO_COLOR: "1" },
    });
    const [obstacle, refusal] = stdout.split("\n");
    assert.match(obstacle!, /cannot supervise the programs it starts: Device or resource busy/);
    const advice = "a patched Bash (--bash) needs no supervision";
    assert.equal(refusal, `Cannot supervise the shell's programs: ${obstacle}; ${advice}`);
    assert.doesNotMatch(stdout, /something ran/);
  },
);
