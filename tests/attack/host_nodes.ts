/**
 * Attacks on the few files of the host that are inside as they are: devices, and the program of the sandbox's first
 * process. Whoever is user 0 there owns them, without any capability.
 *
 * The modes that are set are those that the files have, so that a success does no harm.
 */

import assert from "node:assert/strict";
import { supervisedTest } from "../support/supervised_scene.ts";
import { IS_ROOT } from "./scene.ts";

const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"].map((name) => `/dev/${name}`);
const WRAPPERS = ["/usr/bin/bwrap", "/usr/local/bin/bwrap"];
const PROGRAM = `
import os
def attempt(what, change):
  try:
    change()
    print(what, "changed")
  except OSError as error:
    print(what, error.strerror)
for path in ${JSON.stringify(DEVICES)}:
  mode = os.stat(path).st_mode & 0o7777
  attempt(path, lambda: os.chmod(path, mode))
  attempt(path, lambda: os.chown(path, os.stat(path).st_uid, -1))
attempt("input", lambda: os.fchmod(0, 0o666))
attempt("first", lambda: os.chmod("/proc/1/exe", 0o755))
`;

/** When the wrapper was last changed, its mode included. */
function times(): (number | undefined)[] {
  return WRAPPERS.map((path) => {
    try {
      return Deno.statSync(path).ctime?.getTime();
    } catch {
      return undefined; // It is in one of these places.
    }
  });
}

for (const sandbox of ["read /, write ws", "read /"]) {
  const user = IS_ROOT ? "root" : "unprivileged";
  supervisedTest(`${user}, the host's nodes: mode and owner stay what they are (${sandbox})`, async (scene) => {
    await Deno.writeTextFile(`${scene.ws}/attack.py`, PROGRAM);
    const before = times();
    const { stdout, stderr } = await scene.run("/usr/bin/python3 attack.py; echo > /dev/null; echo $?", { sandbox });
    assert.equal(stderr, "");
    const lines = stdout.trimEnd().split("\n");
    assert.equal(lines.pop(), "0", "it can be written to all the same");
    // The last one changes a copy, or is refused.
    lines.pop();
    assert.equal(lines.length, 2 * DEVICES.length + 1);
    for (const line of lines) assert.match(line, IS_ROOT ? /Read-only file system$/ : /(?<!changed)$/);
    assert.deepEqual(times(), before);
  });
}
