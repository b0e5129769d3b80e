/** The process layer on real children: what a fake cannot show is that the pieces fit. */

import assert from "node:assert/strict";
import { silentLogger } from "../../src/log.ts";
import { ProcessManager, type ProcessManagerOptions, type StartOptions } from "../../src/process/session/manager.ts";
import { PosixBackend } from "../../src/process/posix/posix_backend.ts";
import { PIPE_WITH_INPUT, RecordingSink, startOptions, TERMINAL } from "../support/process_session.ts";

const isLinux = Deno.build.os === "linux";
const encode = (text: string) => new TextEncoder().encode(text);
const NOW = { afterSeq: 0, maxBytes: null, waitMs: 0 };

class RealSession {
  readonly backend = new PosixBackend();
  readonly manager: ProcessManager;

  constructor(options: Partial<ProcessManagerOptions>) {
    this.manager = new ProcessManager({ backend: this.backend, log: silentLogger(), ...options });
  }

  /** Starts a shell script. */
  async sh(script: string, fields: Partial<StartOptions> & { io?: StartOptions["request"]["io"] } = {}): Promise<void> {
    const options = startOptions(fields);
    const request = { ...options.request, argv: ["/bin/sh", "-c", script], env: { PATH: "/usr/bin:/bin" } };
    const started = await this.manager.start({ ...options, request });
    started.begin();
  }

  closed(processId = "p") {
    return this.manager.get(processId).wait({ until: "closed", timeoutMs: 20_000 });
  }

  async text(processId = "p"): Promise<string> {
    const { chunks } = await this.manager.get(processId).read(NOW);
    return chunks.map(({ bytes }) => new TextDecoder().decode(bytes)).join("");
  }

  /** Waits until the output contains a text. */
  async printed(text: string, processId = "p"): Promise<void> {
    for (let afterSeq = 0; !(await this.text(processId)).includes(text);) {
      const { nextSeq, closed } = await this.manager.get(processId).read({ afterSeq, maxBytes: null, waitMs: 20_000 });
      assert(!closed, `process closed without printing ${text}`);
      afterSeq = nextSeq - 1;
    }
  }
}

function realTest(
  name: string,
  test: (session: RealSession) => Promise<void>,
  options: Partial<ProcessManagerOptions> = {},
): void {
  Deno.test({
    name: `real processes: ${name}`,
    ignore: !isLinux,
    async fn() {
      const session = new RealSession(options);
      try {
        await test(session);
      } finally {
        await session.manager.endAll("serverShutdown", 0);
        await session.backend.close({ graceMs: 0 });
      }
    },
  });
}

realTest("output, exit and close are told in order and can be read", async (session) => {
  const sink = new RecordingSink();
  session.manager.attach(sink);
  await session.sh("printf hi; exit 3");
  await session.closed();
  assert.deepEqual(sink.lines, ["p started", "p 1 stdout hi", "p 2 exited 3", "p 3 closed"]);
  assert.equal(await session.text(), "hi");
});

realTest("a megabyte of input arrives complete and comes back complete", async (session) => {
  await session.sh("cat", { io: PIPE_WITH_INPUT });
  const line = "0123456789abcdef".repeat(512);
  for (let count = 0; count < 128; count++) {
    assert.equal(await session.manager.get("p").write(encode(line), { writeId: `${count}` }), "accepted");
  }
  assert.equal(session.manager.get("p").closeStdin(), "accepted");
  await session.closed();
  assert.equal(await session.text(), line.repeat(128));
});

realTest("writes to a child that does not read wait, and are released by its end", async (session) => {
  await session.sh("exec sleep 60", { io: PIPE_WITH_INPUT });
  let waiting: Promise<string> | undefined;
  for (let count = 0; waiting === undefined; count++) {
    assert(count < 100, "a write waits before a hundred of 64 KiB");
    const status = session.manager.get("p").write(new Uint8Array(64 * 1024), { writeId: null });
    if (status instanceof Promise) waiting = status;
  }
  session.manager.get("p").terminate({ type: "force" });
  assert.equal(await waiting, "stdinClosed");
  assert.equal((await session.closed()).exit?.exitCode, 137);
});

realTest("a client that does not read pauses the child, and loses nothing", async (session) => {
  const sink = new RecordingSink();
  sink.hasRoom = false;
  session.manager.attach(sink);
  await session.sh("head -c 3000000 /dev/zero; printf end");
  const early = await session.manager.get("p").wait({ until: "exited", timeoutMs: 200 });
  assert.equal(early.timedOut, true, "three megabytes do not fit into a pipe");
  assert.equal(sink.events.filter(({ type }) => type === "output").length, 1);

  sink.hasRoom = true;
  session.manager.resumeOutput();
  await session.closed();
  const sizes = sink.events.flatMap((event) => event.type === "output" ? [event.chunk.bytes.length] : []);
  assert.equal(sizes.reduce((sum, size) => sum + size, 0), 3_000_003);
});

realTest("without a client the child runs on", async (session) => {
  await session.sh("head -c 3000000 /dev/zero; printf end");
  const { exit } = await session.closed();
  assert.equal(exit?.exitCode, 0);
  const { chunks } = await session.manager.get("p").read(NOW);
  assert(chunks.reduce((sum, { bytes }) => sum + bytes.length, 0) <= 1024 * 1024);
  const snapshot = session.manager.get("p").snapshot();
  assert.deepEqual([snapshot.stdout.length, snapshot.truncated], [1024 * 1024, true]);
  assert.equal(new TextDecoder().decode(snapshot.stdout.subarray(-4)), "\0end");
});

realTest("output of a grandchild comes between exit and close", async (session) => {
  const sink = new RecordingSink();
  session.manager.attach(sink);
  const directory = await Deno.makeTempDir();
  try {
    // The grandchild waits for the other end of the fifo, so it certainly outlives the shell.
    await session.sh(`mkfifo ${directory}/fifo; cat ${directory}/fifo & printf early; exit 3`);
    const exited = await session.manager.get("p").wait({ until: "exited", timeoutMs: 20_000 });
    assert.equal(exited.closed, false);
    await Deno.writeTextFile(`${directory}/fifo`, "late");
    await session.closed();
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
  assert.deepEqual(sink.lines, ["p started", "p 1 stdout early", "p 2 exited 3", "p 3 stdout late", "p 4 closed"]);
});

realTest("a terminal echoes, resizes, takes its end of file and reports death by signal", async (session) => {
  await session.sh("stty size; cat; trap 'stty size' WINCH; echo ready; read line; kill -TERM $$", { io: TERMINAL });
  await session.printed("24 80");
  assert.equal(await session.manager.get("p").write(encode("hello\r"), { writeId: null }), "accepted");
  await session.printed("hello\r\nhello\r\n");
  assert.equal(await session.manager.get("p").closeStdin(), "accepted");
  await session.printed("ready");
  session.manager.get("p").resize({ rows: 40, cols: 132 });
  await session.printed("40 132");
  await session.manager.get("p").write(encode("\r"), { writeId: null });
  assert.deepEqual((await session.closed()).exit, {
    exitCode: 143,
    sandboxDenied: false,
    end: { reason: "signal", signal: "SIGTERM" },
  });
});

realTest("interrupt reaches the whole group, and what a trap prints is kept", async (session) => {
  await session.sh("trap 'echo trapped; exit 7' INT; echo up; while :; do sleep 0.05; done 2>/dev/null");
  await session.printed("up");
  session.manager.get("p").signal("interrupt");
  assert.equal((await session.closed()).exit?.exitCode, 7);
  assert.equal(await session.text(), "up\ntrapped\n");
});

realTest("force reaches the close although a grandchild in its own session holds the output", async (session) => {
  await session.sh("setsid sleep 60 & echo up; wait");
  await session.printed("up");
  assert.equal(session.manager.get("p").terminate({ type: "force" }), true);
  const { exit, closed } = await session.closed();
  assert.deepEqual([exit?.exitCode, closed], [137, true]);
});

realTest("what the child printed just before it was killed is not lost", async (session) => {
  await session.sh("head -c 50000 /dev/zero; printf end >&2; exec sleep 60");
  await session.printed("end");
  session.manager.get("p").terminate({ type: "force" });
  await session.closed();
  assert.equal((await session.text()).replace("end", "").length, 50_000);
});

realTest("grace lets a trap finish, and is followed by force if it does not", async (session) => {
  // The shell says on stderr that its sleep was terminated too.
  const loop = "exec 2>/dev/null; echo up; while :; do sleep 0.05; done";
  await session.sh(`trap 'echo bye; exit 5' TERM; ${loop}`);
  await session.printed("up");
  session.manager.get("p").terminate({ type: "graceful", timeoutMs: 10_000 });
  assert.deepEqual((await session.closed()).exit?.exitCode, 5);
  assert.equal(await session.text(), "up\nbye\n");

  await session.sh(`trap '' TERM; ${loop}`, { processId: "q" });
  await session.printed("up", "q");
  session.manager.get("q").terminate({ type: "graceful", timeoutMs: 100 });
  assert.equal((await session.closed("q")).exit?.exitCode, 137);
});

realTest("deadlines end a process that runs or is silent too long", async (session) => {
  await session.sh("echo so far; exec sleep 60", { timeoutMs: 200 });
  await session.sh("exec sleep 60", { processId: "q", idleTimeoutMs: 50 });
  for (const id of ["p", "q"]) {
    assert.deepEqual((await session.closed(id)).exit?.end, { reason: "timeout", signal: "SIGTERM" });
  }
  assert.equal(await session.text(), "so far\n");
});

realTest("the end of the session ends daemons that finished commands left behind", async (session) => {
  await session.sh("setsid sleep 60 >/dev/null 2>&1 </dev/null & echo $!");
  await session.closed();
  const daemonPid = Number(await session.text());
  assert.equal(isAlive(daemonPid), true);
  assert.deepEqual(await session.manager.endAll("sessionExpired", 0), { kept: [], survivorPids: [] });
  assert.equal(isAlive(daemonPid), false);
}, { closedRetentionMs: 0 });

realTest("the end of the session spares processes that asked to be kept", async (session) => {
  await session.sh("exec sleep 60", { keepOnSessionEnd: true });
  await session.sh("exec sleep 60", { processId: "q" });
  const q = session.closed("q");
  const { kept } = await session.manager.endAll("sessionExpired", 0);
  assert.deepEqual((await q).exit?.end, { reason: "sessionExpired", signal: "SIGKILL" });
  assert.equal(isAlive(kept[0]!.pid!), true);
});

realTest("a start that fails names the system's reason and leaves the id free", async (session) => {
  const missing = { argv: ["/no/such/program"], arg0: null, cwd: "/", env: {}, io: PIPE_WITH_INPUT };
  await assert.rejects(session.manager.start({ ...startOptions(), request: missing }), {
    kind: "internal",
    message: "No such file or directory (os error 2)",
  });
  await session.sh("exit 0");
  assert.equal((await session.closed()).exit?.exitCode, 0);
});

realTest("two hundred processes at once all report their own output and end", async (session) => {
  const sink = new RecordingSink();
  session.manager.attach(sink);
  const ids = Array.from({ length: 200 }, (_, index) => `p${index}`);
  await Promise.all(ids.map((processId) => session.sh(`echo ${processId}; exit 4`, { processId })));
  await Promise.all(ids.map((id) => session.closed(id)));
  for (const id of ids) {
    assert.deepEqual(sink.lines.filter((line) => line.startsWith(`${id} `)), [
      `${id} started`,
      `${id} 1 stdout ${id}\n`,
      `${id} 2 exited 4`,
      `${id} 3 closed`,
    ]);
  }
});

/** Whether a process of that number runs; one that only waits to be reaped does not. */
function isAlive(pid: number): boolean {
  try {
    const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return false; // There is no such process.
  }
}
