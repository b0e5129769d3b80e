import assert from "node:assert/strict";
import { sourceOf } from "../../../src/bytes.ts";
import { type Clock, systemClock } from "../../../src/clock.ts";
import type { InboundMessage } from "../../../src/rpc/link.ts";
import { StreamedMessage } from "../../../src/rpc/streamed_message.ts";
import { OWN_SIGN_MS, Presence } from "../../../src/server/presence.ts";
import { RuntimeSocketLink } from "../../../src/transport/websocket/runtime_socket_link.ts";
import { ManualClock } from "../../support/manual_clock.ts";
import { ProcessSession, refuses } from "../../support/process_session.ts";
import { RawWebSocket } from "../../support/raw_websocket.ts";

const MIB = 1024 * 1024;
const CLOSE = 0x8;

/** Both ends of one connection: a link over the runtime's own websocket, and a client that shows every frame. */
async function connected(
  test: (link: RuntimeSocketLink, client: RawWebSocket) => Promise<void>,
  options: { maxWaitingBytes?: number; clock?: Clock } = {},
): Promise<void> {
  const opened = Promise.withResolvers<RuntimeSocketLink>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const { socket, response } = Deno.upgradeWebSocket(request);
    const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));
    const link = new RuntimeSocketLink(socket, { clock: systemClock, turn, ...options });
    socket.onopen = () => opened.resolve(link);
    return response;
  });
  {
    using client = await RawWebSocket.connect(`ws://127.0.0.1:${server.addr.port}`);
    await test(await opened.promise, client);
  }
  await server.shutdown();
}

/** The next close frame, past everything else. */
async function closeFrame(client: RawWebSocket): Promise<{ code: number; reason: string }> {
  for (;;) {
    const frame = await client.readFrame();
    if (frame === null) throw new Error("closed without a close frame");
    if (frame.opcode !== CLOSE) continue;
    const { payload } = frame;
    const code = payload.length === 0 ? 1005 : new DataView(payload.buffer, payload.byteOffset).getUint16(0);
    return { code, reason: new TextDecoder().decode(payload.subarray(2)) };
  }
}

Deno.test("RuntimeSocketLink.askForSign() calls back when the runtime would have dropped a silent peer, if it has not", async () => {
  for (const isThere of [true, false]) {
    const clock = new ManualClock();
    await connected(async (link, client) => {
      const end = link.receive(() => {});
      let signs = 0;
      link.askForSign(() => signs++);
      clock.advance(149_999);
      if (!isThere) {
        client.drop();
        await end;
      }
      clock.advance(1);
      await Promise.resolve();
      assert.deepEqual([signs, clock.pending], [isThere ? 1 : 0, 0]);
      if (isThere) {
        client.drop();
        await end;
      }
    }, { clock });
  }
});

Deno.test("RuntimeSocketLink.silentMs is the time since the last message, and no longer than the runtime keeps a silent peer", async () => {
  const clock = new ManualClock();
  await connected(async (link, client) => {
    const got = Promise.withResolvers<void>();
    const end = link.receive(() => got.resolve());
    clock.advance(1000);
    assert.equal(link.silentMs, 1000);
    await client.sendText("hello");
    await got.promise;
    assert.equal(link.silentMs, 0);
    clock.advance(139_999);
    assert.equal(link.silentMs, 139_999);
    clock.advance(1_000_000);
    assert.equal(link.silentMs, 140_000);
    client.drop();
    await end;
  }, { clock });
});

Deno.test("RuntimeSocketLink.silentMs has no such bound while its peer does not read, since no ping leaves then", async () => {
  const clock = new ManualClock();
  await connected(async (link, client) => {
    const end = link.receive(() => {});
    const sent = link.send(Array.from({ length: 64 }, () => "x".repeat(MIB)));
    await client.readFrame();
    clock.advance(1_000_000);
    assert.equal(link.silentMs, 1_000_000);
    for (let i = 1; i < 64; i++) await client.readFrame();
    await sent;
    assert.equal(link.silentMs, 140_000);
    client.drop();
    await end;
  }, { clock });
});

Deno.test("RuntimeSocketLink.askForSign() has one timer however often it is called, and none after the end", async () => {
  for (const isEndedByUs of [false, true]) {
    const clock = new ManualClock();
    await connected(async (link, client) => {
      const end = link.receive(() => {});
      const signs: string[] = [];
      link.askForSign(() => signs.push("first"));
      clock.advance(100_000);
      link.askForSign(() => signs.push("second"));
      assert.equal(clock.pending, 1);
      clock.advance(50_000);
      assert.deepEqual([signs, clock.pending], [["second"], 0]);

      link.askForSign(() => signs.push("third"));
      assert.equal(clock.pending, 1);
      if (isEndedByUs) link.close();
      client.drop();
      await end;
      assert.equal(clock.pending, 0);
      link.askForSign(() => signs.push("fourth"));
      clock.advance(1_000_000);
      assert.deepEqual(signs, ["second"]);
    }, { clock });
  }
});

Deno.test("RuntimeSocketLink: an open connection shows that its client was there two minutes ago, and what closed since is kept", async () => {
  const session = new ProcessSession();
  const { clock } = session;
  await connected(async (link, client) => {
    const end = link.receive(() => {});
    session.manager.attach(session.sink, new Presence(link, clock));
    (await session.start({ processId: "early" })).exit();
    clock.advance(100_000);
    (await session.start({ processId: "late" })).exit();
    clock.advance(80_000 + OWN_SIGN_MS);
    await refuses(() => session.read("early"), "unknown process id early");
    assert.equal((await session.read("late")).closed, true);
    clock.advance(300_000);
    await refuses(() => session.read("late"), "unknown process id late");
    client.drop();
    await end;
  }, { clock });
});

Deno.test("RuntimeSocketLink.receive() hands messages on in order, and none while the receiver is busy", async () => {
  await connected(async (link, client) => {
    const got: InboundMessage[] = [];
    const busy = Promise.withResolvers<void>();
    const hasBegun = Promise.withResolvers<void>();
    const end = link.receive((message) => {
      got.push(message);
      hasBegun.resolve();
      return got.length === 1 ? busy.promise : undefined;
    });
    await client.sendText("one");
    await hasBegun.promise;
    await client.sendText("two");
    await client.sendFrame(0x2, new TextEncoder().encode("thr\u{e9}e"));
    await client.sendFrame(0x2, new Uint8Array([0xff]));
    // A pong says that all of it has arrived.
    await client.sendFrame(0x9, new Uint8Array(0));
    while ((await client.readFrame())!.opcode !== 0xa);
    assert.deepEqual(got, ["one"]);
    busy.resolve();
    await client.sendFrame(CLOSE, new Uint8Array([3, 232]));
    assert.deepEqual(await end, { type: "peerClosed" });
    assert.deepEqual(got, ["one", "two", "thr\u{e9}e", null]);
  });
});

for (
  const { text, fitting } of [
    { text: "x".repeat(40_000), fitting: 2 },
    { text: "\u6f22".repeat(16_000), fitting: 2 },
    { text: "", fitting: 1563 },
  ]
) {
  Deno.test(`RuntimeSocketLink holds ${fitting} messages of ${text.length} characters in 100 kB, and no more`, async () => {
    await connected(async (link, client) => {
      const end = link.receive(() => new Promise<void>(() => {}));
      // The first is being handled, and does not count.
      for (let i = 0; i < 1 + fitting; i++) await client.sendText(text);
      await client.sendFrame(0x9, new Uint8Array(0));
      assert.equal((await client.readFrame())!.opcode, 0xa);
      await client.sendText(text);
      const reason = "input not yet handled exceeds the limit of 100000 bytes";
      assert.deepEqual(await closeFrame(client), { code: 1009, reason });
      client.drop();
      assert.deepEqual(await end, { type: "violation", reason, closeCode: 1009 });
    }, { maxWaitingBytes: 100_000 });
  });
}

Deno.test("RuntimeSocketLink takes any amount of input that is handled as it comes", async () => {
  await connected(async (link, client) => {
    let got = 0;
    const end = link.receive((message) => void (got += message!.length));
    for (let i = 0; i < 10; i++) await client.sendText("x".repeat(40_000));
    await client.sendFrame(CLOSE, new Uint8Array([3, 232]));
    await end;
    assert.equal(got, 400_000);
  }, { maxWaitingBytes: 50_000 });
});

Deno.test("RuntimeSocketLink.send() waits for a peer that does not read", async () => {
  await connected(async (link, client) => {
    const end = link.receive(() => {});
    let isSent = false;
    // More than the buffers of both kernels' ends hold.
    const messages = Array.from({ length: 64 }, () => "x".repeat(MIB));
    const sent = link.send(messages).then(() => isSent = true);
    for (let i = 0; i < messages.length; i++) {
      if (i === messages.length / 2) assert.equal(isSent, false);
      assert.equal((await client.readFrame())!.payload.length, MIB);
    }
    await sent;
    link.close();
    assert.equal((await closeFrame(client)).code, 1005);
    client.drop();
    assert.deepEqual(await end, { type: "closedByUs" });
  });
});

Deno.test("RuntimeSocketLink.send() sends a streamed message as one text", async () => {
  await connected(async (link, client) => {
    const end = link.receive(() => {});
    const bytes = crypto.getRandomValues(new Uint8Array(10_000));
    await link.send([new StreamedMessage('{"a":"', sourceOf([bytes]), '"}'), ["[1,", "2]"]]);
    assert.deepEqual(await client.readMessage(), { a: bytes.toBase64() });
    assert.deepEqual(await client.readMessage(), [1, 2]);
    link.close();
    await closeFrame(client);
    client.drop();
    await end;
  });
});

Deno.test("RuntimeSocketLink.close() lets what was sent leave first, then says why", async () => {
  await connected(async (link, client) => {
    let hasEnded = false;
    const end = link.receive(() => {}, () => hasEnded = true);
    const sent = link.send(Array.from({ length: 8 }, () => "x".repeat(MIB)));
    link.close({ cause: "violation", reason: `no ${"\u{e9}".repeat(100)}` });
    assert.equal(hasEnded, true);
    await assert.rejects(link.send(["late"]), /connection is closed/);
    for (let i = 0; i < 8; i++) assert.equal((await client.readFrame())!.payload.length, MIB);
    await sent;
    // 123 bytes, in whole characters.
    assert.deepEqual(await closeFrame(client), { code: 1008, reason: `no ${"\u{e9}".repeat(60)}` });
    client.drop();
    assert.deepEqual(await end, { type: "closedByUs" });
  });
});

Deno.test("RuntimeSocketLink ends though its peer answers no close frame", async () => {
  await connected(async (link, client) => {
    const end = link.receive(() => {});
    link.close();
    assert.deepEqual(await end, { type: "closedByUs" });
    client.drop();
  });
});

Deno.test("RuntimeSocketLink.send() rejects when the peer has vanished", async () => {
  await connected(async (link, client) => {
    const end = link.receive(() => {});
    const sent = link.send(Array.from({ length: 64 }, () => "x".repeat(MIB)));
    client.drop();
    await assert.rejects(sent, /connection is closed/);
    assert.match((await end).type, /failed|peerClosed/);
  });
});
