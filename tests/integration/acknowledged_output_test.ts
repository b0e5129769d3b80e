/** Output that is held until its client has acknowledged it: over real sockets, with cuts, and beside others. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { CuttableConnection } from "../support/cuttable_connection.ts";
import { Random } from "../support/random.ts";
import { type Client, RpcError } from "../support/rpc_client.ts";
import { TestServer } from "../support/test_server.ts";

const ENV = { cwd: "/", env: { PATH: "/usr/bin:/bin" }, tty: false };
const ASKING = { optionalFields: ["acknowledgedOutput", "processUid", "outputGap"] };
const WINDOW = 1_048_576;
/** One chunk may be on its way when the window is found full. */
const CHUNK = 65_536 + 200;

const run = (script: string) => ({ ...ENV, argv: ["sh", "-c", script], output: "acknowledged" as const });

function refusal(code: number, message: RegExp) {
  return (error: unknown) => {
    assert(error instanceof RpcError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, message);
    return true;
  };
}

async function entry(client: Client, processId: string) {
  const { processes } = await client.call("process/list", { scope: "session" });
  return processes.find((process) => process.processId === processId)!;
}

async function untilWaiting(client: Client, processId: string) {
  for (;;) {
    const found = await entry(client, processId);
    if (found.waitsForAck) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Reads and acknowledges everything that follows a number, until the process has closed. */
async function readOn(client: Client, processId: string, afterSeq = 0): Promise<string> {
  let text = "";
  for (let cursor = afterSeq;;) {
    const { chunks, nextSeq, closed } = await client.call("process/read", {
      processId,
      afterSeq: cursor,
      waitMs: 1000,
    });
    for (const { chunk } of chunks) text += atob(chunk);
    cursor = nextSeq - 1;
    if (closed && chunks.length === 0) return text;
  }
}

Deno.test("a stream that is cut again and again arrives whole and in order", async () => {
  const seed = 15;
  const random = new Random(seed);
  await using server = await TestServer.start();
  const lines = 1_500_000;
  const expected = createHash("sha256");
  for (let from = 1; from <= lines; from += 10_000) {
    expected.update(Array.from({ length: 10_000 }, (_, index) => `${from + index}\n`).join(""));
  }

  const received = createHash("sha256");
  let next = 1;
  let closedSeq = Infinity;
  let sessionId: string | null = null;
  let cuts = 0;
  while (next <= closedSeq) {
    const isFirst: boolean = sessionId === null;
    const connection: CuttableConnection = await CuttableConnection.open(server.url, {
      clientName: "cut",
      // The stream takes a hundred frames at least, so that it is cut three times or more.
      cutAfterFrames: 5 + random.int(25),
      ...(sessionId === null ? {} : { resumeSessionId: sessionId, takeover: true }),
    });
    const { client } = connection;
    sessionId = client.sessionId;
    const early = new Map<number, string | null>();
    let acknowledged = next - 1;
    const take = (seq: number, chunk: string | null): void => {
      if (seq >= next) early.set(seq, chunk);
      for (; early.has(next); next++) {
        const ready = early.get(next)!;
        early.delete(next);
        if (ready !== null) received.update(Uint8Array.fromBase64(ready));
      }
      if (next > closedSeq) return connection.cut();
      if (next - 1 < acknowledged + 4) return;
      acknowledged = next - 1;
      client.call("process/ack", { processId: "p", seq: acknowledged }).catch(() => {
        // Lost with the connection: what comes again is acknowledged again.
      });
    };
    client.onNotification(({ method, params }) => {
      if (method === "process/output") take(params.seq, params.chunk);
      if (method === "process/exited") take(params.seq, null);
      if (method === "process/closed") take(closedSeq = params.seq, null);
    });
    try {
      if (isFirst) await client.call("process/start", { ...run(`exec seq 1 ${lines}`), processId: "p" });
      else {
        for (let cursor = next - 1;;) {
          const { chunks, nextSeq, closed } = await client.call("process/read", {
            processId: "p",
            afterSeq: cursor,
            maxBytes: 100_000,
          });
          for (const { seq, chunk } of chunks) take(seq, chunk);
          cursor = nextSeq - 1;
          if (chunks.length > 0) continue;
          // Nobody is told of an end that came while nobody was there.
          if (closed) { for (closedSeq = nextSeq - 1; next <= closedSeq;) take(next, null); }
          break;
        }
      }
    } catch (error) {
      if (error instanceof RpcError) throw error;
    }
    await client.closed;
    cuts++;
  }
  assert.equal(received.digest("hex"), expected.digest("hex"), `seed ${seed}, ${cuts} cuts`);
  assert(cuts > 2, `only ${cuts} connections`);
});

Deno.test("a child whose client does not acknowledge waits, and all others of the connection flow on", async () => {
  await using server = await TestServer.start();
  await using client = await server.connect(ASKING);
  assert.equal(client.environmentInfo.capabilities.acknowledgedOutput, true);
  const slow = await client.call("process/start", { ...run("exec yes"), processId: "slow" });
  assert.equal(slow.outputWindowBytes, WINDOW);
  const waiting = await untilWaiting(client, "slow");
  assert.equal(waiting.output, "acknowledged");
  assert(waiting.unacknowledgedBytes! >= WINDOW && waiting.unacknowledgedBytes! < WINDOW + CHUNK);

  const events = client.follow("quick");
  const quick = await client.call("process/start", { ...ENV, processId: "quick", argv: ["seq", "1", "200000"] });
  assert.equal(quick.outputWindowBytes, null, "what does not ask for it waits for nobody");
  let bytes = 0;
  for await (const { method, params } of events) if (method === "process/output") bytes += atob(params.chunk).length;
  assert.equal(bytes, 1_288_895);
  assert.deepEqual(
    (({ output, unacknowledgedBytes, waitsForAck }) => [output, unacknowledgedBytes, waitsForAck])(
      await entry(client, "quick"),
    ),
    ["latest", 0, false],
  );
  const { nextSeq: before, waitsForAck } = await entry(client, "slow");
  assert.equal(waitsForAck, true, "it still waits");
  await client.call("process/ack", { processId: "slow", seq: before - 1 });
  assert((await untilWaiting(client, "slow")).nextSeq > before, "it has written on");
});

Deno.test("while its client is away a child writes up to a bound, then waits, and nothing is lost", async () => {
  await using server = await TestServer.start({ args: ["--detached-output-bytes", "4194304"] });
  await using witness = await server.connect(ASKING);
  const first = await server.connect(ASKING);
  const { sessionId } = first;
  // So much waits in the pipe and in the program besides.
  const script = `seq 1 1000000; echo done`;
  const { uid } = await first.call("process/start", { ...run(script), processId: "p", keepOnSessionEnd: true });
  await first.close();
  for (;;) {
    const { processes } = await witness.call("process/list", { scope: "server" });
    const away = processes.find((process) => process.uid === uid)!;
    if (!away.waitsForAck || away.unacknowledgedBytes! < 4_194_304) continue;
    assert(away.unacknowledgedBytes! < 4_194_304 + CHUNK);
    assert.equal(away.exited, false, "it waits, with its session");
    break;
  }
  await assert.rejects(
    witness.call("process/ack", { uid: uid!, seq: 1 }),
    refusal(-32600, /^process \w+ belongs to another session, and only that session can acknowledge its output$/),
  );
  const looked = await witness.call("process/read", { uid: uid!, afterSeq: 20 });
  assert(looked.chunks.length > 0);

  await using second = await server.connect({ ...ASKING, resumeSessionId: sessionId, takeover: true });
  const { droppedBytes } = await second.call("process/read", { processId: "p", maxBytes: 0 });
  assert.equal(droppedBytes, 0, "who looks on acknowledges nothing");
  const text = await readOn(second, "p");
  assert.equal(text.length, 6_888_896 + "done\n".length);
  assert(text.endsWith("\n1000000\ndone\n"));
});

Deno.test("a start that cannot reserve its window is refused, until another was acknowledged to its end", async () => {
  await using server = await TestServer.start({ args: ["--acknowledged-output-bytes", String(2 * WINDOW)] });
  await using client = await server.connect(ASKING);
  await client.call("process/start", { ...run("echo one"), processId: "1" });
  await client.call("process/start", { ...run("exec sleep 1000"), processId: "2" });
  const { nextSeq } = await client.call("process/wait", { processId: "1" });
  await assert.rejects(
    client.call("process/start", { ...run("echo three"), processId: "3" }),
    refusal(
      -32600,
      /^Cannot start process 3 with acknowledged output: it needs 1048576 bytes, and \d+ of the 2097152 /,
    ),
  );
  await assert.rejects(
    client.call("process/ack", { processId: "1", seq: nextSeq }),
    refusal(-32602, /^seq 4 was never sent: the last event of process 1 has number 3$/),
  );
  await assert.rejects(
    client.call("process/ack", { processId: "x", seq: 0 }),
    refusal(-32600, /^unknown process id x$/),
  );
  await client.call("process/ack", { processId: "1", seq: nextSeq - 1 });
  await client.call("process/start", { ...run("echo three"), processId: "3" });
  assert.equal(await readOn(client, "3"), "three\n");
});
