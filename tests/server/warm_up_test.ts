import assert from "node:assert/strict";
import { createLogger } from "../../src/log.ts";
import { startServer } from "../../src/server/server.ts";
import { ManualClock } from "../support/manual_clock.ts";

Deno.test("an idle server makes itself ready for the first request, and one that ends before does not", async () => {
  for (const isIdle of [true, false]) {
    const ready = Promise.withResolvers<void>();
    let text = "";
    const write = (line: string) => {
      text += line;
      if (line.includes("ready for the first request")) ready.resolve();
    };
    const clock = new ManualClock();
    const server = await startServer({
      listen: { type: "tcp", hostname: "127.0.0.1", port: 0 },
      clock,
      log: createLogger({ level: "debug", format: "text", write }),
    });
    clock.advance(99);
    assert.equal(text.includes("ready"), false, "whoever waits for the server comes first");
    if (isIdle) {
      clock.advance(1);
      await ready.promise;
    }
    await server.shutDown();
    await server.finished;
    assert.equal(clock.pending, 0);
    assert.equal(text.includes("ready for the first request"), isIdle);
    assert.equal(text.includes("WARN"), false, text);
  }
});
