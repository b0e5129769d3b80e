/** What all kinds of sockets promise: the reactor's, the runtime's where there is no reactor, and TLS over the former. */

import assert from "node:assert/strict";
import { Reactor } from "../../src/os/loop/reactor.ts";
import { SocketAcceptor } from "../../src/os/loop/socket_acceptor.ts";
import {
  type AcceptedStream,
  RuntimeStreamSource,
  type StreamSource,
} from "../../src/transport/listen/stream_source.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { connectTls, loadTestTls } from "../support/test_tls.ts";
import { until } from "../support/until.ts";

const reactor = new Reactor();

function onReactor(bind: () => Deno.Listener): StreamSource {
  const adopted = SocketAcceptor.adopt(bind, reactor);
  assert.ok(adopted instanceof SocketAcceptor);
  return adopted;
}

const SOURCES: Record<string, (bind: () => Deno.Listener) => StreamSource> = {
  reactor: onReactor,
  runtime: (bind) => new RuntimeStreamSource(bind()),
};

/** What a test needs: where connections come from, and how to make one. */
interface Kind {
  open(bind: () => Deno.Listener): StreamSource | Promise<StreamSource>;
  connect(port: number): Promise<Deno.Conn>;
}

const KINDS: Record<string, Kind> = {
  ...Object.fromEntries(
    Object.entries(SOURCES).map(([name, open]) => [name, { open, connect: (port) => Deno.connect({ port }) }]),
  ),
  TLS: {
    async open(bind) {
      const layer = await loadTestTls();
      const source = onReactor(bind);
      return {
        addr: source.addr,
        accept: async () => await layer.open(await source.accept()),
        close: () => source.close(),
        idle: () => source.idle(),
      };
    },
    connect: connectTls,
  },
};

const onLoopback = () => Deno.listen({ hostname: "127.0.0.1", port: 0 });

/** More than two sockets' buffers hold together. */
const MORE_THAN_BUFFERED = 64 * 1024 * 1024;

interface Pair extends Disposable {
  readonly ours: AcceptedStream;
  readonly peer: Deno.Conn;
}

async function connectPair(source: StreamSource, connect: Kind["connect"]): Promise<Pair> {
  const accepting = source.accept();
  const peer = await connect((source.addr as Deno.NetAddr).port);
  const ours = await accepting;
  return {
    ours,
    peer,
    [Symbol.dispose]() {
      closeQuietly(ours);
      closeQuietly(peer);
    },
  };
}

function closeQuietly(stream: { close(): void }): void {
  try {
    stream.close();
  } catch {
    // By the test itself, already.
  }
}

function everySource(
  claim: string,
  test: (source: StreamSource, kind: Kind) => Promise<void>,
  bind = onLoopback,
): void {
  for (const [name, kind] of Object.entries(KINDS)) {
    Deno.test(`${name} sockets: ${claim}`, async () => {
      const source = await kind.open(bind);
      try {
        await test(source, kind);
      } finally {
        closeQuietly(source);
      }
      await reactor.idle();
    });
  }
}

async function readText(stream: { read(into: Uint8Array): Promise<number | null> }, length: number): Promise<string> {
  const bytes = new Uint8Array(length);
  let end = 0;
  while (end < length) {
    const count = await stream.read(bytes.subarray(end));
    if (count === null) break;
    end += count;
  }
  return new TextDecoder().decode(bytes.subarray(0, end));
}

/** What a peer reads after a close without goodbye, which TLS may take for an attack. */
async function endOf(peer: Deno.Conn): Promise<number | null> {
  try {
    return await peer.read(new Uint8Array(1));
  } catch (error) {
    if (error instanceof Deno.errors.UnexpectedEof) return null;
    throw error;
  }
}

const bytesOf = (text: string) => new TextEncoder().encode(text);

everySource("carry bytes both ways, and the end", async (source, { connect }) => {
  using pair = await connectPair(source, connect);
  await pair.peer.write(bytesOf("ping"));
  assert.equal(await readText(pair.ours, 4), "ping");
  assert.equal(await pair.ours.write(bytesOf("pong")), 4);
  assert.equal(await readText(pair.peer, 4), "pong");
  await pair.ours.closeWrite();
  assert.equal(await pair.peer.read(new Uint8Array(1)), null);
  // The other direction is still open.
  await pair.peer.write(bytesOf("more"));
  assert.equal(await readText(pair.ours, 4), "more");
  await pair.peer.closeWrite();
  assert.equal(await pair.ours.read(new Uint8Array(1)), null);
});

everySource("read what came before anybody asked", async (source, { connect }) => {
  using pair = await connectPair(source, connect);
  await pair.peer.write(bytesOf("one two"));
  assert.equal(await readText(pair.ours, 4), "one ");
  assert.equal(await readText(pair.ours, 3), "two");
});

everySource("count what has come, read or not, or say that they cannot", async (source, { connect }) => {
  using pair = await connectPair(source, connect);
  const arrived = () => pair.ours.arrivedBytes?.();
  const before = arrived();
  await pair.peer.write(bytesOf("unread"));
  if (before !== undefined) await until(() => arrived()! > before, () => "nothing has come");
  const unread = arrived();
  assert.equal(await readText(pair.ours, 6), "unread");
  assert.equal(arrived(), unread, "reading brings nothing new");
});

everySource("take no more than the peer reads, and lose nothing", async (source, { connect }) => {
  using pair = await connectPair(source, connect);
  const block = new Uint8Array(1024 * 1024);
  let taken = 0;
  let isHeldUp = true;
  const writing = (async () => {
    while (taken < MORE_THAN_BUFFERED) {
      block[0] = taken / block.length;
      for (let at = 0; at < block.length;) at += await pair.ours.write(block.subarray(at));
      taken += block.length;
    }
    isHeldUp = false;
    await pair.ours.closeWrite();
  })();
  const buffer = new Uint8Array(block.length);
  let read = 0;
  for (;;) {
    const count = await pair.peer.read(buffer.subarray(0, block.length - (read % block.length)));
    if (count === null) break;
    if (read === 0) assert.ok(isHeldUp, "everything was taken before anything was read");
    if (read % block.length === 0) assert.equal(buffer[0], read / block.length);
    read += count;
  }
  await writing;
  assert.equal(read, MORE_THAN_BUFFERED);
});

everySource("read while a write waits", async (source, { connect }) => {
  using pair = await connectPair(source, connect);
  const block = new Uint8Array(MORE_THAN_BUFFERED);
  let isWritten = false;
  const writing = (async () => {
    for (let at = 0; at < block.length;) at += await pair.ours.write(block.subarray(at));
    isWritten = true;
  })();
  await pair.peer.write(bytesOf("hello"));
  assert.equal(await readText(pair.ours, 5), "hello");
  assert.equal(isWritten, false);
  pair.peer.close();
  await assert.rejects(writing);
});

everySource("reject what waits when they are closed, and everything after", async (source, { connect }) => {
  using pair = await connectPair(source, connect);
  const reading = assert.rejects(pair.ours.read(new Uint8Array(1)));
  pair.ours.close();
  await reading;
  await assert.rejects(pair.ours.read(new Uint8Array(1)));
  await assert.rejects(pair.ours.write(new Uint8Array(1)));
  assert.equal(await endOf(pair.peer), null);
});

everySource("tell of a peer that went without a word", async (source, { connect }) => {
  using pair = await connectPair(source, connect);
  pair.peer.close();
  assert.equal(await pair.ours.read(new Uint8Array(1)), null);
  // What is written now is answered with a reset.
  await assert.rejects(async () => {
    for (;;) await pair.ours.write(new Uint8Array(1));
  });
});

everySource("know where the peer is", async (source, { connect }) => {
  using pair = await connectPair(source, connect);
  assert.equal(pair.ours.describePeer(), `127.0.0.1:${(pair.peer.localAddr as Deno.NetAddr).port}`);
});

everySource("accept as many as come at once", async (source, { connect }) => {
  const port = (source.addr as Deno.NetAddr).port;
  const connecting = Array.from({ length: 20 }, () => connect(port));
  const accepted = [];
  for (const _ of connecting) accepted.push(await source.accept());
  const peers = await Promise.all(connecting);
  for (const stream of accepted) stream.close();
  for (const peer of peers) {
    assert.equal(await endOf(peer), null);
    peer.close();
  }
});

everySource("reject an accept that waits when the listener is closed, and free the port", async (source) => {
  const accepting = assert.rejects(source.accept());
  const { hostname, port } = source.addr as Deno.NetAddr;
  source.close();
  await accepting;
  await assert.rejects(source.accept());
  Deno.listen({ hostname, port }).close();
}, () => Deno.listen({ hostname: ownLoopbackAddress(), port: 0 }));

/** Of the millions Linux has. On the usual one, somebody else may be given a port the moment it is free. */
function ownLoopbackAddress(): string {
  if (Deno.build.os !== "linux") return "127.0.0.1";
  const [a, b, c] = crypto.getRandomValues(new Uint8Array(3));
  return `127.${a}.${b}.${c! || 1}`;
}

for (const [name, open] of Object.entries(SOURCES)) {
  Deno.test(`${name} sockets: work on unix sockets, whose file goes with the listener`, () =>
    inScratchDirectory(async (directory) => {
      const path = `${directory}/socket`;
      const source = open(() => Deno.listen({ transport: "unix", path }));
      const accepting = source.accept();
      const peer = await Deno.connect({ transport: "unix", path });
      const ours = await accepting;
      assert.equal(ours.describePeer(), "unix");
      await peer.write(bytesOf("ping"));
      assert.equal(await readText(ours, 4), "ping");
      ours.close();
      peer.close();
      source.close();
      await reactor.idle();
      await assert.rejects(Deno.lstat(path), Deno.errors.NotFound);
    }));

  Deno.test(`${name} sockets: know a peer on IPv6`, async () => {
    const source = open(() => Deno.listen({ hostname: "::1", port: 0 }));
    const accepting = source.accept();
    const peer = await Deno.connect({ hostname: "::1", port: (source.addr as Deno.NetAddr).port });
    const ours = await accepting;
    const { port } = peer.localAddr as Deno.NetAddr;
    assert.equal(ours.describePeer(), `[::1]:${port}`);
    for (const stream of [ours, peer, source]) stream.close();
    await reactor.idle();
  });
}
