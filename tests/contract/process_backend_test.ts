/**
 * What every backend promises, run on each of them. Where one promises less, the table says so and the test checks that
 * it refuses instead of doing something else.
 *
 * More than 300 lines: one contract, and the table of its backends.
 */

import assert from "node:assert/strict";
import { DomainError } from "../../src/errors.ts";
import type { ExitStatus, ProcessBackend, SpawnRequest } from "../../src/process/backend.ts";
import { MAX_OUTPUT_CHUNK_BYTES } from "../../src/process/backend.ts";
import { CommandBackend } from "../../src/process/command_backend.ts";
import { PosixBackend } from "../../src/process/posix/posix_backend.ts";
import { Gate } from "../support/gate.ts";
import {
  command,
  eventually,
  input,
  PIPES_WITH_INPUT,
  RecordedChild,
  sha256,
  shell,
  TERMINAL,
  TEST_ENV,
} from "../support/recorded_child.ts";

interface Abilities {
  /** Terminals, `arg0`, directories named by bytes. */
  readonly startsAnything: boolean;
  /** Each child leads a session and a group of its own, and signals reach the group. */
  readonly ownSession: boolean;
  /** Descendants that outlive the child are found and ended. */
  readonly endsDescendants: boolean;
  /** What a child wrote is told before its exit. `Deno.Command` tells of the two independently. */
  readonly ordersExitAfterOutput: boolean;
}

const EVERYTHING: Abilities = {
  startsAnything: true,
  ownSession: true,
  endsDescendants: true,
  ordersExitAfterOutput: true,
};
const LITTLE: Abilities = {
  startsAnything: false,
  ownSession: true,
  endsDescendants: false,
  ordersExitAfterOutput: false,
};

const BACKENDS: ReadonlyArray<{ name: string; make(): ProcessBackend; can: Abilities }> = [
  { name: "posix", make: () => new PosixBackend(), can: EVERYTHING },
  { name: "posix without pidfds", make: () => new PosixBackend({ exitNotice: { usePidfd: false } }), can: EVERYTHING },
  { name: "command", make: () => new CommandBackend(), can: LITTLE },
];

interface Scene {
  readonly backend: ProcessBackend;
  /** Empty, and removed afterwards. */
  readonly directory: string;
  readonly can: Abilities;
}

/** Runs the test once per backend. Whatever is still running at the end of it is ended, and must be endable. */
function everyBackend(
  claim: string,
  test: (scene: Scene) => Promise<void>,
  needs: (can: Abilities) => boolean = () => true,
) {
  for (const { name, make, can } of BACKENDS) {
    if (!needs(can)) continue;
    Deno.test(`${name} backend ${claim}`, async () => {
      const directory = await Deno.makeTempDir();
      const backend = make();
      try {
        await test({ backend, directory, can });
      } finally {
        const { survivors } = await backend.close({ graceMs: 0 });
        await Deno.remove(directory, { recursive: true });
        assert.deepEqual(survivors, []);
      }
    });
  }
}

const onTerminals = (can: Abilities) => can.startsAnything;
const ofSessions = (can: Abilities) => can.ownSession;

async function refusal(backend: ProcessBackend, request: SpawnRequest): Promise<string> {
  try {
    await RecordedChild.start(backend, request);
  } catch (error) {
    assert.ok(error instanceof DomainError, `${error}`);
    assert.equal(error.kind, "internal");
    return error.message;
  }
  throw new assert.AssertionError({ message: `was started: ${request.argv}` });
}

// ---- output

everyBackend("delivers every byte of both streams, however much", async ({ backend }) => {
  const up = Array.from({ length: 400_000 }, (_, index) => `${index + 1}\n`);
  const child = await RecordedChild.run(backend, shell("seq 1 400000 & seq 400000 -1 1 >&2; wait"));
  assert.equal(await sha256(child.bytes("stdout")), await sha256(input(up.join(""))));
  assert.equal(await sha256(child.bytes("stderr")), await sha256(input(up.reverse().join(""))));
  assert.ok(child.chunks.every(({ bytes }) => bytes.length > 0 && bytes.length <= MAX_OUTPUT_CHUNK_BYTES));
});

everyBackend("does not change binary output", async ({ backend, directory }) => {
  const bytes = new Uint8Array(300_000);
  for (let offset = 0; offset < bytes.length; offset += 60_000) {
    crypto.getRandomValues(bytes.subarray(offset, offset + 60_000));
  }
  await Deno.writeFile(`${directory}/noise`, bytes);
  const child = await RecordedChild.run(backend, command(["cat", `${directory}/noise`]));
  assert.equal(await sha256(child.bytes("stdout")), await sha256(bytes));
});

everyBackend("delivers small output at once, while the child goes on", async ({ backend, directory }) => {
  const gate = await Gate.make(directory, "gate");
  const child = await RecordedChild.start(backend, shell(`printf a; read go < ${gate.path}; printf b`));
  await child.saw("stdout", "a");
  assert.deepEqual(child.events, []);
  await gate.open();
  await child.end;
  assert.equal(child.text("stdout"), "ab");
});

everyBackend("reports exit before the end of output that a grandchild holds open", async ({ backend, directory }) => {
  const gate = await Gate.make(directory, "gate");
  const child = await RecordedChild.start(backend, shell(`(read go < ${gate.path}; echo late) & echo early; exit 3`));
  assert.deepEqual(await child.exit, { type: "exited", code: 3 });
  assert.deepEqual(child.events, ["exit"]);
  await gate.open();
  await child.end;
  assert.equal(child.text("stdout"), "early\nlate\n");
});

everyBackend("tells what the child wrote before it tells of its exit", async ({ backend }) => {
  for (let round = 0; round < 20; round++) {
    const child = await RecordedChild.start(backend, shell("printf last"));
    await child.exit;
    assert.equal(child.text("stdout"), "last");
    child.process.dispose();
  }
}, (can) => can.ordersExitAfterOutput);

everyBackend("makes a child wait while its output is paused, and loses nothing", async ({ backend, directory }) => {
  const total = 8 * 1024 * 1024;
  const done = await Gate.make(directory, "done");
  const child = await RecordedChild.start(backend, shell(`head -c ${total} /dev/zero; echo finished > ${done.path}`));
  child.process.pauseOutput();
  let isFinished = false;
  const finished = done.readAll().then((text) => {
    isFinished = true;
    return text;
  });
  const writer = await descendantNamed(child.process.pid, "head");
  await eventually("the writer is blocked in its pipe", () => isBlockedWriting(writer));
  const received = child.bytes("stdout").length;
  assert.ok(!isFinished && received < total, `${received} bytes arrived`);
  child.process.pauseOutput();
  child.process.resumeOutput();
  assert.equal(await finished, "finished\n");
  await child.end;
  assert.equal(child.bytes("stdout").length, total);
});

everyBackend("reports an exit also while output is paused, and delivers the output later", async ({ backend }) => {
  const child = await RecordedChild.start(backend, shell("echo kept; exit 4"));
  child.process.pauseOutput();
  assert.deepEqual(await child.exit, { type: "exited", code: 4 });
  assert.deepEqual([child.text("stdout"), child.events], ["", ["exit"]]);
  child.process.resumeOutput();
  await child.end;
  assert.equal(child.text("stdout"), "kept\n");
});

everyBackend("ends output at once when told to stop reading", async ({ backend }) => {
  const child = await RecordedChild.start(backend, command(["yes"]));
  await child.saw("stdout", "y\n");
  child.process.stopReading();
  const seen = child.chunks.length;
  await child.end;
  child.process.stopReading();
  assert.deepEqual(await child.exit, { type: "signaled", signal: 13 });
  assert.equal(child.chunks.length, seen);
  assert.deepEqual(child.events, ["end", "exit"]);
});

everyBackend("delivers what is in the pipes before it stops reading them", async ({ backend, directory }) => {
  const text = `read line; echo last words; touch ${directory}/done; exec sleep 1000`;
  const child = await RecordedChild.start(backend, shell(text, { io: PIPES_WITH_INPUT }));
  const write = child.process.write(input("go\n"));
  // No turn of the event loop passes, as on a machine that is too busy for one.
  while (!exists(`${directory}/done`)) { /* It is written now. */ }
  child.process.stopReading();
  assert.equal(child.text("stdout"), "last words\n");
  child.process.signalGroup(9);
  await Promise.all([write, child.end, child.exit]);
}, (can) => can.ordersExitAfterOutput);

everyBackend("delivers all that is in a pipe which its child has made larger", async ({ backend, directory }) => {
  const bytes = 1024 * 1024;
  const program = `fcntl(STDOUT, 1031, ${bytes}) or die $!; syswrite(STDOUT, "x" x ${bytes}); ` +
    `open(my $done, ">", "${directory}/done"); sleep 1000`;
  const child = await RecordedChild.start(backend, command(["perl", "-e", program]));
  while (!exists(`${directory}/done`)) { /* No turn of the event loop passes. */ }
  child.process.stopReading();
  assert.equal(child.text("stdout").length, bytes);
  child.process.signalGroup(9);
  await Promise.all([child.end, child.exit]);
}, (can) => can.ordersExitAfterOutput);

everyBackend("stops reading also what a grandchild would hold open for ever", async ({ backend }) => {
  const child = await RecordedChild.start(backend, shell("sleep 1000 & exit 0"));
  await child.exit;
  child.process.stopReading();
  await child.end;
}, (can) => can.endsDescendants);

// ---- before it is begun

everyBackend("keeps what a child does before it is begun, and tells it then", async ({ backend, directory }) => {
  const child = await RecordedChild.spawn(backend, shell(`echo early; echo >&2 late; touch ${directory}/done; exit 7`));
  await eventually("the child is done", () => exists(`${directory}/done`));
  assert.deepEqual([child.chunks, child.events], [[], []]);
  child.process.begin(child);
  assert.deepEqual([child.chunks, child.events], [[], []], "nothing is told from inside the call");
  assert.deepEqual(await child.exit, { type: "exited", code: 7 });
  await child.end;
  assert.deepEqual([child.text("stdout"), child.text("stderr")], ["early\n", "late\n"]);
  child.process.dispose();
});

everyBackend("tells a child that was stopped to be read before it was begun", async ({ backend }) => {
  // Whether it writes before the pipe is closed or after, it lives.
  const child = await RecordedChild.spawn(backend, shell("trap '' PIPE; echo unheard; exec sleep 1000"));
  child.process.stopReading();
  child.process.signalGroup(9);
  child.process.begin(child);
  await child.end;
  assert.deepEqual([await child.exit, child.chunks], [{ type: "signaled", signal: 9 }, []]);
  child.process.dispose();
});

everyBackend("ends and reaps children that are never begun", async ({ backend }) => {
  const over = await RecordedChild.spawn(backend, command(["true"]));
  const ended = await RecordedChild.spawn(backend, command(["sleep", "1000"]));
  await backend.endTrees([ended.process], { graceMs: 0 });
  for (const { process, events } of [over, ended]) {
    process.dispose();
    await eventually("the child is reaped", () => !exists(`/proc/${process.pid}`));
    assert.deepEqual(events, []);
  }
  // The end of the test ends this one with the backend.
  await RecordedChild.spawn(backend, command(["sleep", "1000"]));
});

// ---- exit

everyBackend("reports how a child ended", async ({ backend }) => {
  const cases: ReadonlyArray<[script: string, status: ExitStatus]> = [
    ["exit 0", { type: "exited", code: 0 }],
    ["exit 7", { type: "exited", code: 7 }],
    ["exit 255", { type: "exited", code: 255 }],
    ["kill -TERM $$", { type: "signaled", signal: 15 }],
    ["kill -KILL $$", { type: "signaled", signal: 9 }],
    ["kill -SEGV $$", { type: "signaled", signal: 11 }],
  ];
  for (const [script, status] of cases) {
    const child = await RecordedChild.run(backend, shell(script));
    assert.deepEqual(await child.exit, status, script);
    assert.deepEqual([...child.events].sort(), ["end", "exit"], script);
  }
});

everyBackend("keeps 40 children at a time apart", async ({ backend }) => {
  const children = await Promise.all(
    Array.from({ length: 40 }, (_, index) => RecordedChild.run(backend, shell(`echo ${index}; exit ${index}`))),
  );
  const seen = await Promise.all(children.map(async (child) => [child.text("stdout"), await child.exit]));
  assert.deepEqual(seen, children.map((_, index) => [`${index}\n`, { type: "exited", code: index }]));
});

everyBackend("says nothing more about a child that was disposed of, and still reaps it", async ({ backend }) => {
  const child = await RecordedChild.start(backend, command(["sleep", "1000"]));
  child.process.dispose();
  child.process.dispose();
  assert.equal(await child.process.write(input("x")), "closed");
  assert.equal(child.process.signalGroup(9), true);
  await eventually("the child is gone", () => !exists(`/proc/${child.process.pid}`));
  assert.equal(child.process.signalGroup(9), false);
  assert.deepEqual(child.events, []);
});

// ---- input

everyBackend("keeps input of any size intact for a late reader", async ({ backend, directory }) => {
  const gate = await Gate.make(directory, "gate");
  const bytes = new Uint8Array(4 * 1024 * 1024).map((_, index) => index * 31 + (index >> 8));
  const child = await RecordedChild.start(
    backend,
    shell(`read go < ${gate.path}; sha256sum`, { io: PIPES_WITH_INPUT }),
  );
  const written = [bytes.subarray(0, 100_000), bytes.subarray(100_000)].map((part) => child.process.write(part));
  assert.ok(child.process.queuedInputBytes > bytes.length / 2);
  child.process.closeInput();
  await gate.open();
  assert.deepEqual(await Promise.all(written), ["written", "written"]);
  assert.equal(child.process.queuedInputBytes, 0);
  await child.end;
  assert.equal(child.text("stdout").slice(0, 64), await sha256(bytes));
});

everyBackend("ends input after everything queued, and refuses later writes", async ({ backend }) => {
  const child = await RecordedChild.start(backend, command(["wc", "-c"], { io: PIPES_WITH_INPUT }));
  const writes = Array.from({ length: 16 }, () => child.process.write(new Uint8Array(100_000)));
  child.process.closeInput();
  assert.equal(await child.process.write(input("too late")), "closed");
  await child.end;
  assert.equal(child.text("stdout").trim(), "1600000");
  assert.deepEqual(new Set(await Promise.all(writes)), new Set(["written"]));
});

everyBackend("reports input as closed when the child has closed it", async ({ backend, directory }) => {
  const gate = await Gate.make(directory, "gate");
  const child = await RecordedChild.start(
    backend,
    shell(`exec 0<&-; echo closed; read go < ${gate.path}`, { io: PIPES_WITH_INPUT }),
  );
  await child.saw("stdout", "closed");
  // Another child being started at this moment has a copy of the other end for an instant.
  await eventually("it is closed", async () => await child.process.write(input("anyone?")) === "closed");
  assert.equal(await child.process.write(input("no?")), "closed");
  await gate.open();
  await child.exit;
});

everyBackend("settles writes that the child never took", async ({ backend }) => {
  const child = await RecordedChild.start(backend, command(["sleep", "1000"], { io: PIPES_WITH_INPUT }));
  const write = child.process.write(new Uint8Array(1024 * 1024));
  child.process.signalGroup(9);
  assert.equal(await write, "closed");
});

everyBackend("gives a child without input an empty one", async ({ backend }) => {
  const child = await RecordedChild.start(backend, command(["cat"]));
  assert.equal(await child.process.write(input("x")), "closed");
  await child.end;
  assert.deepEqual(await child.exit, { type: "exited", code: 0 });
});

everyBackend("accepts an empty write", async ({ backend }) => {
  const child = await RecordedChild.start(backend, command(["cat"], { io: PIPES_WITH_INPUT }));
  assert.equal(await child.process.write(new Uint8Array(0)), "written");
  child.process.closeInput();
  await child.end;
});

// ---- what the child starts with

everyBackend("gives the child exactly its environment and directory", async ({ backend, directory }) => {
  const env = { ...TEST_ENV, EMPTY: "", "odd name": "ünï=code\n" };
  const child = await RecordedChild.run(backend, command(["env", "-0"], { env }));
  const seen = child.text("stdout").split("\0").filter((line) => line !== "").sort();
  assert.deepEqual(seen, Object.entries(env).map(([name, value]) => `${name}=${value}`).sort());
  const where = await RecordedChild.run(backend, command(["pwd"], { cwd: directory, env }));
  assert.equal(where.text("stdout"), `${await Deno.realPath(directory)}\n`);
});

everyBackend("looks programs up on the PATH of the child", async ({ backend, directory }) => {
  await Deno.mkdir(`${directory}/tools`);
  await Deno.mkdir(`${directory}/decoy/hello`, { recursive: true });
  await Deno.writeTextFile(`${directory}/tools/hello`, "#!/bin/sh\necho found\n", { mode: 0o755 });
  for (const path of [`${directory}/tools`, `/nowhere:${directory}/decoy:${directory}/tools:/bin`]) {
    const child = await RecordedChild.run(backend, command(["hello"], { env: { PATH: path } }));
    assert.equal(child.text("stdout"), "found\n", path);
  }
  const relative = command(["./tools/hello"], { cwd: directory });
  assert.equal((await RecordedChild.run(backend, relative)).text("stdout"), "found\n");
  const withoutPath = await RecordedChild.run(backend, command(["env"], { env: {} }));
  assert.deepEqual([withoutPath.text("stdout"), await withoutPath.exit], ["", { type: "exited", code: 0 }]);
});

everyBackend("gives the child default signals, none of them blocked", async ({ backend, can }) => {
  const child = await RecordedChild.run(backend, command(["cat", "/proc/self/status"]));
  const maskIn = (status: string, name: string) => BigInt(`0x${new RegExp(`${name}:\\s+(\\w+)`).exec(status)![1]}`);
  // Signals 32 and 33 are the C library's own; it ignores them in every child.
  let expected = 3n << 31n;
  // The runtime's own spawning passes on what its caller was told to ignore, as `nohup` and a shell's `&` do.
  if (!can.startsAnything) expected |= maskIn(await Deno.readTextFile("/proc/self/status"), "SigIgn");
  assert.equal(maskIn(child.text("stdout"), "SigIgn") & ~expected, 0n);
  assert.equal(maskIn(child.text("stdout"), "SigBlk"), 0n);
});

everyBackend("says in the system's words why a program cannot be started", async ({ backend, directory }) => {
  await Deno.writeTextFile(`${directory}/file`, "");
  await Deno.writeTextFile(`${directory}/locked`, "", { mode: 0o644 });
  const cases: ReadonlyArray<[request: SpawnRequest, message: string]> = [
    [command(["no-such-program"]), "No such file or directory (os error 2)"],
    [command(["/no/such/program"]), "No such file or directory (os error 2)"],
    [command([""]), "No such file or directory (os error 2)"],
    [command(["true"], { env: { PATH: "/nowhere" } }), "No such file or directory (os error 2)"],
    [command(["true"], { cwd: `${directory}/missing` }), "No such file or directory (os error 2)"],
    [command(["true"], { cwd: `${directory}/file` }), "Not a directory (os error 20)"],
    [command([directory]), "Permission denied (os error 13)"],
    [command([`${directory}/locked`]), "Permission denied (os error 13)"],
    [command(["true", "x".repeat(200_000)]), "Argument list too long (os error 7)"],
  ];
  for (const [request, message] of cases) assert.equal(await refusal(backend, request), message, `${request.argv}`);
});

everyBackend(
  "says for the log what is missing: the program, its interpreter, or the directory",
  async ({ backend, directory }) => {
    const script = `${directory}/script`;
    await Deno.writeTextFile(script, "#!/no/such/interpreter\n", { mode: 0o755 });
    const cases: ReadonlyArray<[request: SpawnRequest, detail: string]> = [
      [command(["/no/such/program"]), 'there is no program "/no/such/program"'],
      [command([script]), `the interpreter of program "${script}" is missing`],
      [command(["./script"], { cwd: directory }), 'the interpreter of program "./script" is missing'],
      [command([script], { cwd: `${directory}/missing` }), `there is no working directory ${directory}/missing`],
    ];
    for (const [request, expected] of cases) {
      await assert.rejects(async () => await backend.spawn(request), (error) => {
        assert.ok(error instanceof DomainError);
        assert.equal(error.detail, expected);
        return true;
      });
    }
  },
);

everyBackend("refuses NUL bytes by name", async ({ backend }) => {
  const cases: ReadonlyArray<[request: SpawnRequest, what: string]> = [
    [command(["tr\0ue"]), "argument 0"],
    [command(["true", "a\0b"]), "argument 1"],
    [command(["true"], { arg0: "a\0b" }), "arg0"],
    [command(["true"], { cwd: "/\0" }), "the working directory"],
    [command(["true"], { cwd: new Uint8Array([0x2f, 0]) }), "the working directory"],
    [command(["true"], { env: { A: "1\0" } }), "environment variable A"],
    [command(["true"], { env: { "A\0": "1" } }), "the name of an environment variable"],
  ];
  for (const [request, what] of cases) {
    assert.equal(await refusal(backend, request), `Cannot start process: ${what} contains a NUL byte`);
  }
});

everyBackend("refuses what no system takes before it looks for the program", async ({ backend }) => {
  const long = "x".repeat(6 * 1024 * 1024);
  const cases: ReadonlyArray<[request: SpawnRequest, detail: RegExp]> = [
    [command(["true", long]), /^6291\d+ bytes of arguments and variables$/],
    [command(["true"], { env: { A: long } }), /^6291\d+ bytes of arguments and variables$/],
    [command(["true"], { env: { PATH: ":".repeat(1024) } }), /^PATH names more than 1024 directories$/],
  ];
  for (const [request, detail] of cases) {
    await assert.rejects(async () => await backend.spawn(request), (error) => {
      assert.ok(error instanceof DomainError);
      assert.equal(error.message, "Argument list too long (os error 7)");
      assert.match(error.detail ?? "", detail);
      return true;
    });
  }
});

everyBackend("finds a program in the last of as many directories as are searched", async ({ backend }) => {
  const PATH = `${"/nonexistent:".repeat(1023)}/bin`;
  const child = await RecordedChild.run(backend, command(["echo", "found"], { env: { PATH } }));
  assert.equal(child.text("stdout"), "found\n");
});

everyBackend("tells of every end while it closes, also of output that nobody read", async ({ backend }) => {
  const quiet = await RecordedChild.start(backend, command(["sleep", "600"]));
  const unread = await RecordedChild.start(backend, shell("echo up; exec yes"));
  await unread.saw("stdout", "up");
  unread.process.pauseOutput();
  await backend.close({ graceMs: 0 });
  assert.deepEqual(quiet.events.toSorted(), ["end", "exit"]);
  assert.deepEqual(unread.events.toSorted(), ["end", "exit"]);
});

everyBackend("refuses to start anything once closed", async ({ backend }) => {
  await backend.close({ graceMs: 0 });
  assert.match(await refusal(backend, command(["true"])), /shutting down/);
});

everyBackend("refuses what it cannot do instead of doing something else", async ({ backend }) => {
  assert.match(await refusal(backend, command(["true"], { io: TERMINAL })), /terminals are not supported/);
  assert.match(await refusal(backend, command(["true"], { arg0: "other" })), /arg0 is not supported/);
  const latin1 = new Uint8Array([0x2f, 0xe9]);
  assert.match(await refusal(backend, command(["true"], { cwd: latin1 })), /not valid UTF-8/);
}, (can) => !can.startsAnything);

everyBackend("tells a child another name for itself", async ({ backend }) => {
  const child = await RecordedChild.run(backend, command(["cat", "/proc/self/cmdline"], { arg0: "another name" }));
  assert.equal(child.text("stdout"), "another name\0/proc/self/cmdline\0");
}, (can) => can.startsAnything);

everyBackend("starts a child in a directory whose name is not UTF-8", async ({ backend, directory }) => {
  const made = await RecordedChild.run(backend, shell(`mkdir "$(printf 'caf\\351')"`, { cwd: directory }));
  assert.deepEqual(await made.exit, { type: "exited", code: 0 });
  const path = new Uint8Array([...input(`${await Deno.realPath(directory)}/caf`), 0xe9]);
  const child = await RecordedChild.run(backend, command(["pwd"], { cwd: path }));
  assert.deepEqual([...child.bytes("stdout")], [...path, 0x0a]);
}, (can) => can.startsAnything);

// ---- sessions and signals

everyBackend("makes the child leader of its own session and group", async ({ backend, can }) => {
  for (const io of can.startsAnything ? [PIPES_WITH_INPUT, TERMINAL] : [PIPES_WITH_INPUT]) {
    const child = await RecordedChild.run(backend, command(["cat", "/proc/self/stat"], { io }));
    const fields = child.text(io.type === "pty" ? "pty" : "stdout").split(") ")[1]!.split(" ");
    const [pgid, sid, terminal, foregroundGroup] = fields.slice(2, 6).map(Number);
    assert.deepEqual([pgid, sid], [child.process.pid, child.process.pid]);
    assert.deepEqual([terminal !== 0, foregroundGroup], io.type === "pty" ? [true, pgid] : [false, -1]);
  }
}, ofSessions);

everyBackend("signals the whole group", async ({ backend }) => {
  const child = await RecordedChild.start(backend, shell("sleep 1000 & sleep 1000 & echo ready; wait"));
  await child.saw("stdout", "ready");
  assert.equal(child.process.signalGroup(15), true);
  assert.deepEqual(await child.exit, { type: "signaled", signal: 15 });
  // Both sleepers hold the output open.
  await child.end;
  await eventually("nobody is left in the group", () => !child.process.signalGroup(15));
}, ofSessions);

everyBackend("reaches members of the group that outlive its leader", async ({ backend }) => {
  const child = await RecordedChild.start(backend, shell("sleep 1000 & exit 0"));
  await child.exit;
  assert.equal(child.process.signalGroup(9), true);
  await child.end;
  await eventually("nobody is left in the group", () => !child.process.signalGroup(9));
  child.process.dispose();
  assert.equal(child.process.signalGroup(9), false);
}, ofSessions);

everyBackend("signals a child and reports when there is none", async ({ backend }) => {
  const child = await RecordedChild.start(
    backend,
    shell("trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.01; done"),
  );
  await child.saw("stdout", "ready");
  assert.equal(child.process.signalGroup(2), true);
  assert.deepEqual(await child.exit, { type: "exited", code: 5 });
  await child.end;
  assert.equal(child.text("stdout"), "ready\ncaught\n");
  await eventually("nobody is left", () => !child.process.signalGroup(2));
});

everyBackend("ends a child that ignores SIGTERM after the grace", async ({ backend }) => {
  const child = await RecordedChild.start(backend, shell("trap '' TERM; echo ready; while :; do sleep 0.01; done"));
  await child.saw("stdout", "ready");
  const report = await backend.endTrees([child.process], { graceMs: 50 });
  assert.deepEqual(report.survivors, []);
  assert.ok(report.endedCount >= 1);
  assert.deepEqual(await child.exit, { type: "signaled", signal: 9 });
});

everyBackend("lets a child end by itself within the grace", async ({ backend }) => {
  const child = await RecordedChild.start(
    backend,
    shell("trap 'exit 6' TERM; echo ready; while :; do sleep 0.01; done"),
  );
  await child.saw("stdout", "ready");
  await backend.endTrees([child.process], { graceMs: 10_000 });
  assert.deepEqual(await child.exit, { type: "exited", code: 6 });
});

// ---- terminals

everyBackend("gives a terminal of the size asked for", async ({ backend }) => {
  const child = await RecordedChild.run(backend, shell("tty; stty size", { io: { type: "pty", rows: 24, cols: 80 } }));
  assert.match(child.text("pty"), /^\/dev\/pts\/\d+\r\n24 80\r\n$/);
}, onTerminals);

everyBackend("resizes a terminal and tells the foreground", async ({ backend }) => {
  const script = "trap 'stty size; exit' WINCH; sleep 1000 & echo ready; wait";
  const child = await RecordedChild.start(backend, command(["bash", "-c", script], { io: TERMINAL }));
  await child.saw("pty", "ready");
  child.process.resize({ rows: 40, cols: 132 });
  await child.saw("pty", "40 132");
  await child.exit;
  await backend.endTrees([child.process], { graceMs: 0 });
  await child.end;
  child.process.resize({ rows: 1, cols: 1 });
}, onTerminals);

everyBackend("interrupts the foreground by Ctrl-C", async ({ backend }) => {
  const child = await RecordedChild.start(backend, shell("echo ready; exec sleep 1000", { io: TERMINAL }));
  await child.saw("pty", "ready");
  assert.equal(await child.process.write(input("\x03")), "written");
  assert.deepEqual(await child.exit, { type: "signaled", signal: 2 });
}, onTerminals);

everyBackend("ends a terminal's input by Ctrl-D, and echoes what is typed", async ({ backend }) => {
  const child = await RecordedChild.start(backend, command(["cat"], { io: TERMINAL }));
  await child.process.write(input("typed\n\x04"));
  child.process.closeInput();
  assert.deepEqual(await child.exit, { type: "exited", code: 0 });
  await child.end;
  assert.equal(child.text("pty"), "typed\r\ntyped\r\n");
  assert.equal(await child.process.write(input("x")), "closed");
}, onTerminals);

everyBackend("gives an interactive shell its job control", async ({ backend }) => {
  const request = command(["bash", "--norc", "--noprofile", "-i"], { io: TERMINAL, env: { ...TEST_ENV, PS1: "> " } });
  const child = await RecordedChild.start(backend, request);
  await child.process.write(input("sleep 1000 & jobs\nkill %1; wait; echo all $((40 + 2))\nexit 8\n"));
  assert.deepEqual(await child.exit, { type: "exited", code: 8 });
  await child.end;
  assert.match(child.text("pty"), /\[1\]\+ .*sleep 1000[^]*all 42/);
  assert.doesNotMatch(child.text("pty"), /job control/);
}, onTerminals);

everyBackend(
  "keeps a terminal readable for a child that closes it and opens it again",
  async ({ backend, directory }) => {
    const gate = await Gate.make(directory, "gate");
    const script = `echo one; exec < /dev/null > /dev/null 2>&1; read go < ${gate.path}; echo two > /dev/tty`;
    const child = await RecordedChild.start(backend, shell(script, { io: TERMINAL }));
    await child.saw("pty", "one");
    await gate.open();
    await child.end;
    assert.equal(child.text("pty"), "one\r\ntwo\r\n");
  },
  onTerminals,
);

everyBackend("delivers all of a terminal's output, also past the exit and a pause", async ({ backend }) => {
  const expected = Array.from({ length: 30_000 }, (_, index) => `${index + 1}\r\n`).join("");
  const whole = await RecordedChild.run(backend, command(["seq", "1", "30000"], { io: TERMINAL }));
  assert.equal(await sha256(whole.bytes("pty")), await sha256(input(expected)));
  const paused = await RecordedChild.start(backend, command(["seq", "1", "500"], { io: TERMINAL }));
  paused.process.pauseOutput();
  await paused.exit;
  assert.equal(paused.chunks.length, 0);
  paused.process.resumeOutput();
  await paused.end;
  assert.equal(paused.text("pty"), expected.slice(0, expected.indexOf("501\r\n")));
}, onTerminals);

everyBackend("keeps a terminal's input intact for a late reader", async ({ backend, directory }) => {
  const gate = await Gate.make(directory, "gate");
  const bytes = new Uint8Array(1024 * 1024).map((_, index) => index * 7 + (index >> 8));
  const script = `stty raw -echo; echo ready; read go < ${gate.path}; head -c ${bytes.length} | sha256sum`;
  const child = await RecordedChild.start(backend, shell(script, { io: TERMINAL }));
  await child.saw("pty", "ready");
  const write = child.process.write(bytes);
  assert.ok(child.process.queuedInputBytes > 0);
  await gate.open();
  assert.equal(await write, "written");
  await child.end;
  assert.ok(child.text("pty").includes(await sha256(bytes)));
}, onTerminals);

everyBackend("hangs a terminal up when told to stop reading", async ({ backend }) => {
  const child = await RecordedChild.start(backend, shell("echo ready; exec sleep 1000", { io: TERMINAL }));
  await child.saw("pty", "ready");
  child.process.stopReading();
  await child.end;
  assert.equal(await child.process.write(input("x")), "closed");
  assert.deepEqual(await child.exit, { type: "signaled", signal: 1 });
}, onTerminals);

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

/** The pid of the child of `pid` that runs the named program, once there is one. A shell may also become it. */
async function descendantNamed(pid: number, name: string): Promise<number> {
  let found: number | undefined;
  await eventually(`${name} runs`, () => {
    found = [...Deno.readDirSync("/proc")].map((entry) => Number(entry.name)).find((candidate) => {
      const stat = candidate > 0 ? readProc(`/proc/${candidate}/stat`) : "";
      return stat.includes(`(${name})`) && (candidate === pid || stat.split(") ")[1]!.split(" ")[1] === `${pid}`);
    });
    return found !== undefined;
  });
  return found!;
}

function isBlockedWriting(pid: number): boolean {
  return readProc(`/proc/${pid}/wchan`).includes("pipe_write");
}

function readProc(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    // It has ended meanwhile.
    return "";
  }
}
