/** Connections that break: what is promised survives, and what cannot be promised is said. */

import assert from "node:assert/strict";
import {
  AbortedError,
  connect,
  ConnectionLostError,
  ServerError,
  SessionExpiredError,
  TimedOutError,
} from "../../src/client/mod.ts";
import { FAULTS, FaultyProxy } from "../support/faulty_proxy.ts";
import { Random } from "../support/random.ts";
import { Relay } from "../support/relay.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";

/** So short that a black hole is noticed at once. */
const LIVELY = { heartbeat: 200, heartbeatTimeout: 200, attemptTimeout: 2000, maxBackOff: 50 };
/** Where a connection that a busy machine takes for silent would be lost for good: only what the test cuts is cut. */
const PATIENT = { ...LIVELY, heartbeat: "5m", heartbeatTimeout: "5m", attemptTimeout: "1m" };

function seeded(): Random {
  const seed = crypto.getRandomValues(new Uint32Array(1))[0]!;
  console.log(`seed ${seed}`);
  return new Random(seed);
}

Deno.test("output comes whole and in order, whatever happens to the connection", async () => {
  await using server = await TestServer.start();
  await using proxy = new FaultyProxy({
    port: server.port,
    random: seeded(),
    faults: FAULTS,
    maxBytesBetween: 500_000,
    maxFaults: 20,
  });
  await using box = await connect(proxy.url, LIVELY);
  proxy.arm();
  const count = 400_000;
  const counting = await box.spawn(["seq", String(count)]);
  let expected = 1;
  for await (const line of counting.stdout.lines()) assert.equal(line, String(expected++));
  assert.equal(expected, count + 1);
  assert.equal((await counting.status).code, 0);
  assert.ok(proxy.faults > 3, proxy.summary);
});

Deno.test("input is typed once, whatever happens to the connection", async () => {
  await using server = await TestServer.start();
  await using proxy = new FaultyProxy({
    port: server.port,
    random: seeded(),
    faults: FAULTS,
    maxBytesBetween: 8_000,
    maxFaults: 20,
  });
  await using box = await connect(proxy.url, LIVELY);
  proxy.arm();
  const cat = await box.spawn(["cat"], { stdin: "piped" });
  const read = cat.stdout.text();
  const writer = cat.stdin.getWriter();
  let typed = "";
  for (let i = 0; i < 400; i++) {
    const line = `line ${i} ${"x".repeat(i % 90)}\n`;
    typed += line;
    await writer.write(line);
    if (i % 20 === 0) await cat.waitForText(line);
  }
  await writer.close();
  assert.equal(await read, typed);
  assert.ok(proxy.faults > 3, proxy.summary);
});

Deno.test("a command whose start was cut off is started once", () =>
  inScratchDirectory(async (directory) => {
    await using server = await TestServer.start();
    await using proxy = new FaultyProxy({
      port: server.port,
      random: seeded(),
      faults: ["reset", "cutFrame", "halfClose"],
      maxBytesBetween: 3_000,
      maxFaults: 40,
    });
    await using box = await connect(proxy.url, LIVELY);
    proxy.arm();
    const file = `${directory}/started`;
    const names = Array.from({ length: 30 }, (_, i) => `start-${i}`);
    for (const name of names) {
      const { code } = await box.run(["sh", "-c", 'echo "$1" >> "$2"', "sh", name, file]);
      assert.equal(code, 0);
    }
    assert.deepEqual((await Deno.readTextFile(file)).trimEnd().split("\n"), names);
    assert.ok(proxy.faults > 3, proxy.summary);
  }));

Deno.test("a start that fails leaves nobody waiting, and the reason is the one the server gave", async () => {
  await using server = await TestServer.start();
  await using box = await connect(server.url);
  await assert.rejects(
    box.spawn(["/no/such/program"]),
    (error) => error instanceof ServerError && error.code === -32603,
  );
  assert.equal((await box.run(["true"])).code, 0);
});

Deno.test("requests that must not be repeated fail with an unknown outcome, and others are repeated", async () => {
  await using server = await TestServer.start();
  await using relay = new Relay(server.port);
  await using box = await connect(`ws://127.0.0.1:${relay.port}`, PATIENT);
  const states: string[] = [];
  box.onConnectionChange(({ state }) => states.push(state));
  const signalled = box.call("process/signal", { processId: "nobody", signal: "interrupt" });
  const asked = box.call("environment/status", null);
  relay.cut();
  await assert.rejects(signalled, (error) => {
    return error instanceof ConnectionLostError &&
      /process\/signal: connection lost, outcome unknown/.test(error.message);
  });
  assert.deepEqual(await asked, { status: "ready" });
  assert.deepEqual(box.connectionState, { state: "connected" });
  assert.deepEqual([...new Set(states)], ["reconnecting", "connected"]);
});

Deno.test("when the server is gone for good everything that waits fails with the reason", async () => {
  await using server = await TestServer.start();
  const box = await connect(server.url, { ...PATIENT, detachTtl: 400 });
  const sleeping = await box.spawn(["sleep", "1000"], { stdin: "piped" });
  const waits = [
    sleeping.status,
    sleeping.stdout.text(),
    sleeping.wait({ until: "closed" }),
    sleeping.waitForText("never"),
    box.call("process/wait", { processId: sleeping.id }),
  ];
  const outcomes = Promise.allSettled(waits);
  server.kill("SIGKILL");
  for (const outcome of await outcomes) {
    assert.equal(outcome.status, "rejected");
    assert.ok(outcome.reason instanceof SessionExpiredError, String(outcome.reason));
  }
  assert.equal(box.connectionState.state, "closed");
  await assert.rejects(box.run(["true"]), SessionExpiredError);
  await box.close();
});

Deno.test("deadlines and signals also work while the connection is lost", async () => {
  await using server = await TestServer.start();
  await using relay = new Relay(server.port);
  let token = Promise.resolve("any");
  await using box = await connect(`ws://127.0.0.1:${relay.port}`, { ...PATIENT, detachTtl: "1h", token: () => token });
  const isBack = Promise.withResolvers<string>();
  token = isBack.promise;
  const lost = new Promise<void>((resolve) => box.onConnectionChange(() => resolve()));
  relay.cut();
  await lost;
  await assert.rejects(box.waitForPort(1, { timeout: 50 }), TimedOutError);
  const abort = new AbortController();
  const late = box.spawn(["sleep", "1000"], { id: "late", signal: abort.signal });
  abort.abort();
  await assert.rejects(late, AbortedError);
  // The start was asked for. When the connection is back the process begins, and is ended.
  isBack.resolve("any");
  const { sessionId } = box;
  const process = box.process({ processId: "late", uid: null, sessionId, tty: false, stdin: false, afterSeq: 0 });
  assert.equal((await process.status).endReason, "terminated");
});

Deno.test("a session that the server does not know any more is expired at once", async () => {
  await using server = await TestServer.start({ args: ["--detached-session-ttl-ms", "1"] });
  await using relay = new Relay(server.port);
  const box = await connect(`ws://127.0.0.1:${relay.port}`, { ...PATIENT, detachTtl: undefined });
  const { status } = await box.spawn(["sleep", "1000"]);
  const failed = assert.rejects(status, SessionExpiredError);
  const second = Promise.withResolvers<void>();
  box.onConnectionChange(({ state }) => state === "closed" && second.resolve());
  for (; box.connectionState.state !== "closed";) {
    relay.cut();
    await Promise.race([second.promise, new Promise((resolve) => setTimeout(resolve, 50))]);
  }
  await failed;
  await box.close();
});

Deno.test("a session that another client takes over is not taken back", async () => {
  await using server = await TestServer.start();
  const box = await connect(server.url, PATIENT);
  const { status } = await box.spawn(["sleep", "1000"]);
  const failed = assert.rejects(
    status,
    (error) => error instanceof SessionExpiredError && /not ours/.test(error.message),
  );
  await using other = await connect(server.url, { resumeSessionId: box.sessionId });
  await failed;
  assert.equal(other.sessionId, box.sessionId);
  await box.close();
});

Deno.test("the heartbeat gives up a connection that has become silent", async () => {
  await using server = await TestServer.start();
  await using proxy = new FaultyProxy({
    port: server.port,
    random: new Random(1),
    faults: FAULTS,
    maxBytesBetween: 1,
    maxFaults: 0,
  });
  await using box = await connect(proxy.url, LIVELY);
  proxy.arm();
  const shell = await box.spawn(["sh", "-c", "read line; echo $line"], { stdin: "piped" });
  proxy.breakAll("stall");
  const reasons: string[] = [];
  box.onConnectionChange((state) => state.state === "reconnecting" && reasons.push(state.reason));
  await shell.write("through\n");
  assert.equal(await shell.stdout.text(), "through\n");
  assert.match(reasons[0]!, /silent for \d+ ms/);
});

Deno.test("a program that has ended comes back to its processes by reference", async () => {
  await using server = await TestServer.start();
  const first = await connect(server.url);
  const process = await first.spawn(["sh", "-c", "echo one; read line; echo two $line"], { stdin: "piped" });
  await process.waitForText("one\n");
  const reference = JSON.parse(JSON.stringify(process));
  const { sessionId } = first;
  await first.close({ keepSession: true });

  await using second = await connect(server.url, { resumeSessionId: sessionId });
  const again = second.process(reference, { afterSeq: 0 });
  await again.write("more\n");
  assert.equal(await again.stdout.text(), "one\ntwo more\n");
  assert.equal((await again.status).code, 0);
});

Deno.test("a kept process is followed and driven from another session", async () => {
  await using server = await TestServer.start();
  await using owner = await connect(server.url);
  await using other = await connect(server.url);
  const process = await owner.spawn(["sh", "-c", "read a; echo got $a; exit 7"], { stdin: "piped", keep: true });
  const seen = other.process(process.toJSON());
  const output = seen.stdout.text();
  await seen.write("it\n");
  assert.equal(await output, "got it\n");
  assert.deepEqual([(await seen.status).code, (await process.status).code], [7, 7]);
});

Deno.test("streams from and to files go on, whatever happens to the connection", () =>
  inScratchDirectory(async (directory) => {
    await using server = await TestServer.start();
    await using proxy = new FaultyProxy({
      port: server.port,
      random: seeded(),
      faults: FAULTS,
      maxBytesBetween: 1_500_000,
      maxFaults: 15,
    });
    await using box = await connect(proxy.url, LIVELY);
    proxy.arm();
    const content = Uint8Array.from({ length: 4_000_000 }, (_, i) => (i * 7 + (i >> 9)) % 256);
    const writer = box.fs.writeStream(`${directory}/streamed`).getWriter();
    for (let at = 0; at < content.length; at += 90_001) await writer.write(content.slice(at, at + 90_001));
    await writer.close();
    assert.deepEqual(await Deno.readFile(`${directory}/streamed`), content);
    assert.deepEqual(await box.fs.readStream(`${directory}/streamed`).bytes(), content);
    assert.deepEqual([...Deno.readDirSync(directory)].map(({ name }) => name), ["streamed"]);
    assert.ok(proxy.faults > 3, proxy.summary);
  }));

Deno.test("a watch goes on after a lost connection, and says that it may have missed something", () =>
  inScratchDirectory(async (directory) => {
    await using server = await TestServer.start();
    await using relay = new Relay(server.port);
    await using box = await connect(`ws://127.0.0.1:${relay.port}`, PATIENT);
    await using watch = await box.fs.watch(directory, { debounceMs: 1 });
    relay.cut();
    assert.deepEqual(await watch.next(), { done: false, value: { path: directory, kind: "overflow" } });
    await box.fs.writeTextFile(`${directory}/new`, "x");
    assert.deepEqual(await watch.next(), { done: false, value: { path: `${directory}/new`, kind: "created" } });
  }));

Deno.test("a file that has changed while the connection was lost is not read on as if it were the same", () =>
  inScratchDirectory(async (directory) => {
    await using server = await TestServer.start();
    await using relay = new Relay(server.port);
    await using box = await connect(`ws://127.0.0.1:${relay.port}`, PATIENT);
    const path = `${directory}/file`;
    await Deno.writeFile(path, new Uint8Array(8_000_000));
    const reader = box.fs.readStream(path).getReader();
    await reader.read();
    await Deno.writeFile(path, new Uint8Array(8_000_001).fill(1));
    relay.cut();
    await assert.rejects(async () => {
      while (!(await reader.read()).done);
    }, /cannot go on reading: the file has changed/);
  }));
