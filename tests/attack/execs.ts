/**
 * Attacks on the decisions about programs: to run something outside of the sandbox that no rule allowed, or to run
 * something at all that was not asked about.
 *
 * Races, and what thousands of programs leave behind, are long proofs: `tests/prove/execs.ts`.
 */

import assert from "node:assert/strict";
import type { ExecCall, ExecVerdict } from "../../src/mcp/supervised_shell.ts";
import {
  ESCALATE,
  FORBIDDEN,
  type SceneOptions,
  type SupervisedScene,
  supervisedTest,
  type WatchTestOptions,
} from "../support/supervised_scene.ts";
import { until } from "../support/until.ts";
import { IS_ROOT } from "./scene.ts";

const USER = IS_ROOT ? "root" : "unprivileged";
const MEMORY_WRITER = new URL("../fixtures/memory_writer.py", import.meta.url).pathname;
const TRACER = new URL("../fixtures/tracing_caller.py", import.meta.url).pathname;
const PYTHON = "/usr/bin/python3";

function attack(name: string, fn: (scene: SupervisedScene) => Promise<void>, options: WatchTestOptions = {}): void {
  supervisedTest(`${USER}, programs: ${name}`, fn, options);
}

/** In a sandbox that is made for its command, and in one that was made before. */
function attackBoth(name: string, fn: (scene: SupervisedScene, sandbox: string) => Promise<void>): void {
  for (const sandbox of ["read /, write ws", "read /"]) attack(`${name} (${sandbox})`, (scene) => fn(scene, sandbox));
}

/** The same, and where there are no namespaces. */
function attackEach(name: string, fn: (scene: SupervisedScene, sandbox: string) => Promise<void>): void {
  attackBoth(name, fn);
  attack(`${name} (landlock)`, (scene) => fn(scene, "read /"), { setting: "landlock" });
}

/** Anything that is named `touch`, as a rule for the bare name would say. */
const TOUCH_IS_ALLOWED: SceneOptions = { rules: { touch: ESCALATE, evil: ESCALATE, exe: ESCALATE } };

/** A program of the attacker's: if it runs outside, there is a file in `out` that nobody else makes. */
async function layEvil(scene: SupervisedScene, name = "touch"): Promise<void> {
  await Deno.writeTextFile(`${scene.ws}/${name}`, `#!/bin/sh\n: > ${scene.out}/WIN\n`, { mode: 0o755 });
}

function hasWon(scene: SupervisedScene): boolean {
  return Array.from(Deno.readDirSync(scene.out)).some(({ name }) => name === "WIN");
}

/** Ways to have one's own program taken for the allowed one. */
const DISGUISES: Readonly<Record<string, string>> = {
  "first on PATH": "PATH=$PWD:$PATH; touch x",
  "first on PATH by an empty entry": "PATH=:$PATH; touch x",
  "by a relative path": "./touch x; sub/../touch x; cd sub; ../touch x",
  "by an absolute path": '"$PWD"/touch x; "$PWD"/sub/../../ws/./touch x',
  "copied": "mkdir bin; cp touch bin/touch; bin/touch x",
  "as another name of the file": "mkdir bin; ln touch bin/touch; bin/touch x",
  "behind a link": "mkdir bin; ln -s ../touch bin/touch; bin/touch x; ln -s bin more; more/touch x",
  "a link to the real one, swapped in time or not": "mkdir bin; ln -s /usr/bin/touch bin/touch; " +
    '(while :; do ln -sfn ../touch bin/touch; ln -sfn /usr/bin/touch bin/touch; done) & for i in 1 2 3 4 5 6 7 8 9; do bin/touch "$PWD"/x; done; kill %1',
  "by what /proc says of oneself": "/proc/self/cwd/touch x; /proc/$$/cwd/touch x; /proc/self/root/$PWD/touch x",
  "by a descriptor's path": "exec 7< touch; /dev/fd/7 x; /proc/self/fd/7 x",
  "a hash of the shell": 'hash -p "$PWD"/touch touch; touch x',
  "a shell function": "touch() { command ./touch x; }; touch",
  "with an interpreter of its own": "printf '#!%s\\n' $PWD/touch > evil; chmod +x evil; ./evil",
  "with an odd interpreter": "printf '#! \\t /usr/bin/env  touch\\n' > evil; chmod +x evil; ./evil",
};

for (const [name, command] of Object.entries(DISGUISES)) {
  attack(`an allowed name does not let the attacker's own program out: ${name}`, async (scene) => {
    await layEvil(scene);
    const { counters, stderr } = await scene.run(command, TOUCH_IS_ALLOWED);
    assert.ok(!hasWon(scene), stderr);
    assert.ok(counters.execs > 0);
  });
}

attack("these are attacks: the same program runs outside when a rule names its very path", async (scene) => {
  await layEvil(scene);
  const { exitCode } = await scene.run("./touch x", { rules: { touch: { kind: "escalate", pathIsNamed: true } } });
  assert.equal(exitCode, 0);
  assert.ok(hasWon(scene));
});

attack("the refusal says why, and what would help", async (scene) => {
  await layEvil(scene);
  const { stderr, exitCode, escalations } = await scene.run("./touch x", TOUCH_IS_ALLOWED);
  assert.match(
    stderr,
    /^Execution denied: cannot leave the sandbox: .*; a rule for this exact path would allow it\n$/,
  );
  assert.equal(exitCode, 1);
  assert.equal(escalations[0]!.type, "refused");
});

attack("a place that others may write is not trusted, though the sandbox may not write it", async (scene) => {
  await Deno.mkdir(`${scene.out}/bin`);
  await Deno.writeTextFile(`${scene.out}/bin/touch`, `#!/bin/sh\n: > ${scene.out}/WIN\n`, { mode: 0o755 });
  await Deno.chmod(`${scene.out}/bin`, 0o777);
  const { stderr } = await scene.run(`${scene.out}/bin/touch`, TOUCH_IS_ALLOWED);
  assert.match(stderr, /can be written/);
  assert.ok(!hasWon(scene));
});

attack("what an earlier sandbox could write does not leave a later one that cannot", async (scene) => {
  await scene.run(`printf '#!/bin/sh\\n: > ${scene.out}/WIN\\n' > touch; chmod 755 touch`);
  const { stderr } = await scene.run("./touch", { ...TOUCH_IS_ALLOWED, sandbox: "read /" });
  assert.match(stderr, /can be written from inside the sandbox/);
  assert.ok(!hasWon(scene));
});

/** Calls that the shell has no words for. The program itself is allowed to run inside, and what it runs to leave. */
const CALLS: Readonly<Record<string, string>> = {
  "a file in memory": `
import os
fd = os.memfd_create("touch", 0)
os.write(fd, open("touch", "rb").read())
os.execve(fd, ["touch"], {"PATH": "/usr/bin:/bin"})`,
  "a file in memory, by its path": `
import os
fd = os.memfd_create("touch", 0)
os.write(fd, open("touch", "rb").read())
os.execve(f"/proc/self/fd/{fd}", ["touch"], {})`,
  "an open file": `
import os
os.execve(os.open("touch", os.O_RDONLY), ["touch"], {"PATH": "/usr/bin:/bin"})`,
  "a name below an open directory": `
import ctypes, os
words = (ctypes.c_char_p * 2)(b"touch")
print(ctypes.CDLL(None).syscall(322, os.open(".", os.O_RDONLY), b"touch", words, words, 0))`,
  "a name below an open directory, upwards": `
import ctypes, os
words = (ctypes.c_char_p * 2)(b"touch")
print(ctypes.CDLL(None).syscall(322, os.open("sub", os.O_RDONLY), b"../touch", words, words, 0))`,
  "oneself": `
import os
os.execv("/proc/self/exe", ["python3", "-c", "open('${"$"}{OUT}/WIN', 'w')"])`,
  "by another thread": `
import os, threading
threading.Thread(target=lambda: os.execv("./touch", ["touch"])).start()`,
};

for (const [name, program] of Object.entries(CALLS)) {
  attack(`the attacker's own program does not get out, however it is named: ${name}`, async (scene) => {
    await layEvil(scene);
    await Deno.writeTextFile(`${scene.ws}/attack.py`, program.replaceAll("${OUT}", scene.out));
    const { calls, stderr } = await scene.run(`${PYTHON} attack.py`, { ...TOUCH_IS_ALLOWED, escalate: "all" });
    assert.ok(!hasWon(scene), stderr);
    assert.ok(calls.length > 1, "it was asked about");
  });
}

/** Ways of a program to pass for the shell, whose programs alone may leave. */
const MASQUERADES: Readonly<Record<string, string>> = {
  "as an orphan": "import os\nif os.fork() == 0:\n  if os.fork() == 0:\n    import time\n    time.sleep(0.1)\n" +
    "    os.execv('/usr/bin/touch', ['touch', OUT])\n  os._exit(0)\nos.wait()\nimport time\ntime.sleep(0.5)",
  "as an orphan whose limits are as they were": "import os, resource\ntry:\n" +
    "  resource.setrlimit(10, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\nexcept ValueError: pass\n" +
    "parent = os.getpid()\nif os.fork() == 0:\n  while os.getppid() == parent: pass\n" +
    "  os.execv('/usr/bin/touch', ['touch', OUT])",
  "as an orphan of another shell":
    "import os\nos.execv('/bin/bash', ['/bin/bash', '-c', '{ while read -r _ _ _ p _ < " +
    "/proc/$BASHPID/stat && [ $p -eq $$ ]; do :; done; touch ' + OUT + '; } &'])",
  "as its parent's child": "import ctypes, os\nif ctypes.CDLL(None).syscall(56, 0x8011, 0, 0, 0, 0) == 0:\n" +
    "  os.execv('/usr/bin/touch', ['touch', OUT])\n  os._exit(0)\nimport time\ntime.sleep(0.5)",
  "as the same shell": "import os\nos.execv('/bin/bash', ['/bin/bash', '-c', 'touch ' + OUT])",
  "in a new session":
    "import os\nif os.fork() == 0:\n  os.setsid()\n  os.execv('/usr/bin/touch', ['touch', OUT])\nos.wait()",
};

for (const [name, program] of Object.entries(MASQUERADES)) {
  attackEach(`a program cannot pass for the shell: ${name}`, async (scene, sandbox) => {
    await Deno.writeTextFile(`${scene.ws}/attack.py`, `OUT = ${JSON.stringify(`${scene.out}/WIN`)}\n${program}`);
    const { calls } = await scene.run(`${PYTHON} attack.py; wait`, { sandbox, rules: { touch: ESCALATE } });
    assert.ok(!hasWon(scene));
    assert.ok(calls.filter(({ file }) => file.endsWith("/touch")).every(({ isShell }) => !isShell));
  });
}

attackBoth("a program cannot make the shell execute something for it", async (scene, sandbox) => {
  const command = `${PYTHON} ${MEMORY_WRITER} $$ /usr/bin/touch ${scene.out}/WIN; :`;
  const { calls, stdout } = await scene.run(command, { sandbox, rules: { touch: ESCALATE } });
  assert.ok(!hasWon(scene));
  assert.equal(stdout, "Read-only file system\n");
  assert.equal(calls.length, 1);
});

attackBoth("a program cannot have the first process execute something unasked", async (scene, sandbox) => {
  // Its system call returns when an orphan ends.
  const unasked = "exec 1> /proc/2/fd/1; echo UNASKED; sleep 1";
  const command =
    `${PYTHON} ${MEMORY_WRITER} 1 /bin/sh -c '${unasked}'; ( (read -rt 0.1 <> <(:) ) & ); read -rt 0.5 <> <(:)`;
  const { stdout } = await scene.run(command, { sandbox });
  assert.equal(stdout, "Read-only file system\n");
});

attack("variables switch nothing off, and a forbidden program stays forbidden below others", async (scene) => {
  const command = "unset BASH_EXEC_WRAPPER EXEC_WRAPPER CODEX_ESCALATE_SOCKET; id; env -i /usr/bin/id; " +
    "BASH_EXEC_WRAPPER= id; exec -c id";
  const { stdout, counters } = await scene.run(command, { rules: { id: FORBIDDEN } });
  assert.equal(stdout, "");
  assert.equal(counters.denied, 4);
});

attack("a caller that is being traced is refused, and runs nothing", async (scene) => {
  const program = "import ctypes, os\nif os.fork() == 0:\n  ctypes.CDLL(None).ptrace(0, 0, 0, 0)\n" +
    "  os.execv('/usr/bin/id', ['id'])\nprint(os.wait()[1] != 0)";
  await Deno.writeTextFile(`${scene.ws}/attack.py`, program);
  for (const sandbox of ["read /, write ws", null]) {
    const { stdout } = await scene.run(`${PYTHON} attack.py`, { sandbox, rules: { id: FORBIDDEN } });
    assert.equal(stdout, "True\n");
  }
});

for (const sandbox of ["read /, write ws", "read /", null]) {
  attack(`nobody can trace a caller while its program runs outside (${sandbox ?? "none"})`, async (scene) => {
    const begun = `echo begun; read go; : > ${scene.out}/FINE; exit 7`;
    const decide = ({ argv }: ExecCall): Promise<ExecVerdict> =>
      Promise.resolve(argv[2] === begun ? ESCALATE : { kind: "run" });
    const command = `${PYTHON} ${TRACER} /bin/sh -c '${begun}'`;
    const { stdout, calls, counters } = await scene.run(command, { sandbox, decide, escalate: "all" });
    assert.equal(stdout, "Operation not permitted\nended with 7\n");
    assert.deepEqual([calls.length, counters.escalated], [2, 1]);
    assert.ok(Array.from(Deno.readDirSync(scene.out)).some(({ name }) => name === "FINE"));
  });
}

/** Ways to run a program without executing it: its name is an argument, which no rule sees. */
const DETOURS: Readonly<Record<string, (program: string) => string>> = {
  "the loader": (program) => `/lib64/ld-linux-x86-64.so.2 ${program}`,
  "the loader under another name": (program) => `cp /lib64/ld-linux-x86-64.so.2 ld; ./ld ${program}`,
  "a copy": (program) => `cp ${program} copy; ./copy`,
  "a link": (program) => `ln -sf ${program} link; ./link`,
};

for (const [name, detour] of Object.entries(DETOURS)) {
  attack(`a program that comes by ${name} runs inside, whatever rules say of its name`, async (scene) => {
    const rules = { id: FORBIDDEN, touch: ESCALATE };
    const { stdout, counters } = await scene.run(`${detour("/usr/bin/id")} -u; id`, { rules });
    assert.equal(stdout, `${Deno.uid()}\n`, "documented: a rule sees the name, and the second is denied");
    assert.equal(counters.denied, 1);
    const attempt = await scene.run(`${detour("/usr/bin/touch")} ${scene.out}/WIN`, { rules, escalate: "all" });
    assert.match(attempt.stderr, /Read-only file system/);
    assert.equal(attempt.counters.escalated, 0);
    assert.ok(!hasWon(scene));
  });
}

attack("a storm of programs is answered, ends when told to, and leaves others their turn", async (scene) => {
  const many = Promise.withResolvers<void>();
  let count = 0;
  const storm = await scene.start("b() { /bin/true; b & b & }; b; sleep 1000", {
    decide: () => {
      if (++count === 300) many.resolve();
      return Promise.resolve({ kind: "run" });
    },
  });
  await many.promise;
  const { stdout } = await scene.run("echo still here; /bin/true && echo and running");
  assert.equal(stdout, "still here\nand running\n");
  await storm.shell.terminate();
  const left = () => processes((pid) => Deno.readLinkSync(`/proc/${pid}/cwd`) === scene.ws);
  await until(() => left().length === 0, () => `left: ${left()}`);
});

/** Numbers of all processes of which that is true. One that is gone, or not ours to look at, is none. */
function processes(isMeant: (pid: string) => boolean): string[] {
  const pids = Array.from(Deno.readDirSync("/proc"), ({ name }) => name).filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => {
    try {
      return isMeant(pid);
    } catch {
      return false;
    }
  });
}
