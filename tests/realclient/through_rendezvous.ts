/**
 * A server that is reached through a rendezvous, as the black-box suite of the real client starts servers: listens at the
 * port it is given, and passes every connection on to `/connect/ID` with a token. Behind it are a rendezvous and an
 * executor that dials out, each a process.
 *
 * Usage: deno run -A tests/realclient/through_rendezvous.ts PORT
 */

import { RemoteChild } from "../support/remote_child.ts";
import { TestRendezvous } from "../support/test_rendezvous.ts";

const directory = await Deno.makeTempDir({ dir: "/var/tmp", prefix: "through-rendezvous-" });
const rendezvous = await TestRendezvous.start(directory);
const [executorToken, clientToken] = [await rendezvous.token(["executor"]), await rendezvous.token(["client"])];
const executor = new RemoteChild({
  args: ["--remote", rendezvous.url, "--executor-id", "box-1"],
  env: { EXEC_SERVER_REMOTE_TOKEN: executorToken },
});
await executor.connected();

const stop = async () => {
  await executor[Symbol.asyncDispose]();
  await rendezvous[Symbol.asyncDispose]();
  await Deno.remove(directory, { recursive: true });
  Deno.exit(0);
};
for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, () => void stop());

const listener = Deno.listen({ hostname: "127.0.0.1", port: Number(Deno.args[0]) });
console.log(`ws://127.0.0.1:${listener.addr.port}`);
for await (const near of listener) void pass(near);

async function pass(near: Deno.Conn): Promise<void> {
  try {
    using far = await Deno.connect({ hostname: "127.0.0.1", port: rendezvous.port });
    const head = await readHead(near);
    const rewritten = head.replace(/^GET \/ /, "GET /connect/box-1 ").replace(/\r\nauthorization:[^\r]*/i, "")
      .replace("\r\n", `\r\nAuthorization: Bearer ${clientToken}\r\n`);
    await writeAll(far, Uint8Array.from(rewritten, (char) => char.charCodeAt(0)));
    await Promise.race([near.readable.pipeTo(far.writable), far.readable.pipeTo(near.writable)]);
  } catch {
    // Either side has gone: so does the other.
  } finally {
    try {
      near.close();
    } catch {
      // Closed already.
    }
  }
}

/** What has come when the head is complete, a character for each byte. */
async function readHead(conn: Deno.Conn): Promise<string> {
  const buffer = new Uint8Array(4096);
  let text = "";
  while (!text.includes("\r\n\r\n")) {
    const read = await conn.read(buffer);
    if (read === null) throw new Error("closed in its head");
    text += String.fromCharCode(...buffer.subarray(0, read));
  }
  return text;
}

async function writeAll(conn: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await conn.write(bytes.subarray(at));
}
