/** Looking on at processes of other sessions, and taking control of them. */

import assert from "node:assert/strict";
import type { Notification } from "../../src/protocol/method_types.ts";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { type Client, RpcError } from "../support/rpc_client.ts";
import { TestServer } from "../support/test_server.ts";
import { until } from "../support/until.ts";

const COMMON = { cwd: "/", env: { PATH: "/usr/bin:/bin" } };
const kept = (argv: string[], tty = false) => ({ ...COMMON, argv, tty, keepOnSessionEnd: true });
const encode = (text: string) => btoa(text);

function refusal(code: number, message: RegExp) {
  return (error: unknown) => {
    assert(error instanceof RpcError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, message);
    return true;
  };
}

/** What a client is told of what it is attached to. */
class View {
  text = "";
  readonly lines: string[] = [];
  #wake = Promise.withResolvers<void>();

  constructor(client: Client) {
    client.onNotification((notification) => this.#take(notification));
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await this.#wake.promise;
  }

  #take({ method, params }: Notification): void {
    if (method === "process/viewOutput") this.text += atob(params.chunk);
    else if (method === "process/viewExited") this.lines.push(`exited ${params.exitCode}`);
    else if (method === "process/viewClosed") this.lines.push("closed");
    else if (method === "process/resized") this.lines.push(`resized ${params.processId} ${params.rows}x${params.cols}`);
    else return;
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}

Deno.test("a terminal is controlled by one, viewed by another, and its owner sees it all", async () => {
  await using server = await TestServer.start();
  await using owner = await server.connect({
    notifications: ["process/resized"],
    optionalFields: ["processUid", "processName"],
  });
  const own = new View(owner);
  const events = owner.follow("p");
  const argv = ["sh", "-c", 'echo ready; while read -r line; do stty size; echo "got $line"; done; exit 3'];
  const { uid } = await owner.call("process/start", { ...kept(argv, true), processId: "p", name: "box" });
  await events.next();

  await using controller = await server.connect();
  await using viewer = await server.connect();
  assert.equal(controller.environmentInfo.capabilities.processAttach, true);
  const [control, view] = [new View(controller), new View(viewer)];
  const attached = await controller.call("process/attach", { name: "box", role: "control" });
  assert.deepEqual(
    [attached.uid, attached.processId, attached.name, attached.role, attached.tty, attached.size, attached.exited],
    [uid, "p", "box", "control", true, { rows: 24, cols: 80 }, false],
  );
  assert.equal((await viewer.call("process/attach", { uid: uid! })).role, "view");
  await control.until(() => control.text.includes("ready"));
  await view.until(() => view.text.includes("ready"));

  await controller.call("process/resize", { uid: uid!, rows: 30, cols: 100 });
  await controller.call("process/write", { uid: uid!, chunk: encode("one\n") });
  await control.until(() => control.text.includes("got one"));
  await view.until(() => view.text.includes("got one"));
  assert.match(view.text, /30 100/);
  await own.until(() => own.lines.length > 0);
  assert.deepEqual([control.lines, view.lines, own.lines], [[], ["resized p 30x100"], ["resized p 30x100"]]);
  await owner.call("process/resize", { processId: "p", rows: 5, cols: 50 });
  await control.until(() => control.lines.length > 0);
  assert.deepEqual(
    [control.lines, own.lines.length],
    [["resized p 5x50"], 1],
    "the last one wins, the others are told",
  );

  const viewing = /^this connection is attached to process \w+ to view it: attach with role `control`$/;
  const changes = [
    viewer.call("process/write", { uid: uid!, chunk: "" }),
    viewer.call("process/closeStdin", { uid: uid! }),
    viewer.call("process/resize", { uid: uid!, rows: 1, cols: 1 }),
    viewer.call("process/signal", { uid: uid!, signal: "term" }),
    viewer.call("process/terminate", { uid: uid! }),
  ];
  for (const change of changes) await assert.rejects(change, refusal(-32600, viewing));
  assert.equal((await viewer.call("process/read", { uid: uid! })).exited, false, "it may read");

  await controller.call("process/closeStdin", { uid: uid! });
  for (const one of [control, view]) {
    await one.until(() => one.lines.includes("closed"));
    assert.deepEqual(one.lines.slice(-2), ["exited 3", "closed"]);
  }
  let text = "";
  for await (const { method, params } of events) if (method === "process/output") text += atob(params.chunk);
  assert.equal(control.text, view.text);
  assert.ok(view.text.endsWith(text) && text.includes("got one"), text);
});

Deno.test("a late attachment gets what is retained from its number on, and the end of an ended process", async () => {
  await using server = await TestServer.start({ args: ["--detached-session-ttl-ms", "1"] });
  const owner = await server.connect({ optionalFields: ["processUid"] });
  const events = owner.follow("p");
  const { uid } = await owner.call("process/start", {
    ...kept(["sh", "-c", "echo one; read -r _; echo two"]),
    processId: "p",
    pipeStdin: true,
  });
  // The second line comes when the first has been seen, so that each has a number of its own.
  await events.next();
  await owner.call("process/write", { processId: "p", chunk: encode("\n") });
  const { nextSeq } = await owner.call("process/wait", { processId: "p" });
  await owner.close();

  await using client = await server.connect({ optionalFields: ["processEndReason"] });
  const view = new View(client);
  const all = await client.call("process/attach", { uid: uid! });
  assert.deepEqual([all.nextSeq, all.firstSeq, all.exited, all.exitCode, all.closed], [nextSeq, 1, true, 0, true]);
  await view.until(() => view.lines.length === 2);
  assert.deepEqual([view.text, view.lines], ["one\ntwo\n", ["exited 0", "closed"]]);
  await client.call("process/attach", { uid: uid!, afterSeq: 1 });
  await view.until(() => view.lines.length === 4);
  assert.equal(view.text, "one\ntwo\ntwo\n");
  await client.call("process/attach", { uid: uid!, afterSeq: nextSeq });
  await view.until(() => view.lines.length === 5);
  assert.equal(view.lines.at(-1), "closed", "who knows of the exit is told of the end alone");
});

Deno.test("nobody waits for a viewer that does not read, and it is told what it has missed", async () => {
  await using server = await TestServer.start({ args: ["--retained-output-bytes-per-process", "200000"] });
  await using owner = await server.connect({ optionalFields: ["processUid"] });
  const { uid } = await owner.call("process/start", {
    ...kept(["sh", "-c", "read -r _; seq 1 2000000; read -r _; echo end"]),
    processId: "p",
    pipeStdin: true,
  });
  using slow = await RawWebSocket.connect(server.url);
  await slow.handshake();
  await slow.sendText(JSON.stringify({ id: 1, method: "process/attach", params: { uid } }));
  await slow.readUntil(({ id }) => id === 1);
  await owner.call("process/write", { processId: "p", chunk: encode("\n") });
  let nextSeq = 0;
  for (;;) {
    const read = await owner.call("process/read", { processId: "p", afterSeq: nextSeq, waitMs: 1000 });
    if (read.chunks.some(({ chunk }) => atob(chunk).endsWith("\n2000000\n"))) break;
    nextSeq = read.nextSeq - 1;
  }
  await owner.call("process/write", { processId: "p", chunk: encode("\n") });

  let bytes = 0;
  let dropped = 0;
  let last = "";
  for (;;) {
    const { method, params } = await slow.readMessage();
    if (method === "process/viewOutput") {
      bytes += atob(params.chunk).length;
      dropped += params.droppedBytes ?? 0;
      last = atob(params.chunk);
    }
    if (method === "process/viewClosed") break;
  }
  assert.equal(last.slice(-4), "end\n");
  assert.ok(dropped > 0, "it has missed something");
  assert.equal(bytes + dropped, 14_888_896 + "end\n".length);
});

Deno.test("a name belongs to one living process, and is free when that has closed", async () => {
  await using server = await TestServer.start();
  await using one = await server.connect({ optionalFields: ["processName"] });
  await using two = await server.connect({ optionalFields: ["processName"] });
  const start = (client: Client, processId: string, name: string) =>
    client.call("process/start", { ...kept(["sleep", "1000"]), processId, name });
  await start(one, "1", "web");
  const taken = refusal(-32600, /^process name web is in use: choose another, or end the process that has it$/);
  await assert.rejects(start(one, "2", "web"), taken);
  await assert.rejects(start(two, "1", "web"), taken);
  const { processes } = await two.call("process/list", { scope: "server" });
  assert.deepEqual(processes.map(({ name, processId }) => [name, processId]), [["web", "1"]]);
  await one.call("process/terminate", { processId: "1" });
  await one.call("process/wait", { processId: "1" });
  assert.equal((await two.call("process/attach", { name: "web" })).exitCode, 137, "it can still be looked at");
  await start(two, "1", "web");
  assert.equal((await one.call("process/attach", { name: "web" })).exited, false, "the living one is meant");
});

Deno.test("others cannot attach to a process that is not shared, and a missing process is reported as unknown", async () => {
  const unknown = (what: string) => refusal(-32600, new RegExp(`^unknown process ${what}$`));
  for (const shared of [true, false]) {
    await using server = await TestServer.start({ args: shared ? [] : ["--no-shared-processes"] });
    await using owner = await server.connect({ optionalFields: ["processUid"] });
    await using other = await server.connect();
    const start = { ...kept(["sleep", "1000"]), keepOnSessionEnd: !shared, processId: "p", name: "mine" };
    const { uid } = await owner.call("process/start", start);
    await assert.rejects(other.call("process/attach", { name: "mine" }), unknown("name mine"));
    await assert.rejects(other.call("process/attach", { uid: uid! }), unknown(`uid ${uid}`));
    if (!shared) await other.call("process/start", start);
    assert.equal((await owner.call("process/attach", { name: "mine" })).uid, uid, "its own session may");
  }
  await using server = await TestServer.start();
  await using client = await server.connect();
  await assert.rejects(client.call("process/attach", { name: "nobody" }), unknown("name nobody"));
  const one = /a process is attached to by uid or by name: give one of them/;
  await assert.rejects(client.call("process/attach", {}), refusal(-32602, one));
  await assert.rejects(client.call("process/attach", { uid: "a", name: "b" }), refusal(-32602, one));
  await assert.rejects(client.call("process/detach", {}), refusal(-32602, one));
  await assert.rejects(
    client.call("process/attach", { uid: "a", role: "own" as "view" }),
    refusal(-32602, /^unknown variant `own`, expected `view` or `control`/),
  );
  assert.deepEqual(await client.call("process/detach", { name: "nobody" }), {});
});

Deno.test("a detached connection gets no more events, and may write again", async () => {
  await using server = await TestServer.start();
  await using owner = await server.connect({ optionalFields: ["processUid"] });
  const { uid } = await owner.call("process/start", { ...kept(["cat"]), processId: "p", name: "cat", pipeStdin: true });
  await using client = await server.connect();
  const view = new View(client);
  await client.call("process/attach", { uid: uid! });
  await owner.call("process/write", { processId: "p", chunk: encode("a") });
  await view.until(() => view.text === "a");
  await client.call("process/detach", { name: "cat" });
  await client.call("process/write", { uid: uid!, chunk: encode("b") });
  const { chunks } = await client.call("process/read", { uid: uid!, afterSeq: 1, waitMs: 10_000 });
  assert.equal(atob(chunks[0]!.chunk), "b");
  assert.equal(view.text, "a");
});

Deno.test("a connection can be attached to a limited number of processes", async () => {
  await using server = await TestServer.start();
  await using owner = await server.connect({ optionalFields: ["processUid"] });
  const uids: string[] = [];
  for (let index = 0; index <= 256; index++) {
    uids.push((await owner.call("process/start", { ...kept(["cat"]), processId: `${index}`, pipeStdin: true })).uid!);
  }
  await using client = await server.connect();
  for (const uid of uids.slice(0, 256)) await client.call("process/attach", { uid });
  await client.call("process/attach", { uid: uids[0]!, role: "control" });
  await assert.rejects(
    client.call("process/attach", { uid: uids[256]! }),
    refusal(-32600, /^this connection may not be attached to more than 256 processes at once$/),
  );
  await client.call("process/detach", { uid: uids[3]! });
  await client.call("process/attach", { uid: uids[256]! });
  const view = new View(client);
  await owner.call("process/write", { processId: "256", chunk: encode("x") });
  await owner.call("process/write", { processId: "0", chunk: encode("x") });
  await until(() => view.text === "xx", () => view.text);
});
