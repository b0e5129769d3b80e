/** The server's machine, its sandbox, and web requests. */

import { type Check, holds, promised, same, Skipped } from "../check.ts";

const READ_ONLY = {
  permissions: {
    type: "managed",
    file_system: {
      type: "restricted",
      entries: [{ path: { type: "special", value: { kind: "root" } }, access: "read" }],
    },
    network: "restricted",
  },
  windowsSandboxLevel: "disabled",
};

export const MACHINE: readonly Check[] = [
  promised("machine/status", "environment/status answers ready.", async (peer) => {
    same(await peer.result("environment/status"), { status: "ready" }, "environment/status");
  }),
  promised("machine/capabilities", "Flags are booleans.", async (peer) => {
    const { capabilities } = await peer.result("environment/info");
    same(
      Object.entries(capabilities).filter(([, flag]) => typeof flag !== "boolean"),
      [],
      "flags that are not booleans",
    );
  }),
  promised("machine/unknown-method", "An unknown method is -32601.", async (peer) => {
    await peer.refused(-32601, "conform/nothing", {});
  }),
  promised("sandbox/files", "A write that a sandbox forbids fails, and changes nothing.", async (peer, scene) => {
    const path = await scene.at("forbidden");
    const { error } = await peer.request("fs/writeFile", { path, dataBase64: "eA==", sandbox: READ_ONLY });
    holds(error !== undefined, "the write should be refused: it is carried out");
    await peer.refused(-32004, "fs/readFile", { path });
  }),
  promised("sandbox/processes", "A process in a sandbox is confined, or does not run.", async (peer, scene) => {
    const path = await scene.native("forbidden-too");
    const command = scene.command(["sh", "-c", `echo x > '${path}'`], { sandbox: READ_ONLY });
    const { error } = await peer.request("process/start", command);
    if (error === undefined) {
      holds((await scene.ended(peer, command.processId)).exitCode !== 0, "the command should fail: it succeeds");
    }
    await peer.refused(-32004, "fs/readFile", { path: await scene.at("forbidden-too") });
  }),
  promised(
    "sandbox/nonsense",
    "A malformed sandbox object is refused, and nothing is done.",
    async (peer, scene) => {
      const path = await scene.at("nonsense");
      const wrong = { ...READ_ONLY, permissions: { type: "something-new" } };
      await peer.refused(-32602, "fs/writeFile", { path, dataBase64: "eA==", sandbox: wrong });
      await peer.refused(-32004, "fs/readFile", { path });
    },
  ),
  promised("web/refusals", "Wrong addresses are -32602, a server that is not there -32603.", async (peer) => {
    const request = { requestId: "r", method: "GET" };
    await peer.refused(-32602, "http/request", { ...request, url: "nonsense" });
    await peer.refused(-32602, "http/request", { ...request, url: "ftp://127.0.0.1/" });
    await peer.refused(-32602, "http/request", { ...request, url: "http://127.0.0.1:1/", method: "BAD METHOD" });
    await peer.refused(-32603, "http/request", { ...request, url: "http://127.0.0.1:1/" });
  }),
  promised("web/answer", "A page is answered with its status and body.", async (peer, scene) => {
    const { hostname, port, protocol } = new URL(scene.url);
    if (protocol !== "ws:" || !["127.0.0.1", "[::1]"].includes(hostname)) {
      throw new Skipped("the server is not at a loopback address, where it could ask itself");
    }
    const url = `http://${hostname}:${port}/readyz`;
    const { status, bodyBase64 } = await peer.result("http/request", { requestId: "r", method: "GET", url });
    same([status, bodyBase64], [200, ""], "status and body");
  }),
];
