import assert from "node:assert/strict";
import { ownerOfOwnConnection, SocketOwners } from "../../../src/os/loop/socket_owner.ts";
import { ownerProblem } from "../../../src/transport/door/local_users.ts";
import { parseIpAddress } from "../../../src/transport/listen/ip_address.ts";
import { until } from "../../support/until.ts";

const onLinux = { ignore: Deno.build.os !== "linux" };
const OWN = { ownUid: 1000, overflowUid: 65534 };
const live = { inode: 7, isEstablished: true };

Deno.test("ownerProblem() lets in the own user and root, and only if that is certain", () => {
  assert.equal(ownerProblem({ ...live, uid: 1000 }, OWN), null);
  assert.equal(ownerProblem({ ...live, uid: 0 }, OWN), null);
  assert.match(ownerProblem({ ...live, uid: 1001 }, OWN)!, /uid 1001/);
  assert.match(ownerProblem(null, OWN)!, /no such connection/);
  assert.match(ownerProblem({ uid: 0, inode: 0, isEstablished: true }, OWN)!, /closed/);
  assert.match(ownerProblem({ uid: 0, inode: 7, isEstablished: false }, OWN)!, /closed/);
  assert.match(ownerProblem({ ...live, uid: 65534 }, OWN)!, /namespace/);
  assert.match(ownerProblem({ ...live, uid: 65534 }, { ...OWN, ownUid: 65534 })!, /namespace/);
  assert.equal(ownerProblem({ ...live, uid: 65534 }, { ownUid: 65534, overflowUid: null }), null);
});

const endpoint = (addr: Deno.Addr) => {
  const { hostname, port } = addr as Deno.NetAddr;
  return { address: parseIpAddress(hostname)!, port };
};

for (const hostname of ["127.0.0.1", "127.9.8.7", "::1"]) {
  Deno.test({
    name: `SocketOwners knows the peer of a connection to ${hostname}, until it has closed`,
    ...onLinux,
    async fn() {
      using owners = SocketOwners.open();
      using listener = Deno.listen({ hostname, port: 0 });
      const { port } = listener.addr as Deno.NetAddr;
      const peer = await Deno.connect({ hostname, port });
      using ours = await listener.accept();
      const ends = { local: endpoint(ours.localAddr), peer: endpoint(ours.remoteAddr) };
      const owner = owners.ownerOfPeer(ends)!;
      assert.deepEqual([owner.uid, owner.isEstablished, owner.inode > 0], [Deno.uid(), true, true]);
      // As many times as one likes: each answer belongs to its question.
      for (let i = 0; i < 100; i++) assert.deepEqual(owners.ownerOfPeer(ends), owner);
      // The listener is on that port and is not an answer.
      assert.equal(owners.ownerOfPeer({ local: { ...ends.local, port: 1 }, peer: ends.local }), null);
      peer.close();
      const isCertain = () => ownerProblem(owners.ownerOfPeer(ends), { ownUid: Deno.uid()!, overflowUid: null });
      await until(() => isCertain() !== null, () => "a closed peer still counts");
    },
  });
}

Deno.test({
  name: "ownerOfOwnConnection() finds our own user at every loopback address, and leaves nothing open",
  ...onLinux,
  fn() {
    using owners = SocketOwners.open();
    const before = [...Deno.readDirSync("/proc/self/fd")].length;
    for (const hostname of ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"]) {
      const owner = ownerOfOwnConnection(owners, parseIpAddress(hostname)!);
      assert.deepEqual([owner?.uid, owner?.isEstablished], [Deno.uid(), true], hostname);
    }
    assert.equal([...Deno.readDirSync("/proc/self/fd")].length, before);
  },
});
