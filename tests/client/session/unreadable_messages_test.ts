/** Messages that break the rules of the link: nobody knows which request they answer. */

import assert from "node:assert/strict";
import { connect, ProtocolError, type TransportEnd, type TransportLink } from "../../../src/client/mod.ts";
import { NodeSocketTransport } from "../../../src/client/link/node_socket_transport.ts";
import { TestServer } from "../../support/test_server.ts";

Deno.test("what asked for an answer that cannot be read fails and is not asked again, and the session goes on", async () => {
  await using server = await TestServer.start();
  const sound = new NodeSocketTransport(new URL(server.url));
  let asked = 0;
  await using box = await connect({
    name: sound.name,
    canReconnect: true,
    async open(options): Promise<TransportLink> {
      const link = await sound.open(options);
      const violated = Promise.withResolvers<TransportEnd>();
      return {
        receive: (receiver) => Promise.race([violated.promise, link.receive(receiver)]),
        close: (farewell) => link.close(farewell),
        send(messages) {
          if (!messages.some((message) => message.includes("fs/list"))) return link.send(messages);
          asked++;
          violated.resolve({ type: "violation", reason: "frame of 1 bytes exceeds the limit of 0" });
          return Promise.resolve();
        },
      };
    },
  }, { maxBackOff: 50 });
  await assert.rejects(box.call("fs/list", { path: "/" }), (error: Error) => {
    assert.ok(error instanceof ProtocolError);
    assert.match(error.message, /^fs\/list: .*cannot be read: frame of 1 bytes exceeds the limit of 0$/);
    return true;
  });
  assert.equal((await box.run(["echo", "still here"])).stdoutText, "still here\n");
  assert.equal(asked, 1);
});
