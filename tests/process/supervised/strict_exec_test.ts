/** What strict supervision lets run; `tests/prove/strict_execs.ts` has what it does not. */

import assert from "node:assert/strict";
import { supervisedTest } from "../../support/supervised_scene.ts";

/** Each prints its name. */
const WAYS: Readonly<Record<string, string>> = {
  "interpreter of its own": "./nested interpreter of its own",
  "interpreter beside it": "./beside interpreter beside it",
  "open program": `python3 -c 'import os; os.execve(os.open("/bin/echo", os.O_RDONLY), ["echo", "open program"], {})'`,
  "open script": `python3 -c '
import os
fd = os.open("script", os.O_RDONLY)
os.set_inheritable(fd, True)
os.execve(fd, ["script", "open script"], {"PATH": "/usr/bin:/bin"})'`,
  "memory": `python3 -c '
import os
fd = os.memfd_create("tool")
os.write(fd, open("/bin/echo", "rb").read())
os.execve(fd, ["echo", "memory"], {})'`,
  "below an open directory": `python3 -c '
import ctypes, os
fd = os.open("sub", os.O_RDONLY)
os.set_inheritable(fd, True)
words = (ctypes.c_char_p * 3)(b"script", b"below an open directory")
ctypes.CDLL(None).syscall(322, fd, b"../script", words, (ctypes.c_char_p * 1)(), 0)'`,
  "itself": `python3 -c 'import os; os.execv("/proc/self/exe", ["python3", "-c", "print(\\"itself\\")"])'`,
  "path of a descriptor": "exec 7< script; /dev/fd/7 path of a descriptor",
  "through a link": "ln -s script link; ./link through a link",
  "shared memory": "cp /bin/echo /dev/shm/tool && cd /dev/shm && ./tool shared memory",
};

for (const [name, command] of Object.entries(WAYS)) {
  supervisedTest(`with strict supervision a program runs, however it is named: ${name}`, async (scene) => {
    const lay = (file: string, text: string) => Deno.writeTextFile(`${scene.ws}/${file}`, text, { mode: 0o755 });
    await lay("script", '#!/bin/sh\necho "$@"\n');
    await lay("interpreter", '#! /bin/sh -e \nshift 2\necho "$@"\n');
    await lay("nested", `#!${scene.ws}/interpreter an argument`);
    await lay("beside", "#!./interpreter  an argument\n");
    const { stdout, stderr, counters } = await scene.run(command, { strictExec: true });
    assert.equal(stdout, `${name}\n`, stderr);
    assert.equal(counters.mismatched, 0);
  });
}

supervisedTest(
  "with strict supervision a name that may mean any file is denied, unless it begins at the root",
  async (scene) => {
    await Deno.symlink("/proc/self/exe", `${scene.ws}/self`);
    const { stdout, stderr, counters } = await scene.run(`./self -c 'echo 1'; "$PWD"/self -c 'echo 2'`, {
      strictExec: true,
    });
    assert.equal(stderr, `Execution denied: cannot find out which file ${scene.ws}/self is\n`);
    assert.deepEqual([stdout, counters.denied, counters.run], ["2\n", 1, 1]);
  },
);
