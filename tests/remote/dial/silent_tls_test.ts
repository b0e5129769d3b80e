/** A rendezvous behind TLS that goes silent: the connection to it is closed, and its descriptor is free at once. */

import assert from "node:assert/strict";
import { systemClock } from "../../../src/clock.ts";
import { Dialer } from "../../../src/http/dialer.ts";
import { dialWebSocket } from "../../../src/remote/dial/dial_websocket.ts";
import { MessageSocket } from "../../../src/transport/websocket/message_socket.ts";
import { websocketAccept } from "../../../src/transport/door/upgrade.ts";
import { makeAuthority } from "../../support/certificates.ts";
import { areInstalled } from "../../support/installed.ts";
import { inScratchDirectory } from "../../support/scratch_directory.ts";
import { until } from "../../support/until.ts";

const HAS_OPENSSL = areInstalled(["openssl"], "a silent rendezvous behind TLS");
const CONNECTIONS = 5;

Deno.test({
  name: `connections to a TLS peer that reads nothing free their descriptors${
    HAS_OPENSSL ? "" : " (SKIPPED: no openssl)"
  }`,
  ignore: !HAS_OPENSSL,
  fn: () =>
    inScratchDirectory(async (directory) => {
      const { caFile, certFile, keyFile } = await makeAuthority(directory);
      const tls = { cert: await Deno.readTextFile(certFile), key: await Deno.readTextFile(keyFile) };
      using listener = Deno.listenTls({ hostname: "127.0.0.1", port: 0, ...tls });
      const peers: Deno.TlsConn[] = [];
      const accepting = (async () => {
        for await (const peer of listener) peers.push(await upgraded(peer));
      })().catch(() => {/* Closed at the end of the test. */});
      const before = sockets();
      for (let count = 1; count <= CONNECTIONS; count++) {
        const { stream } = await dialWebSocket(`wss://127.0.0.1:${listener.addr.port}`, {
          dialer: new Dialer({ SSL_CERT_FILE: caFile }, "test"),
          clock: systemClock,
          timeoutMs: 10_000,
        });
        const socket = new MessageSocket(stream, {
          clock: systemClock,
          role: "client",
          pingIntervalMs: 20,
          maxSilentPings: 2,
        });
        const ending = socket.receive(() => {});
        // More than all buffers on the way take, so that something is left when it is closed.
        const sending = assert.rejects(socket.send([{ isText: false, bytes: new Uint8Array(32 * 1024 * 1024) }]));
        assert.equal((await ending).type, "silent");
        await sending;
      }
      // The peers' own ends stay: they have noticed nothing.
      await until(() => sockets() <= before + CONNECTIONS, () => `${sockets() - before} of ${CONNECTIONS}`, 10_000);
      for (const peer of peers) peer.close();
      listener.close();
      await accepting;
    }),
});

/** Answers the upgrade, and then nothing. */
async function upgraded(peer: Deno.TlsConn): Promise<Deno.TlsConn> {
  const head = new Uint8Array(4096);
  const text = new TextDecoder().decode(head.subarray(0, await peer.read(head) ?? 0));
  const accept = websocketAccept(/Sec-WebSocket-Key: (\S+)/.exec(text)![1]!);
  const lines = [
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Accept: ${accept}`,
  ];
  await peer.write(new TextEncoder().encode(lines.join("\r\n") + "\r\n\r\n"));
  return peer;
}

/** Sockets of this process. */
function sockets(): number {
  return Array.from(Deno.readDirSync("/proc/self/fd")).filter(({ name }) => {
    try {
      return Deno.readLinkSync(`/proc/self/fd/${name}`).startsWith("socket:");
    } catch {
      // The one that reads the directory.
      return false;
    }
  }).length;
}
