/** How a shell's end is told: exactly, with all that its children still say, and with nothing left behind. */

import assert from "node:assert/strict";
import { isAlive, supervisedTest } from "../support/supervised_scene.ts";

const WAYS = ["read /, write ws", "read /", null] as const;
const CONFINED = WAYS.filter((sandbox) => sandbox !== null);
/** For a subshell: goes on when the shell has ended. */
const UNTIL_ORPHAN = "while read -r _ _ _ parent _ < /proc/$BASHPID/stat && [ $parent -eq $$ ]; do :; done";
const nameOf = (sandbox: string | null) => sandbox ?? "no sandbox";

for (const sandbox of WAYS) {
  supervisedTest(
    `${nameOf(sandbox)}: a signal that ends the shell is told, an exit code above 128 stays one`,
    async (scene) => {
      const ends = ["kill -KILL $$", "kill -TERM $$", "exit 137", "exit 0", "sh -c 'kill -KILL $$'; exit $?"];
      const told = [];
      for (const command of ends) {
        const { exitCode, signal } = await scene.run(command, { sandbox });
        told.push([exitCode, signal]);
      }
      assert.deepEqual(told, [[137, "SIGKILL"], [143, "SIGTERM"], [137, null], [0, null], [137, null]]);
    },
  );

  supervisedTest(`${nameOf(sandbox)}: what a child writes after the shell has ended is not lost`, async (scene) => {
    const orphan = `${UNTIL_ORPHAN}; echo late; echo later >&2`;
    const { stdout, stderr, exitCode } = await scene.run(`(${orphan}) & echo soon; exit 3`, { sandbox });
    assert.deepEqual([stdout, stderr, exitCode], ["soon\nlate\n", "later\n", 3]);
  });

  supervisedTest(
    `${nameOf(sandbox)}: children that write nothing any more are not waited for, and end`,
    async (scene) => {
      // The second one closes its output after the shell has ended.
      const late = `${UNTIL_ORPHAN}; exec sleep 1000 > /dev/null 2>&1`;
      const { shell, output } = await scene.start(`sleep 1000 > /dev/null 2>&1 & (${late}) & echo begun`, { sandbox });
      assert.deepEqual(await shell.exited, { exitCode: 0, signal: null });
      assert.equal(await within(shell.closed), "closed");
      assert.equal(output.stdout, "begun\n");
      await shell.terminate();
      assert.deepEqual(left(scene.ws), []);
    },
  );

  supervisedTest(
    `${nameOf(sandbox)}: children that could still write keep the output open until they are ended`,
    async (scene) => {
      const { shell, output } = await scene.start("sleep 1000 & echo begun", { sandbox });
      await shell.exited;
      let isClosed = false;
      void shell.closed.then(() => isClosed = true);
      assert.equal(output.stdout, "begun\n");
      await scene.run(":", { sandbox: null });
      assert.equal(isClosed, false);
      await shell.terminate();
      assert.equal(isClosed, true);
      assert.deepEqual(left(scene.ws), []);
    },
  );
}

for (const sandbox of CONFINED) {
  supervisedTest(
    `${nameOf(sandbox)}: children that write nothing any more after a long while are not waited for`,
    async (scene) => {
      // It looks like a writer for longer than it is looked at often.
      const late = `${UNTIL_ORPHAN}; sleep 1.5; exec sleep 1000 > /dev/null 2>&1`;
      const { shell } = await scene.start(`(${late}) & echo begun`, { sandbox });
      await shell.exited;
      assert.equal(await within(shell.closed), "closed");
      await shell.terminate();
      assert.deepEqual(left(scene.ws), []);
    },
  );

  supervisedTest(`${nameOf(sandbox)}: a report that nothing is left is checked`, async (scene) => {
    // Whoever stays behind to tell has one descriptor. A wrapper has some that nobody reads from any more.
    const forged =
      'trap "" PIPE; for p in /proc/1 /proc/$PPID; do for f in $p/fd/*; do printf "\\0\\0\\0\\0\\1" > $f; done; done';
    const { shell } = await scene.start(`sleep 1000 > /dev/null 2>&1 & ${forged}; exec > /dev/null 2>&1; sleep 1000`, {
      sandbox,
      env: { PATH: "/usr/bin:/bin", LANG: "C" },
    });
    assert.deepEqual(await shell.exited, { exitCode: 0, signal: null });
    await shell.terminate();
    assert.deepEqual(left(scene.ws), []);
  });

  supervisedTest(
    `${nameOf(sandbox)}: where output was not read to its end, something left is looked for`,
    async (scene) => {
      const { backend } = scene.host;
      const endTrees = backend.endTrees.bind(backend);
      const looks: boolean[] = [];
      for (const stops of [false, true]) {
        const { shell } = await scene.start("read line", { sandbox, stdin: "open" });
        if (stops) shell.stopReading();
        shell.closeStdin();
        await Promise.all([shell.exited, shell.closed]);
        let hasLooked = false;
        backend.endTrees = (...options) => {
          hasLooked = true;
          return endTrees(...options);
        };
        await shell.terminate();
        backend.endTrees = endTrees;
        looks.push(hasLooked);
      }
      assert.deepEqual(looks, [false, true]);
    },
  );

  supervisedTest(
    `${nameOf(sandbox)}: a signal of the shell to its group does not end the process that reports its end`,
    async (scene) => {
      const { stdout, exitCode, signal } = await scene.run("trap 'echo trapped; exit 4' TERM; kill -TERM 0; echo on", {
        sandbox,
      });
      assert.deepEqual([stdout, exitCode, signal], ["trapped\n", 4, null]);
    },
  );
}

supervisedTest("who tells of the end in a sandbox of bubblewrap's cannot be rewritten from inside", async (scene) => {
  const command = "for f in /dev/.launch /proc/$PPID/exe; do chmod u+w $f 2>&1 | grep -o 'Read-only.*'; done";
  assert.equal((await scene.run(command)).stdout, "Read-only file system\n".repeat(2));
});

/** Far longer than anything waited for takes on a busy machine. A test fails then, instead of hanging. */
const LIMIT_MS = 60_000;

async function within(closed: Promise<void>): Promise<string> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<string>((resolve) => timer = setTimeout(() => resolve("still open"), LIMIT_MS));
  try {
    return await Promise.race([closed.then(() => "closed"), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Processes of this directory. */
function left(directory: string): number[] {
  return Array.from(Deno.readDirSync("/proc"), ({ name }) => Number(name)).filter((pid) => {
    if (Number.isNaN(pid) || !isAlive(pid)) return false;
    try {
      return Deno.readLinkSync(`/proc/${pid}/cwd`).startsWith(directory);
    } catch {
      return false;
    }
  });
}
