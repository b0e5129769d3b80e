/** Sessions: what survives a connection. */

import { base64, type Check, promised, same, textOf } from "../check.ts";

export const SESSIONS: readonly Check[] = [
  promised(
    "sessions/resume",
    "A process outlives its connection, and what was missed can be read.",
    async (peer, scene) => {
      const sessionId = scene.sessionOf(peer);
      const processId = await scene.start(peer, ["sh", "-c", "echo a; read line; echo $line"], { pipeStdin: true });
      same((await peer.told("process/output", processId)).seq, 1, "the first number");
      await peer.close();

      const again = await scene.resume(sessionId);
      same(scene.sessionOf(again), sessionId, "the session's id");
      await again.result("process/write", { processId, chunk: base64("b\n"), writeId: "w" });
      const { exitCode, stdout } = await scene.ended(again, processId);
      same([stdout, exitCode], ["b\n", 0], "what the new connection is told");
      const { chunks, closed } = await again.result("process/read", { processId, afterSeq: 0 });
      same(
        [chunks.map(({ chunk }: { chunk: string }) => textOf(chunk)).join(""), closed],
        ["a\nb\n", true],
        "what is read",
      );
    },
  ),
  promised(
    "sessions/missed",
    "Events from a time without a connection are not sent later, but can be read.",
    async (peer, scene) => {
      const sessionId = scene.sessionOf(peer);
      const processId = await scene.start(peer, ["sh", "-c", "sleep 0.3; echo missed; exit 4"]);
      await peer.close();
      const other = await scene.connect();
      await scene.run(other, "sleep 0.6");
      const again = await scene.resume(sessionId);
      const state = await again.result("process/read", { processId, afterSeq: 0, waitMs: 5000 });
      same(state.chunks.map(({ chunk }: { chunk: string }) => textOf(chunk)).join(""), "missed\n", "what is read");
      same([state.exited, state.exitCode, state.closed], [true, 4, true], "the state");
      same(again.untaken.filter(({ method }) => method !== undefined), [], "what is told again");
    },
  ),
  promised("sessions/initialized-again", "After a resume initialized is needed again.", async (peer, scene) => {
    const sessionId = scene.sessionOf(peer);
    await peer.close();
    await (await scene.resume(sessionId)).close();
    for (let attempt = 0; attempt < 50; attempt++) {
      const bare = await scene.open();
      const answer = await bare.request("initialize", { clientName: "conform", resumeSessionId: sessionId });
      if (answer.error?.code === -32010) continue;
      same(answer.result?.sessionId, sessionId, "the session's id");
      return await bare.refused(-32600, "environment/status");
    }
  }),
  promised("sessions/write-ids", "Ids of writes are remembered over a resume.", async (peer, scene) => {
    const sessionId = scene.sessionOf(peer);
    const processId = await scene.start(peer, ["head", "-n", "2"], { pipeStdin: true });
    const write = (line: string, writeId: string) => ({ processId, chunk: base64(`${line}\n`), writeId });
    await peer.result("process/write", write("a", "w1"));
    await peer.close();
    const again = await scene.resume(sessionId);
    await again.result("process/write", write("a", "w1"));
    await again.result("process/write", write("b", "w2"));
    await scene.ended(again, processId);
    const { chunks } = await again.result("process/read", { processId, afterSeq: 0 });
    same(chunks.map(({ chunk }: { chunk: string }) => textOf(chunk)).join(""), "a\nb\n", "what it read");
  }),
  promised("sessions/attached", "A session whose connection lives cannot be resumed: -32010.", async (peer, scene) => {
    const other = await scene.open();
    await other.refused(-32010, "initialize", { clientName: "conform", resumeSessionId: scene.sessionOf(peer) });
    same(await peer.result("environment/status"), { status: "ready" }, "environment/status of the owner");
  }),
  {
    id: "sessions/unknown",
    promise: "Resuming an unknown session is -32600.",
    run: async (scene) => {
      const peer = await scene.open();
      await peer.refused(-32600, "initialize", { clientName: "conform", resumeSessionId: crypto.randomUUID() });
    },
  },
  promised("sessions/handles", "File handles belong to the connection.", async (peer, scene) => {
    const path = await scene.at("handles");
    await peer.result("fs/writeFile", { path, dataBase64: base64("x") });
    await peer.result("fs/open", { handleId: "h", path });
    const sessionId = scene.sessionOf(peer);
    await peer.close();
    const again = await scene.resume(sessionId);
    await again.refused(-32004, "fs/readBlock", { handleId: "h", offset: 0, len: 1 });
  }),
  promised(
    "sessions/takeover",
    "With takeover a session is resumed at once, and the old connection is told.",
    async (peer, scene) => {
      const other = await scene.open();
      const sessionId = scene.sessionOf(peer);
      const { result } = await other.request("initialize", {
        clientName: "conform",
        resumeSessionId: sessionId,
        takeover: true,
      });
      same(result?.sessionId, sessionId, "the session's id");
      await peer.closed();
    },
    "sessionTakeover",
  ),
  promised("sessions/end", "session/end ends the processes, the session and the connection.", async (peer, scene) => {
    const sessionId = scene.sessionOf(peer);
    await scene.start(peer, ["sleep", "60"]);
    same(await peer.result("session/end"), {}, "session/end");
    same((await peer.closed()).code, 1000, "the close code");
    const other = await scene.open();
    await other.refused(-32600, "initialize", { clientName: "conform", resumeSessionId: sessionId });
  }, "sessionEnd"),
];
