import assert from "node:assert/strict";
import { createLogger } from "../../src/log.ts";
import { startServer } from "../../src/server/server.ts";
import { FakeBackend } from "../support/fake_backend.ts";
import { ManualClock } from "../support/manual_clock.ts";
import { RawWebSocket } from "../support/raw_websocket.ts";

Deno.test("a server forgets a connection whose end has failed", async () => {
  // deno-lint-ignore no-explicit-any
  const lines: Record<string, any>[] = [];
  const write = (text: string): void => {
    const line = JSON.parse(text);
    lines.push(line);
    if (line.message === "session ended") throw new Error("no space left for the log");
  };
  const server = await startServer({
    listen: { type: "tcp", hostname: "127.0.0.1", port: 0 },
    log: createLogger({ level: "info", format: "json", write }),
    pingIntervalMs: 5,
    detachedSessionTtlMs: 0,
  });
  {
    using socket = await RawWebSocket.connect(server.url);
    await socket.handshake();
    // It answers no ping.
    while (await socket.readFrame() !== null);
  }
  await server.shutDown();
  const failed = lines.filter(({ message }) => message === "connection failed");
  assert.deepEqual(failed.map(({ level, error }) => [level, error]), [["error", "Error: no space left for the log"]]);
  assert.equal(lines.find(({ message }) => message === "shutting down")!.connections, 0);
});

for (const hurries of [false, true]) {
  Deno.test(`a server that is told to end ends${hurries ? " sooner when told again" : ""}, and says what did not`, async () => {
    // deno-lint-ignore no-explicit-any
    const lines: Record<string, any>[] = [];
    const clock = new ManualClock();
    const closing = Promise.withResolvers<void>();
    const backend = new class extends FakeBackend {
      override close(): Promise<never> {
        closing.resolve();
        return new Promise(() => {});
      }
    }();
    const server = await startServer({
      listen: { type: "tcp", hostname: "127.0.0.1", port: 0 },
      log: createLogger({ level: "info", format: "json", write: (text) => lines.push(JSON.parse(text)) }),
      clock,
      processes: { backend, shutdownGracePeriodMs: 1000 },
    });
    using socket = await RawWebSocket.connect(server.url);
    await socket.handshake();
    const isTold = () => lines.some(({ message }) => message === "gave up waiting for a clean end");
    const ended = server.shutDown();
    await closing.promise;
    if (hurries) server.shutDown({ graceMs: 0 });
    const limitMs = 30_000 + (hurries ? 0 : 2 * 1000);
    clock.advance(limitMs - 1);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(isTold(), false);
    clock.advance(1);
    await ended;
    await server.finished;
    const { level, waitingFor, connections } = lines.find(({ message }) =>
      message === "gave up waiting for a clean end"
    )!;
    assert.deepEqual({ level, waitingFor, connections }, { level: "error", waitingFor: "processes", connections: "1" });
  });
}

Deno.test("a server that has ended leaves no timer or wait behind", async () => {
  const clock = new ManualClock();
  const server = await startServer({ listen: { type: "tcp", hostname: "127.0.0.1", port: 0 }, clock });
  await server.shutDown();
  await server.shutDown({ graceMs: 0 });
  await server.finished;
  assert.equal(clock.pending, 0);
});
