/** What a sandbox lets happen to files, tried for real. */

import assert from "node:assert/strict";
import { type Box, type PolicyOptions, sandboxTest } from "../sandboxed.ts";

const EROFS = /Read-only file system/;
const EACCES = /Permission denied/;
const ENOENT = /No such file or directory/;
const EBUSY = /Device or resource busy/;

/** Each of the commands fails, with this text, and on the host nothing has changed. */
async function allFail(box: Box, policy: string, text: RegExp, commands: string[], options: PolicyOptions = {}) {
  const before = box.snapshot();
  const attempts = commands.map((command) =>
    `if message=$( { ${command}; } 2>&1 ); then echo "WORKED: ${command}"; else printf '%s' "$message"; fi; printf '\\0'`
  );
  const { stdout, stderr, report } = await box.run(policy, attempts.join("\n"), options);
  assert.deepEqual({ stderr, report }, { stderr: "", report: { type: "executed" } });
  const messages = stdout.split("\0").slice(0, -1);
  assert.equal(messages.length, commands.length, stdout);
  for (const [index, message] of messages.entries()) {
    assert.match(message, text, `${commands[index]}: ${message}`);
    assert.doesNotMatch(message, /WORKED/);
  }
  assert.deepEqual(box.snapshot(), before);
}

async function allWork(box: Box, policy: string, commands: string[], options: PolicyOptions = {}): Promise<string> {
  const run = await box.run(policy, commands.map((command) => `${command} || exit 9`).join("\n"), options);
  assert.deepEqual({ code: run.code, stderr: run.stderr }, { code: 0, stderr: "" });
  return run.stdout;
}

sandboxTest("a read-only sandbox reads everything and writes nothing", async (box) => {
  assert.equal(await allWork(box, "read /", ["cat ws/in.txt ws/esc out/h.txt"]), "inouthard");
  await allFail(box, "read /", EROFS, [
    "touch ws/new",
    "rm ws/in.txt",
    "mkdir ws/nd",
    "rmdir ws/sub",
    "ln ws/in.txt ws/in2",
    "ln -s x ws/l",
    "mv ws/in.txt ws/in3",
    "chmod 777 ws/in.txt",
    "touch -d 2001-01-01 ws/in.txt",
    "truncate -s 0 out/o.txt",
    "touch /tmp/new",
  ]);
});

sandboxTest("a writable root can be worked in, and nothing else can", async (box) => {
  await allWork(box, "read /, write ws", [
    "echo n > ws/new",
    "mkdir -p ws/x/y",
    "cp out/o.txt ws/x/c",
    "mv ws/new ws/x/moved",
    "rm ws/in.txt",
    "chmod 600 ws/x/c",
    "ln ws/x/c ws/x/d",
  ]);
  assert.deepEqual([box.read("ws/x/moved"), box.read("ws/x/d")], ["n\n", "out"]);
  await allFail(box, "read /, write ws", EROFS, [
    "touch out/n",
    "rm out/o.txt",
    "mkdir out/d",
    "touch ws/../out/n",
    "touch ws/escd/n",
    "truncate -s 0 ws/esc",
    "chmod 777 out/o.txt",
    "mv ws/sub out/sub",
    "touch -d 2001-01-01 out/o.txt",
  ]);
  await allFail(box, "read /, write ws", /cross-device|Read-only/i, ["ln out/o.txt ws/linked"]);
});

sandboxTest("an existing hard link inside a root is written through, and keeps its count", async (box) => {
  await allWork(box, "read /, write ws", ["echo changed > ws/hard"]);
  assert.equal(box.read("out/h.txt"), "changed\n");
  assert.equal(Deno.statSync(`${box.root}/out/h.txt`).nlink, 2);
});

sandboxTest("restricted reading: what is not granted is absent", async (box) => {
  const policy = "read /usr, read /bin, read /lib, read /lib64, read /etc, read ws";
  assert.equal(await allWork(box, policy, ["cat ws/in.txt", "ls ws"]), "ina\nesc\nescd\nhard\nin.txt\nsub\n");
  await allFail(box, policy, ENOENT, ["cat out/o.txt", "ls out", "cat ws/esc", "stat out", "ls /home", "ls /var"]);
  await allFail(box, policy, EROFS, ["touch ws/new", "touch /new", "mkdir /tmp/new", "touch out"]);
  const { stdout } = await box.run(policy, "ls -A /");
  assert.deepEqual(stdout.trim().split("\n").filter((name) => !/^(bin|dev|etc|lib|lib64|proc|usr)$/.test(name)), [
    box.root.split("/")[1],
  ]);
});

sandboxTest("restricted reading: a helper starts with its own program and the loader's files", async (box) => {
  const needs = [Deno.execPath(), "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"];
  const reads = needs.map((path) => `read ${path}`).join(", ");
  const command = {
    program: Deno.execPath(),
    argv: [
      "helper",
      "eval",
      `
      const seen = (path) => Deno.stat(path).then(() => true, () => false);
      console.log(await Deno.readTextFile("${box.root}/ws/in.txt"), await seen("/home"), await seen("${box.root}/out"));`,
    ],
    env: { DENO_DIR: "/dev/shm/deno" },
    cwd: "/",
  };
  const { stdout, stderr } = await box.runCommand(`read ws, ${reads}`, command);
  assert.equal(stdout, "in false false\n", stderr);
});

sandboxTest("restricted reading: a granted link leads to what it leads to", async (box) => {
  Deno.symlinkSync("out", `${box.root}/alias`);
  const policy = "read /usr, read /bin, read /lib, read /lib64, read alias";
  assert.equal(await allWork(box, policy, ["cat alias/o.txt"]), "out");
});

sandboxTest("a denied directory, file or pattern cannot be read, whatever leads to it", async (box) => {
  box.write("out/w/k.env", "secret");
  for (const [policy, globs] of [["read /, deny out", []], ["read /", ["out/**/*.txt", "out/**/*.env"]]] as const) {
    await allFail(box, policy, EACCES, ["cat out/o.txt", "cat ws/esc", "cat ws/escd/h.txt", "cat out/w/k.env"], {
      globs,
    });
  }
  await allFail(box, "read /, deny out/o.txt", EACCES, ["cat out/o.txt", "cat ws/esc"]);
  await allFail(box, "read /, write out, deny out/o.txt", /denied|busy/, [
    "cat out/o.txt",
    "echo x > out/o.txt",
    "mv out/o.txt out/moved",
    "rm -f out/o.txt",
  ]);
  await allFail(box, "read /, deny out", EACCES, ["ls out", "touch out/n"]);
  assert.equal(await allWork(box, "read /, deny out", ["cat ws/in.txt"]), "in");
});

sandboxTest("the narrower rule wins, on every level", async (box) => {
  await allFail(box, "read /, write ws, read ws/a", EROFS, ["touch ws/a/n", "touch ws/a/b/n"]);
  await allWork(box, "read /, write ws, read ws/a, write ws/a/b", ["touch ws/n ws/a/b/n"]);
  await allFail(box, "read /, write ws, read ws/a, write ws/a/b", EROFS, ["touch ws/a/n"]);
  await allFail(box, "read /, write ws, read ws, deny ws", EACCES, ["ls ws"]);
  await allWork(box, "read /, read ws, write ws", ["touch ws/m"]);
});

sandboxTest("a whole disk for writing, with exceptions", async (box) => {
  await allWork(box, "write /, read ws", ["touch out/n", "touch two/n"]);
  await allFail(box, "write /, read ws", EROFS, ["touch ws/n"]);
  await allFail(box, "write /, deny out", EACCES, ["cat out/o.txt"]);
});

sandboxTest("below a denial writing can be granted again, reading cannot", async (box) => {
  const policy = "read /, deny out, write out/w";
  await allWork(box, policy, ["echo x > out/w/n", "cat out/w/n", "ls out/w"]);
  assert.equal(box.read("out/w/n"), "x\n");
  await allFail(box, policy, EACCES, ["ls out"]);
  await allFail(box, policy, ENOENT, ["cat out/o.txt"]);
  await allFail(box, policy, EROFS, ["touch out/n", "mv out/w out/w2"]);
  await allFail(box, "read /, deny out, read out/w", EACCES, ["ls out/w", "cat out/w/n"]);
});

sandboxTest("a single file can be granted for writing", async (box) => {
  await allWork(box, "read /, write ws/in.txt", ["echo new > ws/in.txt", "cat ws/in.txt"]);
  assert.equal(box.read("ws/in.txt"), "new\n");
  await allFail(box, "read /, write ws/in.txt", EROFS, ["touch ws/n", "truncate -s 0 ws/hard"]);
  await allFail(box, "read /, write ws/in.txt", /busy|Read-only/, ["rm ws/in.txt", "mv ws/in.txt ws/x"]);
});

sandboxTest("a writable root itself can be neither removed nor moved, also inside another", async (box) => {
  await allFail(box, "read /, write two", /busy|Read-only/, ["rmdir two", "mv two three"]);
  await allFail(box, "read /, write ws, write ws/sub", EBUSY, ["rmdir ws/sub", "mv ws/sub ws/other"]);
});

sandboxTest("a missing path that is granted for writing grants nothing", async (box) => {
  await allWork(box, "read /, write ws, write missing", ["touch ws/n"]);
  await allFail(box, "read /, write ws, write missing", EROFS, ["mkdir missing"]);
});

sandboxTest("a protected path that is missing cannot be made in any way, and leaves nothing behind", async (box) => {
  const policy = "read /, write ws, deny ws/later, read ws/deep/er";
  await allFail(box, policy, /exists|Read-only|Not a directory|denied|busy|same file/i, [
    "mkdir ws/later",
    "mkdir -p ws/later/x",
    "echo x > ws/later",
    "mv ws/in.txt ws/later",
    "ln -s /etc ws/later",
    "ln ws/in.txt ws/later",
    "rm -rf ws/later",
    "mv ws/later ws/elsewhere",
    "mkdir ws/deep",
    "mkdir -p ws/deep/er",
  ]);
  await allWork(box, policy, ["touch ws/n", "mkdir ws/other"]);
  assert.deepEqual([...Deno.readDirSync(`${box.root}/ws`)].map(({ name }) => name).sort(), [
    "a",
    "esc",
    "escd",
    "hard",
    "in.txt",
    "n",
    "other",
    "sub",
  ]);
});

sandboxTest("what appears meanwhile where a sandbox was denied cannot be read in it", async (box) => {
  const script = "cat ws/secret ws/plain ws/.git/config; echo; read line; cat ws/secret ws/plain ws/.git/config";
  const run = await box.start("read /, write ws, deny ws/secret, read ws/plain", `${script}; ls ws/.git`, {
    stdin: "open",
  });
  await run.seen("\n");
  box.write("ws/secret", "secret");
  box.write("ws/plain", "plain");
  box.write("ws/.git/config", "config");
  run.write("go\n");
  const { stdout, stderr } = await run.finished();
  assert.equal(stdout, "\nplainconfigconfig\n");
  assert.match(stderr, /^cat: ws\/secret: Permission denied\n.*config.*\ncat: ws\/secret: Permission denied\n$/s);
  // It is theirs now.
  assert.deepEqual([box.read("ws/secret"), box.read("ws/plain"), box.read("ws/.git/config")], [
    "secret",
    "plain",
    "config",
  ]);
});

sandboxTest("a protected directory cannot be moved out of the way by its parents", async (box) => {
  const policy = "read /, write ws, read ws/a/b";
  await allFail(box, policy, EBUSY, ["mv ws/a ws/moved", "mv ws/a/b ws/a/moved", "rmdir ws/a/b"]);
  await allFail(box, policy, EROFS, ["touch ws/a/b/n"]);
  await allWork(box, policy, ["touch ws/a/n"]);
});

sandboxTest("repositories and agents' directories are read-only or cannot be made", async (box) => {
  Deno.mkdirSync(`${box.root}/ws/.git/hooks`, { recursive: true });
  box.write("ws/.codex", "");
  const policy = "read /, write ws";
  await allFail(box, policy, EROFS, [
    "touch ws/.git/hooks/pre-commit",
    "rm -r ws/.git/hooks",
    "truncate -s 1 ws/.codex",
  ]);
  await allFail(box, policy, EBUSY, ["mv ws/.git ws/git", "rmdir ws/.git"]);
  await allFail(box, policy, /exists|Read-only|busy/, [
    "mkdir ws/.agents",
    "touch ws/.aws/credentials",
    "ln -sT /etc ws/.agents",
    "mv -T ws/sub ws/.aws",
    "rmdir ws/.aws",
  ]);
  await allWork(box, "read /, write ws, write ws/.git", ["touch ws/.git/index"]);
});

sandboxTest("a granted path is found through the links that were given", async (box) => {
  Deno.symlinkSync("ws", `${box.root}/link`);
  await allWork(box, "read /, write link", ["touch link/a1 ws/a2"]);
  await allFail(box, "read /, deny link", EACCES, ["ls link/", "ls ws"]);
});

sandboxTest("nothing of another process can be reached", async (box) => {
  const { stdout } = await box.run(
    "read /",
    `ls -d /proc/[0-9]* | wc -l; cat /proc/${Deno.pid}/environ 2>/dev/null | wc -c`,
  );
  const [processes, environment] = stdout.trim().split("\n").map(Number);
  assert.ok(processes! <= 6, stdout);
  assert.equal(environment, 0);
  await allFail(box, "read /", /No such process|not permitted/i, [`kill -0 ${Deno.pid}`]);
});

sandboxTest("no capability is left, and none can be had", async (box) => {
  const { stdout } = await box.run("read /", "grep -E '^(Cap|NoNewPrivs)' /proc/self/status");
  assert.deepEqual([...new Set(stdout.match(/Cap\w+:\s*\w+/g)!.map((line) => line.split(/\s+/)[1]))], [
    "0000000000000000",
  ]);
  assert.match(stdout, /NoNewPrivs:\s*1/);
  await allFail(box, "read /, write ws, deny out", /not permitted|denied|must be superuser/i, [
    "unshare -Ur true",
    "unshare -m true",
    "mount -t tmpfs none ws",
    "umount out",
    "mount -o remount,rw /",
  ]);
});
