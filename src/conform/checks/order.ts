/** What is promised about order. */

import { base64, type Check, holds, promised, same, textOf } from "../check.ts";

export const ORDER: readonly Check[] = [
  promised("order/files", "Requests about files are as if one after another.", async (peer, scene) => {
    const path = await scene.at("order");
    const asked: number[] = [];
    for (let round = 0; round < 20; round++) {
      peer.ask("fs/writeFile", { path, dataBase64: base64(String(round)) });
      asked.push(peer.ask("fs/readFile", { path }));
    }
    for (const [round, id] of asked.entries()) {
      same(textOf((await peer.answer(id)).result?.dataBase64 ?? ""), String(round), "what is read after a write");
    }
  }),
  promised("order/script", "A process sees what was written before it was started.", async (peer, scene) => {
    const path = await scene.at("script");
    peer.ask("fs/writeFile", { path, dataBase64: base64("echo from the script\n") });
    const command = scene.command(["sh", await scene.native("script")]);
    peer.ask("process/start", command);
    same((await scene.ended(peer, command.processId)).stdout, "from the script\n", "what it wrote");
  }),
  promised(
    "order/behind-start",
    "Requests about a process may be sent before its start is answered.",
    async (peer, scene) => {
      const command = scene.command(["head", "-n", "1"], { pipeStdin: true });
      peer.ask("process/start", command);
      const write = peer.ask("process/write", { processId: command.processId, chunk: base64("a\n"), writeId: "w" });
      same((await peer.answer(write)).result, { status: "accepted" }, "process/write");
      same((await scene.ended(peer, command.processId)).stdout, "a\n", "what it wrote");
    },
  ),
  promised("order/long-polls", "A read that waits holds up no other request.", async (peer, scene) => {
    const processId = await scene.start(peer, ["sleep", "60"]);
    const waiting = peer.ask("process/read", { processId, afterSeq: 0, waitMs: 2000 });
    await peer.result("environment/status");
    holds(!peer.untaken.some(({ id }) => id === waiting), "the read should still wait: it was answered first");
    same(await peer.result("process/terminate", { processId }), { running: true }, "process/terminate");
  }),
  promised(
    "order/start-first",
    "The answer to process/start comes before any notification about the process.",
    async (peer, scene) => {
      for (let round = 0; round < 20; round++) {
        const command = scene.command(["sh", "-c", "echo a"]);
        const id = peer.ask("process/start", command);
        const isAbout = ({ id: answered, params }: { id?: unknown; params?: { processId?: string } }) =>
          answered === id || params?.processId === command.processId;
        const { message } = await peer.take(isAbout, "something about the process");
        same(message.id, id, "what comes first");
        await scene.ended(peer, command.processId);
      }
    },
    "rpcDiscover",
  ),
  promised(
    "order/notifications",
    "Notifications about a process come in the order of their numbers.",
    async (peer, scene) => {
      const processId = await scene.start(peer, ["sh", "-c", "for i in $(seq 50); do echo $i; echo $i >&2; done"]);
      const isOf = ({ method, params }: { method?: string; params?: { processId?: string } }) =>
        method !== undefined && params?.processId === processId;
      for (let seq = 1;; seq++) {
        const { message } = await peer.take(isOf, "a notification");
        same(message.params.seq, seq, "the number");
        if (message.method === "process/closed") return;
      }
    },
    "rpcDiscover",
  ),
];
