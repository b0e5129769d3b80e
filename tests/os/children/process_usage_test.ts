import assert from "node:assert/strict";
import { cpuMsOf, listeningSockets, residentBytesOf, socketInodesOf } from "../../../src/os/children/process_usage.ts";

/** No system has so many. */
const NOBODY = 2 ** 30;

Deno.test("cpuMsOf() and residentBytesOf() tell of a process that runs, and nothing of one that does not", () => {
  assert.ok(cpuMsOf(Deno.pid) > 0);
  const resident = residentBytesOf(Deno.pid);
  assert.ok(resident > 10_000_000 && resident < 100_000_000_000, `${resident}`);
  assert.deepEqual([cpuMsOf(NOBODY), residentBytesOf(NOBODY), [...socketInodesOf(NOBODY)]], [0, 0, []]);
});

Deno.test("listeningSockets() and socketInodesOf() find where a process listens, on both kinds of addresses", () => {
  for (const hostname of ["127.0.0.1", "::1", "0.0.0.0", "::"]) {
    using listener = Deno.listen({ hostname, port: 0 });
    const { port } = listener.addr as Deno.NetAddr;
    const sockets = listeningSockets();
    const own = [...socketInodesOf(Deno.pid)].map((inode) => sockets.get(inode)).filter((socket) =>
      socket?.port === port
    );
    assert.deepEqual(own, [{ address: hostname, port }], hostname);
  }
});
