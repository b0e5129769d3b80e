/** Calls of programs that fail before there is anything to decide: nobody is asked about them, but they are told. */

import assert from "node:assert/strict";
import { supervisedTest } from "../support/supervised_scene.ts";

supervisedTest(
  "a program that is looked for in several places is asked about where it is, and a missing one not at all",
  async (scene) => {
    const search = "import os; os.environ['PATH'] = '/nowhere:/usr/sbin:/usr/bin'; os.execvp('id', ['id', '-u'])";
    const failed: unknown[] = [];
    const { calls, stdout } = await scene.run(`python3 -c "${search}"; no-such-program; ./in.txt; /nowhere/x`, {
      onUndecided: ({ file, isShell }, reason) => void failed.push([file, isShell, reason]),
    });
    assert.deepEqual(calls.map(({ file }) => file), ["/usr/bin/python3", "/usr/bin/id"]);
    assert.equal(stdout, `${Deno.uid()}\n`);
    const [missing, refused] = ["No such file or directory (os error 2)", "Permission denied (os error 13)"];
    assert.deepEqual(failed, [
      ["/nowhere/id", false, missing],
      ["/usr/sbin/id", false, missing],
      [`${scene.ws}/in.txt`, true, refused],
      ["/nowhere/x", true, missing],
    ]);
  },
);

supervisedTest("a call that cannot be read is told to have failed, by whom and why", async (scene) => {
  const python = `import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.execve(8, None, None)
print(os.strerror(ctypes.get_errno()))
libc.execve(b"/" * 5000, None, None)
print(os.strerror(ctypes.get_errno()))
print(os.getpid())`;
  const failed: { pid: number; words: unknown[] }[] = [];
  const { stdout } = await scene.run(`python3 -c '${python}'`, {
    onUndecided: ({ file, pid, isShell }, reason) => void failed.push({ pid, words: [file, isShell, reason] }),
  });
  assert.match(stdout, /^Bad address\nFile name too long\n\d+\n$/);
  assert.deepEqual(failed.map(({ words }) => words), [
    [null, false, "Bad address (os error 14)"],
    [null, false, "File name too long (os error 36)"],
  ]);
  assert.equal(new Set(failed.map(({ pid }) => pid)).size, 1);
});
