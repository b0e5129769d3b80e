/** Connections to ports of the server's machine. These checks run only if the server shows `netConnect`. */

import { base64, type Check, holds, same, Skipped, textOf } from "../check.ts";
import type { Message, Peer } from "../peer.ts";
import type { Scene } from "../scene.ts";

/** How many bytes may have come without being acknowledged. */
const WINDOW_BYTES = 256 * 1024;
const FLOOD_BYTES = 1024 * 1024;

/**
 * A program that listens on a loopback port and prints the port. Written in two languages, because the server's machine
 * may have only one of them. It serves one connection: it writes $FLOOD bytes, echoes its input until that ends, writes
 * "end" and closes. Then it prints "gone".
 */
const LISTENER = `
if command -v perl >/dev/null; then exec perl -MSocket -e '
  $| = 1; socket(L, AF_INET, SOCK_STREAM, 0) or die; bind(L, sockaddr_in(0, INADDR_LOOPBACK)) or die; listen(L, 1);
  ($port) = sockaddr_in(getsockname(L)); print "$port\\n"; accept(C, L) or die; $SIG{PIPE} = "IGNORE";
  select((select(C), $| = 1)[0]); print C "x" x $ENV{FLOOD};
  while (($n = sysread(C, $b, 65536))) { syswrite(C, $b) } print C "end"; close(C); print "gone\\n"'
elif command -v python3 >/dev/null; then exec python3 -c '
import os, socket
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen(1); print(l.getsockname()[1], flush=True)
c, _ = l.accept()
try:
    c.sendall(b"x" * int(os.environ["FLOOD"]))
    while b := c.recv(65536): c.sendall(b)
    c.sendall(b"end")
except OSError: pass
c.close(); print("gone", flush=True)'
else echo none; fi`;

interface Listener {
  readonly port: number;
  readonly processId: string;
}

async function listen(peer: Peer, scene: Scene, floodBytes = 0): Promise<Listener> {
  const env = { PATH: "/usr/local/bin:/usr/bin:/bin", FLOOD: String(floodBytes) };
  const processId = await scene.start(peer, ["sh", "-c", LISTENER], { env });
  const text = textOf((await peer.told("process/output", processId)).chunk).trim();
  if (text === "none") throw new Skipped("the server's machine has neither perl nor python3 to listen with");
  return { port: Number(text), processId };
}

async function told(peer: Peer, method: string, tunnelId: string): Promise<Message["params"]> {
  const isIt = (message: Message) => message.method === method && message.params.tunnelId === tunnelId;
  return (await peer.take(isIt, `${method} of ${tunnelId}`)).message.params;
}

async function received(peer: Peer, tunnelId: string, length: number): Promise<string> {
  let text = "";
  while (text.length < length) text += textOf((await told(peer, "net/data", tunnelId)).chunk);
  return text;
}

function tunnelCheck(id: string, promise: string, run: (peer: Peer, scene: Scene) => Promise<void>): Check {
  return {
    id: `tunnels/${id}`,
    promise,
    flag: "netConnect",
    run: async (scene) => await run(await scene.connect(), scene),
  };
}

export const TUNNELS: readonly Check[] = [
  tunnelCheck("both-ways", "Bytes and ends of input pass in both directions.", async (peer, scene) => {
    const { port } = await listen(peer, scene);
    same(await peer.result("net/connect", { tunnelId: "t", port }), {}, "net/connect");
    same(await peer.result("net/write", { tunnelId: "t", chunk: base64("hello") }), {}, "net/write");
    same(await received(peer, "t", 5), "hello", "what comes back");
    same(await peer.result("net/closeWrite", { tunnelId: "t" }), {}, "net/closeWrite");
    same(await received(peer, "t", 3), "end", "what is sent after our end");
    await told(peer, "net/ended", "t");
    same((await told(peer, "net/closed", "t")).error, null, "the error of net/closed");
    // Its id is free again.
    await peer.refused(-32600, "net/write", { tunnelId: "t", chunk: "" });
  }),
  tunnelCheck(
    "window",
    "No more than 256 KiB comes that was not acknowledged, and all of it in the end.",
    async (peer, scene) => {
      const { port } = await listen(peer, scene, FLOOD_BYTES);
      await peer.result("net/connect", { tunnelId: "t", port });
      // Gives a server that ignores the window the time to send too much.
      for (let calls = 0; calls < 50; calls++) await peer.result("environment/status");
      let [bytes, acknowledged] = [0, 0];
      while (bytes < FLOOD_BYTES) {
        bytes += Uint8Array.fromBase64((await told(peer, "net/data", "t")).chunk).length;
        const open = bytes - acknowledged;
        holds(open <= WINDOW_BYTES, `at most ${WINDOW_BYTES} bytes should come without net/ack: ${open} came`);
        const isWaiting = peer.untaken.some(({ method }) => method === "net/data");
        if (isWaiting || (open < WINDOW_BYTES / 2 && bytes < FLOOD_BYTES)) continue;
        same(await peer.result("net/ack", { tunnelId: "t", bytes }), {}, "net/ack");
        acknowledged = bytes;
      }
      same(bytes, FLOOD_BYTES, "how many bytes came");
      await peer.refused(-32602, "net/ack", { tunnelId: "t", bytes: bytes + 1 });
    },
  ),
  tunnelCheck("close", "net/close ends a tunnel at once; one that is not open is no error.", async (peer, scene) => {
    const { port, processId } = await listen(peer, scene);
    await peer.result("net/connect", { tunnelId: "t", port });
    same(await peer.result("net/close", { tunnelId: "t" }), {}, "net/close");
    same(textOf((await peer.told("process/output", processId)).chunk), "gone\n", "what the other end says");
    same(await peer.result("net/close", { tunnelId: "t" }), {}, "a second one");
    same(peer.untaken.filter(({ method }) => method === "net/closed"), [], "what is told of it");
  }),
  tunnelCheck(
    "connection",
    "A tunnel ends with its connection, and no other connection can use it.",
    async (peer, scene) => {
      const { port, processId } = await listen(peer, scene);
      const other = await scene.connect();
      await other.result("net/connect", { tunnelId: "t", port });
      await peer.refused(-32600, "net/write", { tunnelId: "t", chunk: base64("x") });
      await other.close();
      same(textOf((await peer.told("process/output", processId)).chunk), "gone\n", "what the other end says");
    },
  ),
  tunnelCheck(
    "refusals",
    "An id in use is -32600, a port without a listener -32603, an unknown tunnel -32600.",
    async (peer, scene) => {
      const { port, processId } = await listen(peer, scene);
      await peer.result("net/connect", { tunnelId: "t", port });
      await peer.refused(-32600, "net/connect", { tunnelId: "t", port });
      // It accepts one connection, and ends with it.
      await peer.result("net/closeWrite", { tunnelId: "t" });
      await told(peer, "net/closed", "t");
      await peer.told("process/closed", processId);
      await peer.refused(-32603, "net/connect", { tunnelId: "u", port });
      await peer.refused(-32600, "net/write", { tunnelId: "u", chunk: "" });
      await peer.refused(-32600, "net/closeWrite", { tunnelId: "u" });
    },
  ),
  tunnelCheck("loopback", "Only loopback addresses are reached.", async (peer) => {
    for (const host of ["192.0.2.1", "example.invalid", "0.0.0.0"]) {
      await peer.refused(-32602, "net/connect", { tunnelId: "t", port: 80, host });
    }
    await peer.refused(-32602, "net/connect", { tunnelId: "t", port: 0 });
  }),
];
