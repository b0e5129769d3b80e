import assert from "node:assert/strict";
import { LogSink } from "../../../src/cli/serve/log_sink.ts";

/** More turns than the sink takes from the end of a write to its rest. */
const TURNS = 30;

Deno.test("LogSink.write() always writes its line, even if it comes while the one before it leaves", async () => {
  for (let turns = 0; turns < TURNS; turns++) {
    const written: string[] = [];
    const hasBoth = Promise.withResolvers<void>();
    const sink = new LogSink({
      write: (bytes) => {
        written.push(new TextDecoder().decode(bytes));
        if (written.join("").endsWith("second\n")) hasBoth.resolve();
        else void writeAfter(turns, sink);
        return Promise.resolve(bytes.length);
      },
    });
    sink.write("first\n");
    const late = setTimeout(() => hasBoth.reject(new Error(`stuck after ${turns} turns: ${written.join("")}`)), 5000);
    await hasBoth.promise;
    clearTimeout(late);
    assert.equal(written.join(""), "first\nsecond\n");
    await sink.drain();
  }
});

async function writeAfter(turns: number, sink: LogSink): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await Promise.resolve();
  sink.write("second\n");
}
