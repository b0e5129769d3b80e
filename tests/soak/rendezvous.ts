/**
 * A rendezvous with a thousand executors: connections, as many as a fleet has, not processes. All are listed, any of them
 * is reached, and an idle one costs little memory. When all come back at once after a restart, nobody is refused.
 */

import assert from "node:assert/strict";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestRendezvous } from "../support/test_rendezvous.ts";

const EXECUTORS = 1000;
/** What an idle executor may cost: 15 KiB that it needs, and what the collector has not freed of its requests. */
const MAX_KIB_PER_EXECUTOR = 100;

Deno.test("a thousand executors on one rendezvous are listed and reached, and cost little while they idle", async () => {
  await inScratchDirectory(async (directory) => {
    const first = await TestRendezvous.start(directory);
    const [executor, client] = [await first.token(["executor"]), await first.token(["client"])];
    const listen = `ws://127.0.0.1:${first.port}`;
    const before = residentKib(first.pid);
    const begunMs = performance.now();
    const sockets = await connectAll(first, executor);
    const tookMs = performance.now() - begunMs;
    const kibEach = (residentKib(first.pid) - before) / EXECUTORS;
    await useSome(first, sockets, client);
    for (const socket of sockets) socket.drop();
    await first[Symbol.asyncDispose]();

    await using second = await TestRendezvous.start(directory, { listen });
    const againMs = performance.now();
    const again = await connectAll(second, executor);
    await useSome(second, again, client);
    for (const socket of again) socket.drop();
    console.log(
      `${EXECUTORS} executors: connected in ${Math.round(tookMs)} ms, again after a restart in ` +
        `${Math.round(performance.now() - againMs)} ms, ${kibEach.toFixed(1)} KiB each`,
    );
    assert.ok(kibEach < MAX_KIB_PER_EXECUTOR, `${kibEach} KiB for each executor`);
  });
});

/** A websocket that answers pings, and waits for the first message of a client. */
class SimulatedExecutor {
  readonly #socket: RawWebSocket;
  readonly firstMessage: Promise<string>;

  constructor(socket: RawWebSocket) {
    this.#socket = socket;
    this.firstMessage = this.#run();
    this.firstMessage.catch(() => {
      // Most of them never get one.
    });
  }

  async #run(): Promise<string> {
    for (;;) {
      const frame = await this.#socket.readFrame();
      if (frame === null) throw new Error("the rendezvous has dropped this executor");
      if (frame.opcode === 0x9) await this.#socket.sendFrame(0xa, frame.payload);
      else return new TextDecoder().decode(frame.payload);
    }
  }

  drop(): void {
    this.#socket.drop();
  }
}

async function connectAll(rendezvous: TestRendezvous, token: string): Promise<SimulatedExecutor[]> {
  const sockets: SimulatedExecutor[] = [];
  const ids = Array.from({ length: EXECUTORS }, (_, index) => index);
  await Promise.all(Array.from({ length: 50 }, async () => {
    for (let index = ids.shift(); index !== undefined; index = ids.shift()) {
      const response = await fetch(`${rendezvous.url}/cloud/executor/box-${index}/register`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify({ idempotency_id: `p-${index}` }),
      });
      assert.equal(response.status, 200);
      sockets[index] = new SimulatedExecutor(await RawWebSocket.connect((await response.json()).url));
    }
  }));
  return sockets;
}

async function useSome(
  rendezvous: TestRendezvous,
  sockets: readonly SimulatedExecutor[],
  token: string,
): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const { executors } = await (await fetch(`${rendezvous.url}/executors`, { headers })).json();
  assert.equal(executors.length, EXECUTORS);
  for (let index = 0; index < EXECUTORS; index += 37) {
    using client = await RawWebSocket.connect(`${rendezvous.websocketUrl}/connect/box-${index}`, headers);
    await client.sendText(`for ${index}`);
    assert.equal(await sockets[index]!.firstMessage, `for ${index}`);
  }
}

function residentKib(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(Deno.readTextFileSync(`/proc/${pid}/status`))![1]);
}
