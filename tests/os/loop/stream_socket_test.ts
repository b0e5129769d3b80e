import assert from "node:assert/strict";
import { sharedReactor } from "../../../src/os/loop/reactor.ts";
import { SocketAcceptor } from "../../../src/os/loop/socket_acceptor.ts";
import { until } from "../../support/until.ts";

Deno.test("StreamSocket.unacknowledgedBytes() counts what the peer's machine has no room for, until it has", async () => {
  const acceptor = SocketAcceptor.adopt(() => Deno.listen({ hostname: "127.0.0.1", port: 0 }), sharedReactor());
  assert.ok(acceptor instanceof SocketAcceptor);
  const [socket, peer] = await Promise.all([
    acceptor.accept(),
    Deno.connect({ hostname: "127.0.0.1", port: (acceptor.addr as Deno.NetAddr).port }),
  ]);
  assert.equal(socket.unacknowledgedBytes(), 0);
  const piece = new Uint8Array(256 * 1024);
  let written = 0;
  for (;;) {
    const taken = await Promise.race([socket.write(piece), pause(200).then(() => null)]);
    if (taken === null) break;
    written += taken;
  }
  const missing = socket.unacknowledgedBytes();
  assert.ok(missing > 0 && missing <= written + piece.length, `${missing} of ${written}`);

  const scratch = new Uint8Array(1024 * 1024);
  const reading = (async () => {
    while (await peer.read(scratch) !== null);
  })();
  await until(() => socket.unacknowledgedBytes() === 0, () => `${socket.unacknowledgedBytes()} bytes are missing`);
  socket.close();
  assert.equal(socket.unacknowledgedBytes(), 0);
  await reading;
  peer.close();
  acceptor.close();
  await acceptor.idle();
});

Deno.test("StreamSocket.unacknowledgedBytes() is 0 on a unix socket, whatever the peer has not read", async () => {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/socket`;
  const acceptor = SocketAcceptor.adopt(() => Deno.listen({ transport: "unix", path }), sharedReactor());
  assert.ok(acceptor instanceof SocketAcceptor);
  const [socket, peer] = await Promise.all([acceptor.accept(), Deno.connect({ transport: "unix", path })]);
  assert.equal(await socket.write(new Uint8Array(100)), 100);
  assert.equal(socket.unacknowledgedBytes(), 0);
  peer.close();
  socket.close();
  acceptor.close();
  await acceptor.idle();
  await Deno.remove(directory, { recursive: true });
});

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
