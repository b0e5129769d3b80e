/** The handshake. */

import { type Check, holds, promised, same } from "../check.ts";

const NOT_YET = -32600;

export const HANDSHAKE: readonly Check[] = [
  {
    id: "handshake/before-initialize",
    promise: "Before initialize every method is refused with -32600.",
    run: async (scene) => {
      const peer = await scene.open();
      await peer.refused(NOT_YET, "environment/status");
      await peer.refused(NOT_YET, "process/read", { processId: "p" });
      await peer.refused(NOT_YET, "fs/readFile", { path: "file:///tmp" });
    },
  },
  {
    id: "handshake/before-initialized",
    promise: "Between initialize and initialized every method is refused with -32600.",
    run: async (scene) => {
      const peer = await scene.open();
      await peer.result("initialize", { clientName: "conform" });
      await peer.refused(NOT_YET, "environment/status");
    },
  },
  {
    id: "handshake/order-of-checks",
    promise: "An unknown method is -32601 and a wrong parameter -32602, also before the handshake.",
    run: async (scene) => {
      const peer = await scene.open();
      await peer.refused(-32601, "conform/nothing");
      await peer.refused(-32602, "process/start", {});
    },
  },
  {
    id: "handshake/retry",
    promise: "An initialize that was refused may be tried again.",
    run: async (scene) => {
      const peer = await scene.open();
      await peer.refused(-32602, "initialize", {});
      await peer.refused(NOT_YET, "initialize", { clientName: "conform", resumeSessionId: crypto.randomUUID() });
      await peer.result("initialize", { clientName: "conform" });
    },
  },
  promised(
    "handshake/once",
    "A second initialize is refused with -32600, and the connection goes on.",
    async (peer) => {
      await peer.refused(NOT_YET, "initialize", { clientName: "conform" });
      same(await peer.result("environment/status"), { status: "ready" }, "environment/status");
    },
  ),
  promised("handshake/initialized-again", "A second initialized is allowed.", async (peer) => {
    peer.notify("initialized");
    peer.notify("initialized", 7);
    same(await peer.result("environment/status"), { status: "ready" }, "environment/status");
  }),
  {
    id: "handshake/result",
    promise: "initialize answers a sessionId, and environmentInfo as environment/info does.",
    run: async (scene) => {
      const peer = await scene.open();
      const { sessionId, environmentInfo } = await peer.result("initialize", { clientName: "conform" });
      holds(typeof sessionId === "string" && sessionId !== "", "sessionId should be a text that is not empty");
      holds(typeof environmentInfo?.shell?.name === "string", "environmentInfo should name a shell");
      peer.notify("initialized", {});
      same(await peer.result("environment/info"), environmentInfo, "environment/info");
    },
  },
  promised(
    "handshake/no-parameters",
    "Methods without parameters take none, null and {}, nothing else.",
    async (peer) => {
      for (const params of [undefined, null, {}]) await peer.result("environment/status", params);
      await peer.refused(-32602, "environment/status", { a: 1 });
    },
  ),
];
