/** Attacks by confined processes with nothing but the tools of every system. */

import assert from "node:assert/strict";
import { MAX_DENIALS } from "../../src/process/limits.ts";
import { write } from "../contract/file_system/harness.ts";
import { processesMarked } from "../support/proc.ts";
import { command, eventually, RecordedChild } from "../support/recorded_child.ts";
import {
  attack,
  type AttackScene,
  fingerprint,
  IS_ROOT,
  NO_WRITABLE_DIRECTORY,
  NOTHING_HIDDEN,
  REFUSED,
} from "./scene.ts";

/** A script that must fail inside. `roots` are those that without a sandbox only root can run. */
type Line = string | { readonly roots: string };

/** Each line works without a sandbox, on a copy of the files, and fails inside. */
async function allFail(scene: AttackScene, lines: readonly Line[], policy = scene.policy): Promise<void> {
  for (const line of lines) {
    const script = typeof line === "string" ? line : line.roots;
    if (IS_ROOT || typeof line === "string") {
      const free = await scene.run(script, { place: await scene.copy(), sandbox: null });
      assert.equal(free.code, 0, `without a sandbox: ${script}: ${free.stderr}`);
    }
    const { code, stderr } = await scene.run(script, { sandbox: policy });
    assert.notEqual(code, 0, script);
    assert.match(stderr, REFUSED, `${script}: ${stderr}`);
  }
}

attack("no tool writes, links, renames or removes outside", (scene) =>
  allFail(scene, [
    "echo x > ../out/new",
    "echo x >> ../out/o.txt",
    "echo x > esc",
    "echo x > escd/new",
    "ln ../out/o.txt hard && echo x > hard",
    "ln ../out/secret stolen",
    "mv in.txt ../out/",
    "mv ../out/o.txt .",
    "rm -r ../out",
    "rm ../out/o.txt",
    "rmdir ../out/sub",
    "mkdir ../out/d",
    "mkfifo ../out/fifo",
    "ln -s x ../out/link",
    "cp in.txt ../out/o.txt",
    "echo x > sub/../../out/new",
    "echo x > /proc/self/cwd/../out/new",
    "echo x > /proc/self/root$PWD/../out/new",
    "cd ../out && echo x > /proc/self/cwd/new",
    "exec 3< ../out/o.txt && echo x > /proc/self/fd/3",
    "exec 3< ../out && echo x > /proc/self/fd/3/new",
  ]));

attack("modes, owners and times outside stay as they are", (scene) =>
  allFail(scene, [
    "chmod 777 ../out/o.txt",
    "chmod 777 ../out",
    "chmod 777 esc",
    { roots: "chown 1:1 ../out/o.txt" },
    "chown $(id -u) ../out/o.txt",
    "touch ../out/o.txt",
    "touch -t 200001010000 ../out/o.txt",
    "touch -h -t 200001010000 ../out/sub",
    "truncate -s 0 ../out/o.txt",
  ]));

attack("a protected directory cannot be moved, removed, replaced or made", async (scene) => {
  await Deno.mkdir(`${scene.ws}/.git/hooks`, { recursive: true });
  // The copies have none, so each line brings its own; inside there is one, and nothing can be brought.
  const bring = "mkdir -p .git/hooks";
  await allFail(scene, [
    `${bring}; mv .git git`,
    `${bring}; rm -r .git`,
    `${bring}; rmdir .git/hooks`,
    `${bring}; echo evil > .git/hooks/pre-commit`,
    `${bring}; ln -sfn sub .git/hooks`,
    `${bring}; chmod 777 .git`,
    "mkdir -p .codex/x",
    "ln -s sub .agents",
    "mkdir -p .aws; echo x > .aws/credentials",
  ]);
  assert.deepEqual(Array.from(Deno.readDirSync(`${scene.ws}/.git`), ({ name }) => name), ["hooks"]);
}, { not: NO_WRITABLE_DIRECTORY });

attack("a repository whose directory lies elsewhere is as protected as one that does not", async (scene) => {
  const lay = "mkdir -p real/hooks; [ -e .git ] || echo 'gitdir: real' > .git";
  assert.equal((await scene.run(lay, { sandbox: null })).code, 0);
  await allFail(scene, [
    `${lay}; echo evil > real/hooks/pre-commit`,
    `${lay}; mv real moved`,
    `${lay}; echo 'gitdir: sub' > .git`,
    `${lay}; rm .git`,
  ]);
  assert.deepEqual([...Deno.readDirSync(`${scene.ws}/real/hooks`)], []);
}, { not: NO_WRITABLE_DIRECTORY });

attack("a repository's directory that is a link is refused before anything runs", async (scene) => {
  await Deno.symlink("sub", `${scene.ws}/.git`);
  await assert.rejects(scene.run("echo x > sub/ran"), { kind: "invalidRequest", message: /\.git.*symbolic link/ });
  assert.deepEqual([...Deno.readDirSync(`${scene.ws}/sub`)], []);
  // The rule is about the link and nothing else.
  await Deno.remove(`${scene.ws}/.git`);
  assert.equal((await scene.run("echo x > sub/ran")).code, 0);
}, { not: NO_WRITABLE_DIRECTORY });

attack("a denied file is not read under any name", async (scene) => {
  const link = "ln -sf ../out/secret s";
  assert.equal((await scene.run(link, { sandbox: null })).code, 0);
  await allFail(
    scene,
    [
      "cat ../out/secret",
      `${link}; cat s`,
      "cat /proc/self/root$PWD/../out/secret",
      `${link}; cp s t`,
      "ln ../out/secret t && cat t",
      "mv ../out/secret t && cat t",
    ],
    "read /, write ws, deny out/secret",
  );
}, { not: NOTHING_HIDDEN });

attack("what a pattern denies is not read, however strange its name", async (scene) => {
  const names = [
    "a.key",
    ".key",
    "new\nline.key",
    "sp ace.key",
    "[a].key",
    "*.key",
    "\\.key",
    "ü.key",
    "-rf.key",
    "\u{FFFD}.key",
  ];
  for (const name of names) await Deno.writeTextFile(`${scene.ws}/sub/${name}`, "hidden\n");
  const sandbox = scene.host.sandbox("read /, write ws", "restricted", [`${scene.ws}/**/*.key`]);
  const script = 'for file in sub/* sub/.key; do cat "$file"; done 2>/dev/null | grep -c hidden';
  assert.equal((await scene.run(script, { sandbox: null })).stdout, `${names.length}\n`);
  assert.equal((await scene.run(script, { sandbox })).stdout, "0\n");
  // Case counts, as everywhere on such a disk: this is another name.
  await Deno.writeTextFile(`${scene.ws}/sub/other.KEY`, "hidden\n");
  assert.equal((await scene.run(script, { sandbox })).stdout, "1\n");
}, { not: NOTHING_HIDDEN });

attack("a name that is not text is not mistaken for one that is", async (scene) => {
  // Two names that look alike once decoded: a mask by name would cover one of them.
  const make = `printf hidden > "$(printf 'sub/x\\377.key')"; printf decoy > "$(printf 'sub/x\\357\\277\\275.key')"`;
  assert.equal((await scene.run(make, { sandbox: null })).code, 0);
  const sandbox = scene.host.sandbox("read /, write ws", "restricted", [`${scene.ws}/**/*.key`]);
  await assert.rejects(scene.run("cat sub/*", { sandbox }), { kind: "invalidRequest", message: /not UTF-8/ });
  assert.match((await scene.run("cat sub/*", { sandbox: null })).stdout, /hidden/);
}, { not: NOTHING_HIDDEN });

attack("no mount and no namespace undoes the view", (scene) =>
  allFail(scene, [
    { roots: "unshare -m sh -c 'mount --bind / sub && umount sub'" },
    { roots: "unshare -m mount -o remount,rw,bind /" },
    { roots: "unshare -m true" },
    "unshare -Ur true",
    "unshare -Urm sh -c 'mount -t tmpfs none sub'",
    { roots: "nsenter -t $$ -m true" },
  ]), { needs: ["mount", "umount", "unshare", "nsenter"] });

attack("a hundred thousand refused calls stall nobody, and no refusal can be kept from the record", async (scene) => {
  const sandbox = scene.host.sandbox(scene.policy);
  const start = async (program: string) =>
    await RecordedChild.start(
      scene.host.backend,
      scene.host.confined(command(["perl", "-e", program], { cwd: scene.ws }), sandbox),
    );
  // Each family is a record of its own; silenced, forked away, in a session of its own, with what it could find closed.
  const flood = await start(
    "use POSIX; POSIX::close($_) for 3 .. 255; if (fork) { wait; exit 0 } POSIX::setsid(); " +
      "for my $family (100 .. 100_100) { socket(my $s, $family, 1, 0) and die }",
  );
  let isOver = false;
  const end = flood.exit.then(() => void (isOver = true));
  let answered = 0;
  while (!isOver && answered < 5) {
    const { stdout } = await scene.run(`perl -e 'socket(my $s, 2, 1, 0) ? print "open" : print $! + 0'`);
    assert.equal(stdout, "1");
    answered++;
  }
  assert.equal(answered, 5, "others had to wait for the end of the flood");
  await end;
  await flood.end;
  assert.deepEqual(
    flood.process.networkDenials?.map(({ call }) => call),
    Array.from({ length: MAX_DENIALS }, (_, index) => `socket(family ${100 + index}, SOCK_STREAM)`),
  );
  flood.process.dispose();
}, { needs: ["perl"] });

attack("the first process of a sandbox has no more network than the command", async (scene) => {
  // It never ran the stub, so its filter has no listener. Whoever gets into its memory must be refused as well.
  const { stdout } = await scene.run("grep -h '^Seccomp' /proc/1/status /proc/self/status");
  const [first, firstFilters, own, ownFilters] = stdout.match(/\d+/g)!.map(Number);
  assert.deepEqual([first, own, ownFilters! - firstFilters!], [2, 2, 1]);
}, { not: { landlock: "the command is the first process" } });

attack(
  "a directory swapped for a link by a confined process does not lead the server's helper outside",
  async (scene) => {
    await Deno.mkdir(`${scene.ws}/d`);
    const end = await scene.start(
      "ln -s ../out l; echo up; while :; do mv d e; mv l d; mv d l; mv e d; done 2>/dev/null",
    );
    const files = await scene.files();
    for (let round = 0; round < 60; round++) await write(files, `${scene.ws}/d/new`, "x").catch(() => {});
    // Whoever is not confined is led there. Looked for until it happens, since it is a race.
    const before = fingerprint(scene.out);
    while (!exists(`${scene.out}/led`)) await write(scene.direct, `${scene.ws}/d/led`, "x").catch(() => {});
    await end();
    await Deno.remove(`${scene.out}/led`);
    // The name has come and gone, which is all that may differ.
    await restoreTimes(scene.out, before);
  },
  { not: NO_WRITABLE_DIRECTORY },
);

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false; // Not there, or not yet.
  }
}

/** A name has come and gone, which is all that may differ. */
async function restoreTimes(path: string, before: unknown): Promise<void> {
  const time = (before as { mtimeMs: number }).mtimeMs;
  await Deno.utime(path, new Date(time), new Date(time));
}

attack("nothing that a process leaves behind outlives it", async (scene) => {
  const mark = `6${Deno.pid}.${performance.now().toFixed(0)}`;
  const leave = `setsid sh -c 'echo up > made; exec sleep ${mark}' >/dev/null 2>&1 &`;
  const script = `${leave} until [ -s made ]; do sleep 0.01; done; exit 0`;
  await scene.run(script, { place: await scene.copy(), sandbox: null });
  const left = processesMarked(mark).map(({ pid }) => pid);
  left.forEach((pid) => Deno.kill(pid, "SIGKILL"));
  assert.equal(left.length, 1);
  await eventually("it is gone", () => processesMarked(mark).length === 0);
  await scene.run(script);
  assert.deepEqual(processesMarked(mark), []);
}, { not: { landlock: "it has no process namespace: the server searches for what is left, which other tests prove" } });

attack("no process outside is signalled, by number, by group or all at once", async (scene) => {
  // A signal that does nothing to those who do not listen: should a sandbox not hold, everybody gets it.
  const SIGWINCH = 28;
  let heard = 0;
  const listener = () => void heard++;
  Deno.addSignalListener("SIGWINCH", listener);
  try {
    const group = Number(/^\d+ \(.*\) \S \d+ (\d+)/s.exec(Deno.readTextFileSync("/proc/self/stat"))?.[1]);
    const { report } = await scene.hostile([
      ["kill", Deno.pid, SIGWINCH],
      ["kill", Deno.pid, 0],
      ["kill", -group, SIGWINCH],
      ["sigqueue", Deno.pid, SIGWINCH, 0],
      ["tgkill", Deno.pid, Deno.pid, SIGWINCH],
      ["pidfd_open", Deno.pid, 0],
      ["pidfd_send_signal", { back: 1 }, SIGWINCH, 0, 0],
    ]);
    const isRefused = (result: number | string) => ["EPERM", "ESRCH", "EBADF"].includes(String(result));
    assert.ok(report?.results.filter((_, index) => index !== 5).every(isRefused), String(report?.results));
    await scene.run("kill -WINCH -1");
    // A signal that was sent before this one is told of before it.
    assert.equal((await scene.run(`kill -WINCH ${Deno.pid}`, { sandbox: null })).code, 0);
    while (heard === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    assert.equal(heard, 1);
  } finally {
    Deno.removeSignalListener("SIGWINCH", listener);
  }
});
