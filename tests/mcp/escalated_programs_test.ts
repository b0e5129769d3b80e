/** Programs outside of the sandbox: where they run, what reaches them, and that nothing of them outlives its command. */

import assert from "node:assert/strict";
import { Gate } from "../support/gate.ts";
import {
  ESCALATE,
  isAlive,
  type SceneOptions,
  type SupervisedScene,
  supervisedTest,
} from "../support/supervised_scene.ts";

const CHANGER = new URL("../fixtures/changing_exec.py", import.meta.url).pathname;

/** A command that changes what it asked for while `program` is being decided, and when to answer. */
async function changing(
  scene: SupervisedScene,
  words: { readonly what: "directory" | "argument"; readonly program: string; readonly change: [string, string] },
): Promise<{ command: string; changed: () => Promise<void> }> {
  const [go, done] = [await Gate.make(scene.ws, "go"), await Gate.make(scene.ws, "done")];
  const command = ["python3", CHANGER, words.what, go.path, done.path, words.program, ...words.change].join(" ");
  const changed = async () => {
    await go.open();
    await done.readAll();
  };
  return { command, changed };
}

supervisedTest(
  "a program whose caller changes its directory during the decision does not leave the sandbox",
  async (scene) => {
    const { command, changed } = await changing(scene, {
      what: "directory",
      program: "/usr/bin/pwd",
      change: [scene.ws, "/usr/lib"],
    });
    const { stdout, stderr, escalations, calls } = await scene.run(command, {
      escalate: "all",
      decide: async ({ file }) => {
        if (!file.endsWith("/pwd")) return { kind: "run" };
        await changed();
        return ESCALATE;
      },
    });
    assert.equal(calls.at(-1)!.cwd, scene.ws);
    const reason = `its working directory is no longer ${scene.ws}`;
    assert.equal(stdout, "");
    assert.equal(stderr, `Execution denied: cannot leave the sandbox: ${reason}\n`);
    assert.deepEqual(escalations, [{ type: "refused", reason }]);
  },
);

supervisedTest("a program whose directory is moved during the decision does not leave the sandbox", async (scene) => {
  const { stdout, stderr } = await scene.run("cd sub; /usr/bin/pwd", {
    decide: async () => {
      await Deno.rename(`${scene.ws}/sub`, `${scene.ws}/moved`);
      await Deno.mkdir(`${scene.ws}/sub`);
      return ESCALATE;
    },
  });
  assert.equal(stdout, "");
  assert.match(stderr, /its working directory is no longer .*\/ws\/sub/);
});

supervisedTest("no library of the caller's choice is loaded into an escalated program", async (scene) => {
  const command = "export LD_PRELOAD=$PWD/evil.so LD_LIBRARY_PATH=$PWD LD_AUDIT=$PWD/evil.so LD_DEBUG=libs; exec env";
  const inside = await scene.run(command, { env: {} });
  assert.match(inside.stderr, /evil\.so/, "it would have been tried");
  const { stdout, stderr } = await scene.run(command, { env: {}, rules: { env: ESCALATE } });
  assert.equal(stderr, "");
  assert.doesNotMatch(stdout, /^LD_/m);
});

/** An escalated `sh` that ends, and leaves a daemon that has told its pid at the gate. */
async function leaving(scene: SupervisedScene): Promise<{ command: string; daemon: Promise<number> }> {
  const gate = await Gate.make(scene.out, "gate");
  const daemon = `setsid -f sh -c "echo \\$\\$ >&3; exec 3>&-; exec sleep 1000"`;
  const command = `sh -c '${daemon} 3> ${gate.path} > /dev/null 2>&1 < /dev/null'`;
  return { command, daemon: gate.readAll().then(Number) };
}

const LEAVES: SceneOptions = { rules: { sh: ESCALATE } };

supervisedTest("what an escalated program has left running ends when its command ends", async (scene) => {
  const { command, daemon } = await leaving(scene);
  const running = await scene.start(`${command}; echo after $?`, LEAVES);
  const pid = await daemon;
  assert.equal((await running.outcome()).stdout, "after 0\n");
  assert.ok(isAlive(pid));
  await running.shell.terminate();
  assert.ok(!isAlive(pid));
});

for (const sandbox of ["read /, write ws", null]) {
  supervisedTest(
    `what an escalated program has left running ends when its command is stopped (${sandbox ?? "no sandbox"})`,
    async (scene) => {
      const { command, daemon } = await leaving(scene);
      const isOver = Promise.withResolvers<void>();
      const running = await scene.start(`${command}; sleep 1000`, {
        ...LEAVES,
        sandbox,
        onEscalated: (_, { type }) => {
          if (type === "exited") isOver.resolve();
        },
      });
      const pid = await daemon;
      await isOver.promise;
      assert.ok(isAlive(pid));
      await running.shell.terminate();
      assert.ok(!isAlive(pid));
    },
  );
}

supervisedTest(
  "what a program has left running is not forgotten, however many leave nothing after it",
  async (scene) => {
    const { command, daemon } = await leaving(scene);
    const many = "for i in {1..300}; do /bin/true; done";
    const running = await scene.start(`${command}; ${many}`, { rules: { sh: ESCALATE, true: ESCALATE } });
    const pid = await daemon;
    assert.equal((await running.outcome()).counters.escalated, 301);
    await running.shell.terminate();
    assert.ok(!isAlive(pid));
  },
);

supervisedTest("the end of a program that has left is reported even if its caller was gone first", async (scene) => {
  const seen: string[] = [];
  const over = Promise.withResolvers<void>();
  const running = await scene.start("sleep 1000; echo after $?", {
    rules: { sleep: ESCALATE },
    onEscalated: (call, { type }) => {
      seen.push(type);
      if (type === "started") Deno.kill(call.pid, "SIGKILL");
      else over.resolve();
    },
  });
  await running.outcome();
  await over.promise;
  assert.deepEqual(seen, ["started", "abandoned"]);
});

supervisedTest(
  "with strict supervision a program that differs from what was decided is told to be killed",
  async (scene) => {
    const { command, changed } = await changing(scene, {
      what: "argument",
      program: "/usr/bin/printf",
      change: ["decided", "another"],
    });
    const ends: unknown[] = [];
    const { stdout, counters } = await scene.run(command, {
      strictExec: true,
      decide: async ({ file }) => {
        if (file.endsWith("/printf")) await changed();
        return { kind: "run" };
      },
      onStrictEnd: ({ file, argv }, end) => void ends.push([file, argv[1], end]),
    });
    assert.deepEqual([stdout, counters.mismatched], ["", 1]);
    assert.deepEqual(ends, [["/usr/bin/printf", "decided", "killed"]]);
  },
);

supervisedTest("with strict supervision a caller that somebody else traces is told to be refused", async (scene) => {
  const PTRACE_TRACEME = 0;
  const python = "import ctypes, os; pid = os.fork(); pid and (os.waitpid(pid, 0), os._exit(0)); " +
    `ctypes.CDLL(None).ptrace(${PTRACE_TRACEME}, 0, 0, 0); os.execv("/usr/bin/id", ["id"])`;
  const ends: unknown[] = [];
  const { stdout, stderr } = await scene.run(`python3 -c '${python}'`, {
    // Sandboxes refuse tracing.
    sandbox: null,
    strictExec: true,
    onStrictEnd: ({ file }, end) => void ends.push([file, end]),
  });
  assert.equal(stdout, "");
  assert.match(stderr, /PermissionError/);
  assert.deepEqual(ends, [["/usr/bin/id", "refused"]]);
});

for (const patchedBash of [undefined, { bash: "/bin/bash" }]) {
  const ask = patchedBash === undefined ? (program: string) => program : (program: string) => {
    return `"$BASH_EXEC_WRAPPER" ${program} touch`;
  };
  const shells = patchedBash === undefined ? "" : "wrapper, ";

  for (const sandbox of ["external", null] as const) {
    const name = `${shells}${sandbox ?? "no sandbox"}`;
    supervisedTest(`${name}: an allowed program leaves, and later calls are as they were`, async (scene) => {
      await Deno.writeTextFile(`${scene.ws}/touch`, `#!/bin/sh\n: > ${scene.out}/own\n`, { mode: 0o755 });
      const options = { rules: { touch: ESCALATE }, ...(patchedBash && { patchedBash }) };
      const { stderr, counters } = await scene.run(`${ask("/usr/bin/touch")} x; ${ask("./touch")} x`, {
        ...options,
        sandbox,
      });
      assert.deepEqual([counters.escalated, counters.refused], [2, 0], stderr);
      assert.ok((await Deno.stat(`${scene.out}/own`)).isFile);
      const later = await scene.run(`${ask("/usr/bin/touch")} ../out/later`, { ...options, sandbox: "read /" });
      assert.equal(later.counters.refused, 0, later.stderr);
      assert.ok((await Deno.stat(`${scene.out}/later`)).isFile);
    });
  }

  supervisedTest(
    `${shells}it can be known before a decision which programs would be refused outside`,
    async (scene) => {
      await Deno.writeTextFile(`${scene.ws}/touch`, "#!/bin/sh\n", { mode: 0o755 });
      const reasons: (string | null | undefined)[] = [];
      await scene.run(`${ask("./touch")} x; ${ask("/usr/bin/touch")} ../out/x`, {
        ...(patchedBash && { patchedBash }),
        decide: async (call) => {
          reasons.push(await call.whyItStays?.(false), await call.whyItStays?.(true));
          return { kind: "run" };
        },
      });
      assert.match(
        reasons[0] ?? "",
        /ws can be written from inside the sandbox; a rule for this exact path would allow it/,
      );
      assert.deepEqual(reasons.slice(1), [null, null, null]);
    },
  );

  const as = (name: string, program: string, args: string) => {
    const word = `'${name}'`;
    if (patchedBash !== undefined) return `"$BASH_EXEC_WRAPPER" ${program} ${word} ${args}`;
    return `(exec -a ${word} ${program} ${args})`;
  };
  const way: SceneOptions = patchedBash === undefined ? {} : { patchedBash };

  const OTHER_NAMES = ["git-init", "", "-", "/usr/bin/", "--touch", "sub/touch/", "/usr/bin/git-touch"];
  const touches = OTHER_NAMES.map((name, at) => `${as(name, "/usr/bin/touch", `../out/${at}`)}; echo $?`).join("; ");

  // A patched Bash sends no reliable name.
  if (patchedBash !== undefined) {
    supervisedTest(`${shells}a program that is called under another name leaves under its own`, async (scene) => {
      const { stdout, escalations, calls } = await scene.run(touches, { ...way, rules: { touch: ESCALATE } });
      assert.equal(stdout, "0\n".repeat(OTHER_NAMES.length));
      assert.ok(escalations.every(({ type }) => type === "started" || type === "exited"), JSON.stringify(escalations));
      assert.deepEqual(calls.map(({ argv }) => argv), OTHER_NAMES.map((_, at) => ["touch", `../out/${at}`]));
      const named = await scene.run(as("other", "/bin/bash", "-c 'echo $0'"), { ...way, rules: { bash: ESCALATE } });
      assert.equal(named.stdout, "bash\n");
    });
  } else {
    supervisedTest(
      "a program that is called under another name does not leave, and that is known before",
      async (scene) => {
        const known: (string | null | undefined)[] = [];
        const { stdout, stderr, escalations, counters } = await scene.run(touches, {
          decide: async (call) => {
            known.push(await call.whyItStays?.(false), await call.whyItStays?.(true));
            return { kind: "escalate", pathIsNamed: true };
          },
        });
        const reason = "it was called under another name than touch, and what it does may depend on that";
        assert.deepEqual(known, OTHER_NAMES.flatMap(() => [reason, reason]));
        assert.deepEqual(escalations, OTHER_NAMES.map(() => ({ type: "refused", reason })));
        assert.deepEqual([stdout, counters.refused], ["1\n".repeat(OTHER_NAMES.length), OTHER_NAMES.length]);
        assert.equal(stderr, `Execution denied: cannot leave the sandbox: ${reason}\n`.repeat(OTHER_NAMES.length));
        assert.deepEqual(Array.from(Deno.readDirSync(scene.out), ({ name }) => name), ["o.txt"]);
      },
    );
  }

  supervisedTest(`${shells}a program leaves under its own name, of which its file has the directory`, async (scene) => {
    const told = async (name: string, sandbox: string | null = "read /, write ws") => {
      const command = as(name, "/bin/bash", "-c 'echo $0; : > ../out/left'");
      const { stdout, stderr } = await scene.run(command, { ...way, sandbox, rules: { bash: ESCALATE } });
      await Deno.remove(`${scene.out}/left`).catch(() => assert.fail(`${name}: ${stderr}`));
      // What a login shell's start-up files print.
      return stdout.trimEnd().split("\n").at(-1);
    };
    for (const name of ["bash", "-bash", "/bin/bash", "-/bin/bash"]) assert.equal(await told(name), name);
    // Some programs look for their parts beside the file that they are told: a caller's would run outside.
    for (const name of ["./bash", `${scene.ws}/sub/bash`, "/proc/self/cwd/bash", "sub/../bash"]) {
      assert.equal(await told(name), "/bin/bash", name);
    }
    // There is nothing to leave.
    assert.equal(await told("other", null), "other");
  });
}
