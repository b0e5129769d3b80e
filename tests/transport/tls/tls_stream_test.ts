/** A websocket in TLS whose peer vanishes from the network, on a real connection. */

import assert from "node:assert/strict";
import type { Endpoints } from "../../../src/os/loop/socket_owner.ts";
import { type AcceptedStream, openStreamSource } from "../../../src/transport/listen/stream_source.ts";
import { OPCODE } from "../../../src/transport/websocket/websocket_frames.ts";
import { WebSocketLink } from "../../../src/transport/websocket/websocket_link.ts";
import { ManualClock } from "../../support/manual_clock.ts";
import { clientFrame } from "../../support/raw_websocket.ts";
import { connectTls, loadTestTls } from "../../support/test_tls.ts";
import { until } from "../../support/until.ts";

/** A connection that a network can lose: what is written then is taken by the kernel and reaches nobody. */
class LosableStream implements AcceptedStream {
  readonly #stream: AcceptedStream;
  isLost = false;
  lostBytes = 0;

  constructor(stream: AcceptedStream) {
    this.#stream = stream;
  }

  read(into: Uint8Array): Promise<number | null> {
    return this.#stream.read(into);
  }

  async write(bytes: Uint8Array): Promise<number> {
    if (!this.isLost) return await this.#stream.write(bytes);
    this.lostBytes += bytes.length;
    return bytes.length;
  }

  unacknowledgedBytes(): number {
    return this.isLost ? this.lostBytes : this.#stream.unacknowledgedBytes!();
  }

  arrivedBytes(): number {
    return this.#stream.arrivedBytes!()!;
  }

  closeWrite(): Promise<void> {
    return this.#stream.closeWrite();
  }

  close(): void {
    this.#stream.close();
  }

  describePeer(): string {
    return this.#stream.describePeer();
  }

  endpoints(): Endpoints | null {
    return this.#stream.endpoints();
  }
}

Deno.test("a look at a peer in TLS drops it while the receiver is busy if nothing comes from it, and keeps it if it answers", async () => {
  const tls = await loadTestTls();
  for (const { isLost, answers } of [{ isLost: true }, { isLost: false }, { isLost: false, answers: true }]) {
    const source = openStreamSource(() => Deno.listen({ hostname: "127.0.0.1", port: 0 }));
    const accepting = source.accept();
    const connecting = connectTls((source.addr as Deno.NetAddr).port);
    const raw = new LosableStream(await accepting);
    const stream = await tls.open(raw);
    const client = await connecting;
    const clock = new ManualClock();
    const link = new WebSocketLink(stream, { clock, pingIntervalMs: 1e9 });
    const begun = Promise.withResolvers<void>();
    const end = link.receive(() => {
      begun.resolve();
      return new Promise(() => {});
    });
    await client.write(clientFrame(OPCODE.text, new TextEncoder().encode("busy")));
    await begun.promise;

    raw.isLost = isLost;
    const written = () => link.writtenBytes;
    link.probe(5000);
    await until(() => written() === 2, () => "no first ping");
    const lostBefore = raw.lostBytes;
    const arrivedBefore = raw.arrivedBytes();
    clock.advance(2500);
    await until(() => written() === 4, () => "no second ping");
    if (!isLost) await until(() => raw.unacknowledgedBytes() === 0, () => "the pings do not arrive");
    else assert.ok(raw.lostBytes - lostBefore > 2, "encrypted it is longer");
    if (answers) {
      // Its pong comes to lie in the kernel: the receiver is busy, and nothing is read.
      await client.write(clientFrame(OPCODE.pong, new Uint8Array(0)));
      await until(() => raw.arrivedBytes() > arrivedBefore, () => "no pong");
    }
    clock.advance(2500);
    link.close();
    assert.equal((await Promise.race([end, ticking(clock)])).type, answers ? "closedByUs" : "silent");
    client.close();
    source.close();
    await source.idle();
  }
});

/** Lets what is left linger no longer. */
async function ticking(clock: ManualClock): Promise<never> {
  await Promise.resolve();
  clock.advance(60_000);
  return await new Promise<never>(() => {});
}
