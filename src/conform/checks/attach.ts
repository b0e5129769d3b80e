/** Following a process of another session. These checks run only if the server shows `processAttach`. */

import { base64, type Check, holds, same, Skipped, textOf } from "../check.ts";
import type { Message, Peer } from "../peer.ts";
import type { Scene } from "../scene.ts";

/** Runs with a process that others may reach, the session that started it, and another session. */
interface Stage {
  readonly owner: Peer;
  readonly other: Peer;
  readonly processId: string;
  readonly uid: string;
}

/** Reads lines and writes each back, with a word before it. */
const REPEATING = ["sh", "-c", 'echo up; while read -r line; do echo "got $line"; done'];

async function onStage(scene: Scene, more: Record<string, unknown> = {}): Promise<Stage> {
  const owner = await scene.connect({ notifications: ["process/resized"] });
  const kept = { pipeStdin: true, keepOnSessionEnd: true, ...more };
  const processId = await scene.start(owner, REPEATING, kept);
  const { processes } = await owner.result("process/list", { scope: "session" });
  const { uid } = processes.find((entry: { processId: string }) => entry.processId === processId);
  await owner.told("process/output", processId);
  const other = await scene.connect();
  const listed = await other.result("process/list", { scope: "server" });
  if (!listed.processes.some((entry: { uid: string }) => entry.uid === uid)) {
    throw new Skipped("not offered: sessions of this server cannot use each other's processes");
  }
  return { owner, other, processId, uid };
}

/** The next notification of this name about the process. */
async function viewed(peer: Peer, method: string, uid: string): Promise<Message["params"]> {
  const isIt = (message: Message) => message.method === method && message.params.uid === uid;
  return (await peer.take(isIt, `${method} of ${uid}`)).message.params;
}

async function viewedText(peer: Peer, uid: string, length: number): Promise<string> {
  let text = "";
  while (text.length < length) text += textOf((await viewed(peer, "process/viewOutput", uid)).chunk);
  return text;
}

function attachCheck(id: string, promise: string, run: (scene: Scene) => Promise<void>): Check {
  return { id: `attach/${id}`, promise, flag: "processAttach", run };
}

export const ATTACH: readonly Check[] = [
  attachCheck("state", "process/attach answers which process it is and how it is doing.", async (scene) => {
    const { other, processId, uid } = await onStage(scene);
    const { nextSeq, firstSeq, ...rest } = await other.result("process/attach", { uid });
    same(
      rest,
      {
        uid,
        processId,
        name: null,
        role: "view",
        tty: false,
        size: null,
        exited: false,
        exitCode: null,
        closed: false,
      },
      "the state",
    );
    same([nextSeq, firstSeq], [2, 1], "the next number and the first that is retained");
  }),
  attachCheck(
    "output",
    "An attached connection gets the retained output, then new output, then the end; the owner is told as before.",
    async (scene) => {
      const { owner, other, processId, uid } = await onStage(scene);
      await other.result("process/attach", { uid });
      same(await viewedText(other, uid, 3), "up\n", "what is retained");
      await owner.result("process/write", { processId, chunk: base64("a\n"), writeId: "a" });
      same(await viewedText(other, uid, 6), "got a\n", "what comes");
      same(textOf((await owner.told("process/output", processId)).chunk), "got a\n", "what the owner is told");
      await owner.result("process/terminate", { processId });
      same((await viewed(other, "process/viewExited", uid)).exitCode, 137, "the exit code");
      await viewed(other, "process/viewClosed", uid);
      await owner.told("process/closed", processId);
    },
  ),
  attachCheck("after-seq", "With afterSeq only later events are sent.", async (scene) => {
    const { owner, other, processId, uid } = await onStage(scene);
    await other.result("process/attach", { uid, afterSeq: 1 });
    await owner.result("process/write", { processId, chunk: base64("b\n"), writeId: "b" });
    const { seq, chunk } = await viewed(other, "process/viewOutput", uid);
    same([seq, textOf(chunk)], [2, "got b\n"], "the first thing that is told");
  }),
  attachCheck("role", "A viewer cannot change the process; a controller can.", async (scene) => {
    const { other, uid } = await onStage(scene);
    await other.result("process/attach", { uid });
    await other.refused(-32600, "process/write", { uid, chunk: base64("no\n"), writeId: "1" });
    await other.refused(-32600, "process/terminate", { uid });
    same((await other.result("process/attach", { uid, role: "control" })).role, "control", "the role");
    await other.result("process/write", { uid, chunk: base64("c\n"), writeId: "2" });
    let text = "";
    while (!text.includes("got")) text += await viewedText(other, uid, 1);
    holds(text.endsWith("got c\n"), `only what the controller wrote should arrive: ${JSON.stringify(text)}`);
  }),
  attachCheck(
    "detach",
    "After process/detach no more events are sent, and a second one is no error.",
    async (scene) => {
      const { owner, other, processId, uid } = await onStage(scene);
      await other.result("process/attach", { uid });
      await viewedText(other, uid, 3);
      same(await other.result("process/detach", { uid }), {}, "process/detach");
      same(await other.result("process/detach", { uid }), {}, "a second one");
      await owner.result("process/terminate", { processId });
      await owner.told("process/closed", processId);
      // Events from before this answer would have come before it.
      await other.result("environment/status");
      const told = other.untaken.filter(({ params }) => params?.uid === uid);
      same(told, [], "what is told afterwards");
    },
  ),
  attachCheck("unreachable", "A process that is not shared, or does not exist, is -32600.", async (scene) => {
    const { owner, other } = await onStage(scene);
    const processId = await scene.start(owner, ["sleep", "60"], { keepOnSessionEnd: false });
    const { processes } = await owner.result("process/list", { scope: "session" });
    const { uid } = processes.find((entry: { processId: string }) => entry.processId === processId);
    await other.refused(-32600, "process/attach", { uid });
    await other.refused(-32600, "process/attach", { uid: "000000000000" });
    await other.refused(-32602, "process/attach", {});
  }),
  attachCheck("name", "A process can be attached to by its name, which only one living process has.", async (scene) => {
    const name = scene.name("named");
    const { owner, other, uid } = await onStage(scene, { name });
    const attached = await other.result("process/attach", { name });
    same([attached.uid, attached.name], [uid, name], "the process of that name");
    await owner.refused(-32600, "process/start", scene.command(["true"], { name, keepOnSessionEnd: true }));
    await other.refused(-32602, "process/attach", { name, uid });
  }),
  attachCheck("resized", "The owner is told when somebody else resizes the terminal.", async (scene) => {
    const { owner, other, processId, uid } = await onStage(scene, { tty: true });
    same((await other.result("process/attach", { uid, role: "control" })).size, { rows: 24, cols: 80 }, "the size");
    await other.result("process/resize", { uid, rows: 30, cols: 90 });
    const { rows, cols } = await owner.told("process/resized", processId);
    same([rows, cols], [30, 90], "the size the owner is told");
  }),
];
