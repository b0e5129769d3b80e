import assert from "node:assert/strict";
import { MIN_LANDLOCK_ABI } from "../../../src/launch/backends/landlock.ts";
import { landlockVersion } from "../../../src/os/children/landlock.ts";
import { DomainError } from "../../../src/errors.ts";
import type { PreparedLaunch } from "../../../src/launch/launch_plan.ts";
import { SandboxSetUpError } from "../../../src/process/posix/confined_launch.ts";
import { CommandBackend } from "../../../src/process/command_backend.ts";
import {
  command,
  eventually,
  input,
  PIPES_WITH_INPUT,
  RecordedChild,
  shell,
  TERMINAL,
} from "../../support/recorded_child.ts";
import { namesIn, NO_SANDBOX, SandboxHost, sandboxTest } from "../../support/sandbox_host.ts";

const SIGINT = 2;
const SIGTERM = 15;
const SIGKILL = 9;

async function run(host: SandboxHost, script: string, policy = "read /, write ws"): Promise<RecordedChild> {
  const request = host.confined(shell(script, { cwd: `${host.root}/ws` }), host.sandbox(policy));
  return await RecordedChild.run(host.backend, request);
}

sandboxTest("a confined process writes inside its root and nowhere else", async (host) => {
  const script = "echo a > new; echo b > ../out/new; echo c > esc; echo d > escd/new; echo e > /tmp/../out2; echo done";
  const child = await run(host, script);
  assert.equal(child.text("stdout"), "done\n");
  assert.equal(child.text("stderr").match(/Read-only file system/g)?.length, 4);
  assert.equal(Deno.readTextFileSync(`${host.root}/ws/new`), "a\n");
  assert.deepEqual(namesIn(`${host.root}/out`), ["o.txt"]);
  assert.equal(Deno.readTextFileSync(`${host.root}/out/o.txt`), "out");
});

sandboxTest("a confined process has the descriptors 0 to 2 and no others", async (host) => {
  const child = await run(host, "for fd in /proc/self/fd/*; do echo ${fd##*/}; done");
  // The last one is the shell's own, for the directory.
  assert.deepEqual(child.text("stdout").trim().split("\n").slice(0, 3), ["0", "1", "2"]);
  assert.ok(child.text("stdout").trim().split("\n").length <= 4);
});

sandboxTest("exit codes and signals of a confined process pass through", async (host) => {
  assert.deepEqual(await (await run(host, "exit 7")).exit, { type: "exited", code: 7 });
  assert.deepEqual(await (await run(host, "kill -TERM $$")).exit, { type: "exited", code: 128 + SIGTERM });
});

sandboxTest("placeholders for protected names are gone when a confined process has closed", async (host) => {
  const child = await run(host, "mkdir .git; ls -A");
  assert.match(child.text("stderr"), /File exists|Read-only/);
  assert.deepEqual(namesIn(`${host.root}/ws`), ["esc", "escd", "in.txt", "sub"]);
});

sandboxTest("placeholders stay for as long as something inside still runs", async (host) => {
  const request = shell("sleep 600 >/dev/null 2>&1 & echo up; exec sleep 600", { cwd: `${host.root}/ws` });
  const child = await RecordedChild.start(host.backend, host.confined(request, host.sandbox("read /, write ws")));
  await child.saw("stdout", "up");
  assert.ok(namesIn(`${host.root}/ws`).includes(".git"));
  child.process.signalGroup(SIGKILL);
  await child.exit;
  await child.end;
  child.process.dispose();
  assert.deepEqual(namesIn(`${host.root}/ws`), ["esc", "escd", "in.txt", "sub"]);
});

sandboxTest("the end of a confined process's output is reported even while the backend closes", async (host) => {
  const request = shell("echo up; exec sleep 600", { cwd: `${host.root}/ws` });
  const child = await RecordedChild.start(host.backend, host.confined(request, host.sandbox("read /, write ws")));
  await child.saw("stdout", "up");
  await host.backend.close({ graceMs: 0 });
  assert.deepEqual(child.events, ["exit", "end"]);
  assert.deepEqual(namesIn(`${host.root}/ws`), ["esc", "escd", "in.txt", "sub"]);
});

sandboxTest("a missing program, and a directory that is a file, are reported as without a sandbox", async (host) => {
  const cases = [
    [command(["/nowhere/program"]), "No such file or directory (os error 2)"],
    [command(["no-such-program"]), "No such file or directory (os error 2)"],
    [command(["true"], { cwd: `${host.root}/ws/in.txt` }), "Not a directory (os error 20)"],
    [command(["true"], { cwd: `${host.root}/ws/in.txt/x` }), "Not a directory (os error 20)"],
  ] as const;
  for (const [request, message] of cases) {
    const confined = host.confined(request, host.sandbox("read /"));
    await assert.rejects(RecordedChild.start(host.backend, confined), { kind: "internal", message });
  }
});

sandboxTest("a file that is not a program is reported by the operating system's reason", async (host) => {
  Deno.chmodSync(`${host.root}/ws/in.txt`, 0o755);
  const request = host.confined(command([`${host.root}/ws/in.txt`]), host.sandbox("read /"));
  await assert.rejects(RecordedChild.start(host.backend, request), {
    kind: "internal",
    message: "Exec format error (os error 8)",
  });
});

for (const tellsEnd of [false, true]) {
  const who = tellsEnd ? "a wrapper whose command writes elsewhere" : "a wrapper";
  sandboxTest(`${who} that fails is an error that names the sandbox and not the command's exit`, async (host) => {
    const request = { ...shell("echo ran"), enforceManagedNetwork: false, tellsEnd };
    const confinement = host.service.confineCommand(host.sandbox("read /, write ws"), request)!;
    const broken = async (): Promise<PreparedLaunch> => {
      const { plan, release } = await confinement.prepare();
      const argv = [...plan.argv.slice(0, 3), "--no-such-option", ...plan.argv.slice(3)];
      return { plan: { ...plan, argv }, release };
    };
    const failure = await RecordedChild.start(host.backend, { ...shell("echo ran"), confinement: { prepare: broken } })
      .then(() => null, (error) => error);
    assert.ok(failure instanceof SandboxSetUpError);
    assert.equal(failure.kind, "internal");
    assert.match(failure.message, /^Cannot start process in its sandbox: .*no-such-option/);
    assert.deepEqual(namesIn(`${host.root}/ws`), ["esc", "escd", "in.txt", "sub"]);
  });
}

sandboxTest("an interrupt runs the trap of the program inside", async (host) => {
  const request = shell("trap 'echo caught; exit 3' INT; echo up; while :; do sleep 0.05; done", {
    cwd: `${host.root}/ws`,
  });
  const child = await RecordedChild.start(host.backend, host.confined(request, host.sandbox("read /, write ws")));
  await child.saw("stdout", "up");
  child.process.signalGroup(SIGINT);
  assert.deepEqual(await child.exit, { type: "exited", code: 3 });
  await child.end;
  assert.match(child.text("stdout"), /caught/);
  child.process.dispose();
});

sandboxTest("killing a confined process ends what has left its group and session, too", async (host) => {
  const script =
    "setsid sh -c 'echo $$ > pid; exec sleep 600' & while [ ! -s pid ]; do sleep 0.01; done; echo up; wait";
  const request = shell(script, { cwd: `${host.root}/ws` });
  const child = await RecordedChild.start(host.backend, host.confined(request, host.sandbox("read /, write ws")));
  await child.saw("stdout", "up");
  const inside = host.backend.descendantsOf(child.process);
  assert.ok(inside.length >= 3);
  child.process.signalGroup(SIGKILL);
  assert.deepEqual(await child.exit, { type: "signaled", signal: SIGKILL });
  await child.end;
  child.process.dispose();
  await eventually("nothing inside is left", () => host.backend.descendantsOf(child.process).length === 0);
});

sandboxTest("standard input reaches a confined process", async (host) => {
  const request = command(["cat"], { io: PIPES_WITH_INPUT, cwd: `${host.root}/ws` });
  const child = await RecordedChild.start(host.backend, host.confined(request, host.sandbox("read /")));
  assert.equal(await child.process.write(input("hello")), "written");
  child.process.closeInput();
  await child.exit;
  await child.end;
  assert.equal(child.text("stdout"), "hello");
  child.process.dispose();
});

/** Whether it is this program, runs, and its group has the terminal. */
function isInForeground(pid: number, program: string): boolean {
  try {
    const match = /\((.*)\) (\S) \d+ (\d+) \d+ \d+ (-?\d+) /.exec(Deno.readTextFileSync(`/proc/${pid}/stat`));
    return match !== null && match[1] === program && match[2] !== "T" && match[3] === match[4];
  } catch {
    return false; // It has ended.
  }
}

sandboxTest("job control works in a confined terminal", async (host) => {
  const request = command(["bash", "--norc", "-i"], { io: TERMINAL, cwd: `${host.root}/ws` });
  const child = await RecordedChild.start(host.backend, host.confined(request, host.sandbox("read /, write ws")));
  await child.process.write(input("PS1=; stty -echo; echo rea''dy\n"));
  await child.saw("pty", "ready");
  assert.doesNotMatch(child.text("pty"), /no job control/);
  await child.process.write(input("sleep 600\n"));
  // Forked is not enough: until it has the terminal, what is typed goes to the shell.
  const hasTerminal = () => host.backend.descendantsOf(child.process).some(({ pid }) => isInForeground(pid, "sleep"));
  await eventually("sleep runs in the foreground", hasTerminal);
  await child.process.write(input("\x1a"));
  await child.saw("pty", "Stopped");
  await child.process.write(input("fg\n"));
  await eventually("sleep is in the foreground again", () => (child.text("pty").match(/sleep 600/g)?.length ?? 0) >= 2);
  await eventually("and runs", hasTerminal);
  await child.process.write(input("\x03"));
  await child.process.write(input("echo code-$?\n"));
  await child.saw("pty", "code-130");
  await child.process.write(input("exit 5\n"));
  assert.deepEqual(await child.exit, { type: "exited", code: 5 });
  await child.end;
  child.process.dispose();
});

sandboxTest("a path that is replaced by a link while a process is being started is looked at again", async (host) => {
  const confinement = host.service.confineCommand(host.sandbox("read /, write ws, write ws/sub"), {
    ...shell("echo x > sub/new", { cwd: `${host.root}/ws` }),
    enforceManagedNetwork: false,
  })!;
  let launches = 0;
  const raced = async (): Promise<PreparedLaunch> => {
    const launch = await confinement.prepare();
    if (launches++ === 0) {
      await Deno.rename(`${host.root}/ws/sub`, `${host.root}/moved`);
      await Deno.symlink("../out", `${host.root}/ws/sub`);
    }
    return launch;
  };
  const starting = RecordedChild.start(host.backend, { ...shell(""), confinement: { prepare: raced } });
  await assert.rejects(starting, { kind: "invalidRequest", message: /symbolic link that the program could replace/ });
  assert.equal(launches, 1);
  assert.deepEqual(namesIn(`${host.root}/out`), ["o.txt"]);
});

sandboxTest("twenty confined processes at once get their own descriptors and leave none behind", async (host) => {
  const children = await Promise.all(Array.from({ length: 20 }, (_, index) => run(host, `echo ${index}`)));
  assert.deepEqual(children.map((child) => child.text("stdout")), children.map((_, index) => `${index}\n`));
  await host.backend.close({ graceMs: 0 });
  // Other tests of this process have descriptors of their own; those for this sandbox's paths are told by their targets.
  const targets = namesIn("/proc/self/fd").map((fd) => {
    try {
      return Deno.readLinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return ""; // Closed meanwhile.
    }
  });
  assert.deepEqual(targets.filter((target) => target.includes(host.root)), []);
  assert.deepEqual(namesIn(`${host.root}/ws`), ["esc", "escd", "in.txt", "sub"]);
});

sandboxTest("a policy about the network alone leaves files as they are", async (host) => {
  const sandbox = { ...host.sandbox("read /"), permissions: { type: "external", network: "restricted" } } as const;
  const script = "echo x > ../out/new; exec 3<>/dev/tcp/127.0.0.1/1";
  const request = host.confined(command(["bash", "-c", script], { cwd: `${host.root}/ws` }), sandbox);
  const child = await RecordedChild.run(host.backend, request);
  assert.deepEqual(namesIn(`${host.root}/out`), ["new", "o.txt"]);
  assert.match(child.text("stderr"), /Operation not permitted/);
});

const isWrapped = landlockVersion() < MIN_LANDLOCK_ABI;

sandboxTest(
  "what a process without network leaves running lives on if only Landlock confines it",
  async (host) => {
    const sandbox = { ...host.sandbox("read /"), permissions: { type: "external", network: "restricted" } } as const;
    const request = host.confined(shell("sleep 600 >/dev/null 2>&1 & echo up"), sandbox);
    const child = await RecordedChild.start(host.backend, request);
    await child.exit;
    await child.end;
    assert.equal(host.backend.descendantsOf(child.process).length, isWrapped ? 0 : 1);
    child.process.dispose();
  },
);

Deno.test("with the setting refuse a confined start is refused before anything is made", async () => {
  await using host = await SandboxHost.open("refuse");
  const request = host.confined(shell("echo ran"), host.sandbox("read /, write ws"));
  const failure = await RecordedChild.start(host.backend, request).then(() => null, (error) => error);
  assert.ok(failure instanceof DomainError);
  assert.equal(failure.kind, "invalidRequest");
  assert.match(failure.message, /turned off/);
  assert.deepEqual(namesIn(`${host.root}/ws`), ["esc", "escd", "in.txt", "sub"]);
});

Deno.test("a managed network is refused with a sandbox that opens the network, since there is no proxy", async () => {
  await using host = await SandboxHost.open();
  const command = { ...shell("true"), enforceManagedNetwork: true };
  const full = { ...host.sandbox("read /"), permissions: { type: "disabled" } } as const;
  for (const sandbox of [host.sandbox("read /", "enabled"), full]) {
    assert.throws(() => host.service.confineCommand(sandbox, command), { kind: "invalidRequest" });
  }
  assert.notEqual(host.service.confineCommand(host.sandbox("read /"), command), null);
});

Deno.test("a NUL in a variable never becomes an argument of the wrapper", async () => {
  await using host = await SandboxHost.open();
  const request = shell("true", { env: { A: "b\0--bind\0/\0/" } });
  assert.throws(() => host.confined(request, host.sandbox("read /")), { kind: "internal", message: /NUL/ });
});

Deno.test("a backend that cannot confine refuses", async () => {
  const backend = new CommandBackend();
  const request = { ...shell("true"), confinement: { prepare: () => Promise.reject(new Error("asked")) } };
  await assert.rejects(RecordedChild.start(backend, request), { kind: "internal", message: /sandbox/ });
  await backend.close({ graceMs: 0 });
});

Deno.test({
  name: `a policy about the network alone keeps terminal, devices and ids with bubblewrap${
    NO_SANDBOX === null ? "" : ` (SKIPPED: ${NO_SANDBOX})`
  }`,
  ignore: NO_SANDBOX !== null,
  async fn() {
    await using host = await SandboxHost.open("bubblewrap");
    const sandbox = { ...host.sandbox("read /"), permissions: { type: "external", network: "restricted" } } as const;
    const script = "id -u; test -t 0 && test -c /dev/tty && ls /dev/ptmx && : > /dev/tty; tty; cut -c1 /proc/1/stat";
    const request = host.confined(shell(script, { io: TERMINAL }), sandbox);
    const child = await RecordedChild.run(host.backend, request);
    const lines = child.text("pty").trim().split("\r\n");
    assert.deepEqual([lines[0], lines[1], lines[3]], [`${Deno.uid()}`, "/dev/ptmx", "1"]);
    assert.match(lines[2]!, /^\/dev\/pts\/\d+$/);
  },
});
