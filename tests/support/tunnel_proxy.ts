/** A proxy of HTTP in the test's own process, for what asks it for tunnels. */

/** Opens every tunnel it is asked for; `hosts` are names that it alone knows. */
export function tunnelProxy(hosts: Readonly<Record<string, string>> = {}) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const asked: string[] = [];
  const pass = async (near: Deno.Conn) => {
    const head = new Uint8Array(4096);
    const text = new TextDecoder().decode(head.subarray(0, await near.read(head) ?? 0));
    asked.push(text.split("\r\n")[0]!);
    const [, hostname, port] = /^CONNECT (\S+):(\d+)/.exec(text)!;
    let far: Deno.Conn;
    try {
      far = await Deno.connect({ hostname: hosts[hostname!] ?? hostname!, port: Number(port) });
    } catch {
      // A name that nobody knows, or a server that is gone.
      await near.write(new TextEncoder().encode("HTTP/1.1 502 Bad Gateway\r\n\r\n"));
      return near.close();
    }
    await near.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\n\r\n"));
    await Promise.all([
      near.readable.pipeTo(far.writable).catch(() => {}),
      far.readable.pipeTo(near.writable).catch(() => {}),
    ]);
  };
  const lives: Promise<void>[] = [];
  const running = (async () => {
    for await (const conn of listener) lives.push(pass(conn));
  })().catch(() => {/* Closed at the end of the test. */});
  return {
    url: `http://127.0.0.1:${listener.addr.port}`,
    asked,
    async close() {
      listener.close();
      await running;
      await Promise.all(lives);
    },
  };
}
