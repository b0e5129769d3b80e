/** Attacks by confined processes. */

import assert from "node:assert/strict";
import { MAX_DENIALS } from "../../src/process/limits.ts";
import { command, RecordedChild } from "../support/recorded_child.ts";
import { attack, type AttackScene, REFUSED } from "./scene.ts";

/** Each line is one attempt, and must fail. */
async function allFail(scene: AttackScene, lines: readonly string[], policy?: string): Promise<void> {
  for (const line of lines) {
    const { code, stderr } = await scene.run(line, policy);
    assert.notEqual(code, 0, line);
    assert.match(stderr, REFUSED, `${line}: ${stderr}`);
  }
}

attack("no tool writes, links, renames or removes outside", async (scene) => {
  await allFail(scene, [
    "echo x > ../out/new",
    "echo x > esc",
    "echo x > escd/new",
    "ln ../out/o.txt hard && echo x > hard",
    "ln ../out/secret stolen",
    "mv in.txt ../out/",
    "mv ../out/o.txt .",
    "rm -r ../out",
    "mkdir ../out/d",
    "cp in.txt ../out/o.txt",
    "echo x > /proc/self/cwd/../out/new",
    "exec 3< ../out/o.txt && echo x > /proc/self/fd/3",
  ]);
});

attack("modes, owners and times outside stay as they are", async (scene) => {
  await allFail(scene, [
    "chmod 777 ../out/o.txt",
    "chmod 777 ../out",
    "chown 1:1 ../out/o.txt",
    "touch ../out/o.txt",
    "touch -t 200001010000 ../out/o.txt",
    "truncate -s 0 ../out/o.txt",
  ]);
});

attack("a protected directory cannot be moved, removed, replaced or made", async (scene) => {
  await Deno.mkdir(`${scene.ws}/.git/hooks`, { recursive: true });
  await allFail(scene, [
    "mv .git git",
    "rm -r .git",
    "echo evil > .git/hooks/pre-commit",
    "ln -sfn sub .git/hooks",
    "mkdir -p .codex/x",
    "ln -s sub .agents",
  ]);
  assert.deepEqual(Array.from(Deno.readDirSync(`${scene.ws}/.git`), ({ name }) => name), ["hooks"]);
});

attack("what is denied is not read, whatever it is called", async (scene) => {
  await Deno.symlink("../out/secret", `${scene.ws}/s`);
  await allFail(
    scene,
    ["cat ../out/secret", "cat s", `cat /proc/self/root${scene.out}/secret`, "cp s t", "ln ../out/secret t && cat t"],
    "read /, write ws, deny out/secret",
  );
});

attack("no mount and no namespace undoes the view", async (scene) => {
  await allFail(scene, [
    "mount --bind / sub",
    "mount -o remount,rw /",
    "umount .",
    "unshare -Ur true",
    "unshare -m true",
    "nsenter -t 1 -m true",
  ]);
}, { needs: ["mount", "umount", "unshare", "nsenter"] });

attack("the server is not seen, signalled or traced", async (scene) => {
  await allFail(scene, [`ls /proc/${Deno.pid}/root/`, `cat /proc/${Deno.pid}/environ`]);
  const { stdout } = await scene.run(`kill -9 ${Deno.pid} 2>&1; kill -9 -1 2>&1; echo`);
  assert.ok(stdout !== null, "the server is still here to look");
  const PTRACE_ATTACH = 16;
  const { stdout: traced } = await scene.perl(
    `my $r = syscall(101, ${PTRACE_ATTACH}, ${Deno.pid}, 0, 0); print "$r ", $! + 0;`,
  );
  assert.equal(traced, "-1 1");
}, { needs: ["perl"] });

attack("no socket of any kind leaves the sandbox", async (scene) => {
  using listener = Deno.listen({ transport: "unix", path: `${scene.ws}/socket` });
  using tcp = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = tcp.addr;
  const families = {
    UNIX_DGRAM: [1, 2],
    INET: [2, 1],
    INET_UDP: [2, 2],
    INET6: [10, 1],
    NETLINK: [16, 3],
    VSOCK: [40, 1],
  };
  for (const [name, [family, type]] of Object.entries(families)) {
    const { stdout } = await scene.perl(`socket(my $s, ${family}, ${type}, 0) ? print "open" : print $! + 0;`);
    assert.equal(stdout, "1", name);
  }
  const { stdout: connected } = await scene.perl(
    `use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die; ` +
      `connect($s, pack_sockaddr_un("${scene.ws}/socket")) ? print "in" : print $! + 0;`,
  );
  assert.equal(connected, "1");
  const { stderr } = await scene.run(`exec 3<>/dev/tcp/127.0.0.1/${port}`);
  assert.notEqual(stderr, "");
  listener.close();
}, { needs: ["perl"] });

attack("a hundred thousand refused calls stall nobody, and no refusal can be kept from the record", async (scene) => {
  const sandbox = scene.host.sandbox("read /, write ws");
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
    const { stdout } = await scene.perl("socket(my $s, 2, 1, 0) ? print 'open' : print $! + 0");
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
});

attack("no kernel interface goes round the filter", async (scene) => {
  const calls = { io_uring_setup: 425, bpf: 321, userfaultfd: 323, open_by_handle_at: 304, add_key: 248, setns: 308 };
  for (const [name, number] of Object.entries(calls)) {
    const { stdout } = await scene.perl(`my $r = syscall(${number}, 0, 0, 0, 0, 0); print "$r ", $! + 0;`);
    assert.equal(stdout, "-1 1", name);
  }
}, { needs: ["perl", ...(Deno.build.arch === "x86_64" ? [] : ["x86-64"])] });

attack(
  "a directory swapped for a link by a confined process does not lead the server's helper outside",
  async (scene) => {
    await Deno.mkdir(`${scene.ws}/d`);
    const end = await scene.start(
      "ln -s ../out l; echo up; while :; do mv d e; mv l d; mv d l; mv e d; done 2>/dev/null",
    );
    const files = await scene.sandboxed.under("read /, write ws");
    for (let round = 0; round < 60; round++) {
      const path = `${scene.ws}/d/new`;
      const content = new TextEncoder().encode("x");
      const request = { followSymlinks: true, atomic: false, breakHardLinks: false, ifMatch: null, mode: null };
      await files.writeFile({ path, data: content, ...request }).catch(() => {});
    }
    await end();
  },
);

attack("nothing that a process leaves behind outlives it", async (scene) => {
  const mark = `6${Deno.pid}.${performance.now().toFixed(0)}`;
  await scene.run(`setsid sh -c 'sleep ${mark} & sleep ${mark} &' & sleep 0.1; exit 0`);
  const left = Array.from(Deno.readDirSync("/proc"), ({ name }) => name).filter((name) => {
    try {
      return /^\d+$/.test(name) && Deno.readTextFileSync(`/proc/${name}/cmdline`).includes(mark);
    } catch {
      return false; // Gone meanwhile.
    }
  });
  assert.deepEqual(left, []);
});

attack("a read-only process changes nothing and signals nobody", async (scene) => {
  for (
    const line of [
      "echo x > ../out/new",
      "chmod 777 ../out/o.txt",
      "touch ../out/o.txt",
      "rm ../out/o.txt",
      `kill -0 ${Deno.pid}`,
    ]
  ) {
    const { code, stderr } = await scene.run(line, "read /");
    assert.notEqual(code, 0, line);
    assert.match(stderr, REFUSED, line);
  }
}, { setting: "landlock" });
