/** Writing to processes. */

import { base64, type Check, promised, same } from "../check.ts";

export const INPUT: readonly Check[] = [
  promised("input/order", "Writes reach the process in their order.", async (peer, scene) => {
    const processId = await scene.start(peer, ["head", "-n", "3"], { pipeStdin: true });
    const ids = ["a", "b", "c"].map((line) =>
      peer.ask("process/write", { processId, chunk: base64(`${line}\n`), writeId: line })
    );
    for (const id of ids) same((await peer.answer(id)).result, { status: "accepted" }, "process/write");
    same((await scene.ended(peer, processId)).stdout, "a\nb\nc\n", "what it read");
  }),
  promised("input/write-id", "A write with an id that was accepted is not written again.", async (peer, scene) => {
    const processId = await scene.start(peer, ["head", "-n", "2"], { pipeStdin: true });
    for (const [writeId, line] of [["w1", "a"], ["w1", "a"], ["w1", "other"], ["w2", "b"]]) {
      const status = await peer.result("process/write", { processId, chunk: base64(`${line}\n`), writeId });
      same(status, { status: "accepted" }, "process/write");
    }
    same((await scene.ended(peer, processId)).stdout, "a\nb\n", "what it read");
  }),
  promised("input/no-write-id", "writeId may be left out.", async (peer, scene) => {
    const processId = await scene.start(peer, ["head", "-n", "1"], { pipeStdin: true });
    same(
      await peer.result("process/write", { processId, chunk: base64("a\n") }),
      { status: "accepted" },
      "process/write",
    );
  }),
  promised("input/no-input", "A process without input answers stdinClosed.", async (peer, scene) => {
    const processId = await scene.start(peer, ["sleep", "60"]);
    const write = { processId, chunk: base64("a"), writeId: "w" };
    same(await peer.result("process/write", write), { status: "stdinClosed" }, "process/write");
  }),
  promised("input/base64", "Anything but padded base64 is -32602, an empty chunk is accepted.", async (peer, scene) => {
    const processId = await scene.start(peer, ["cat"], { pipeStdin: true });
    for (const chunk of ["a", "YQ", "Y Q=", "_-__", 7]) {
      await peer.refused(-32602, "process/write", { processId, chunk, writeId: "w" });
    }
    same(
      await peer.result("process/write", { processId, chunk: "", writeId: "w" }),
      { status: "accepted" },
      "an empty one",
    );
    await peer.refused(-32602, "process/write", { processId, chunk: "", writeId: "" });
  }),
  promised("input/terminal", "A terminal is written to, and echoes.", async (peer, scene) => {
    const processId = await scene.start(peer, ["head", "-n", "1"], { tty: true });
    await peer.result("process/write", { processId, chunk: base64("a\n"), writeId: "w" });
    const { terminal } = await scene.ended(peer, processId);
    same(terminal.replaceAll("\r", ""), "a\na\n", "what came");
  }),
  promised("input/end", "process/closeStdin ends the input.", async (peer, scene) => {
    const processId = await scene.start(peer, ["cat"], { pipeStdin: true });
    await peer.result("process/write", { processId, chunk: base64("a\n"), writeId: "w" });
    same(await peer.result("process/closeStdin", { processId }), { status: "accepted" }, "process/closeStdin");
    const { stdout, exitCode } = await scene.ended(peer, processId);
    same([stdout, exitCode], ["a\n", 0], "what it wrote, and its exit code");
    same(
      (await peer.result("process/write", { processId, chunk: "", writeId: "v" })).status,
      "stdinClosed",
      "a later write",
    );
  }, "processCloseStdin"),
];
