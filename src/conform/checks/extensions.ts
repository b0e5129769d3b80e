/** Additions to the base protocol. Each check runs only if the server shows the flag. */

import { base64, type Check, holds, promised, same, textOf } from "../check.ts";

export const EXTENSIONS: readonly Check[] = [
  promised("extensions/wait", "process/wait waits for the exit, or for all output.", async (peer, scene) => {
    const processId = await scene.start(peer, ["sh", "-c", "sleep 0.2; exit 3"]);
    same((await peer.result("process/wait", { processId, timeoutMs: 1 })).timedOut, true, "timedOut");
    const { exited, exitCode, closed, timedOut } = await peer.result("process/wait", { processId, timeoutMs: 10_000 });
    same([exited, exitCode, closed, timedOut], [true, 3, true, false], "the state");
  }, "processWait"),
  promised("extensions/snapshot", "process/snapshot has what each stream wrote.", async (peer, scene) => {
    const processId = await scene.start(peer, ["sh", "-c", "echo out; echo err >&2"]);
    await scene.ended(peer, processId);
    const { stdout, stderr, truncated, running } = await peer.result("process/snapshot", { processId });
    same([textOf(stdout), textOf(stderr), truncated, running], ["out\n", "err\n", false, false], "it");
  }, "processSnapshot"),
  promised("extensions/list", "process/list names the session's processes.", async (peer, scene) => {
    const processId = await scene.start(peer, ["sleep", "60"]);
    const { processes } = await peer.result("process/list", { scope: "session" });
    same(processes.map((entry: { processId: string }) => entry.processId), [processId], "their ids");
  }, "processList"),
  promised("extensions/uid", "A process can also be named by its uid.", async (peer, scene) => {
    const processId = await scene.start(peer, ["sleep", "60"]);
    const { processes } = await peer.result("process/list");
    const { uid } = processes.find((entry: { processId: string }) => entry.processId === processId);
    same(await peer.result("process/terminate", { uid }), { running: true }, "process/terminate");
    await peer.refused(-32602, "process/terminate", { uid, processId });
  }, "processUid"),
  promised("extensions/resize", "process/resize changes the terminal's size.", async (peer, scene) => {
    const processId = await scene.start(peer, ["sh", "-c", "read line; stty size"], { tty: true });
    same(await peer.result("process/resize", { processId, rows: 40, cols: 132 }), {}, "process/resize");
    await peer.result("process/write", { processId, chunk: base64("\n"), writeId: "w" });
    holds(
      (await scene.ended(peer, processId)).terminal.includes("40 132"),
      "the process should see 40 rows and 132 columns",
    );
  }, "processResize"),
  promised("extensions/io", "io says how a process is connected.", async (peer, scene) => {
    const command = scene.command(["stty", "size"], { tty: undefined, io: { type: "pty", rows: 10, cols: 20 } });
    await peer.result("process/start", command);
    same((await scene.ended(peer, command.processId)).terminal.trim(), "10 20", "the terminal's size");
  }, "processIo"),
  promised("extensions/graceful", "A graceful end begins with SIGTERM.", async (peer, scene) => {
    const script = "trap 'exit 5' TERM; echo up; while :; do sleep 0.05; done";
    const processId = await scene.start(peer, ["sh", "-c", script]);
    await peer.told("process/output", processId);
    await peer.result("process/terminate", { processId, mode: { type: "graceful", timeoutMs: 10_000 } });
    same((await peer.told("process/exited", processId)).exitCode, 5, "the exit code");
  }, "terminateModes"),
  promised("extensions/deadline", "timeoutMs ends a process.", async (peer, scene) => {
    const processId = await scene.start(peer, ["sleep", "60"], { timeoutMs: 50 });
    same((await scene.ended(peer, processId)).exitCode, 143, "the exit code");
  }, "processDeadlines"),
  promised("extensions/tree", "A tree is ended with what left its group.", async (peer, scene) => {
    const processId = await scene.start(peer, ["sh", "-c", "setsid sleep 61 & echo up; wait"]);
    await peer.told("process/output", processId);
    const { running, endedCount, survivorPids } = await peer.result("process/terminate", { processId, tree: true });
    same([running, endedCount >= 2, survivorPids], [true, true, []], "running, whether two were ended, and survivors");
  }, "terminateTree"),
  promised("extensions/signals", "Signals besides interrupt are sent.", async (peer, scene) => {
    const processId = await scene.start(peer, ["sleep", "60"]);
    same(await peer.result("process/signal", { processId, signal: "term" }), {}, "process/signal");
    same((await peer.told("process/exited", processId)).exitCode, 143, "the exit code");
  }, "processSignals"),
  {
    id: "extensions/detach-ttl",
    promise: "A session with detachTtlMs 0 ends with its connection.",
    flag: "detachTtl",
    run: async (scene) => {
      const peer = await scene.connect({ detachTtlMs: 0 });
      const resumeSessionId = scene.sessionOf(peer);
      await peer.close();
      // The server may take a moment to see that the connection has ended.
      for (let attempt = 0; attempt < 100; attempt++) {
        const { error } = await (await scene.open()).request("initialize", { clientName: "conform", resumeSessionId });
        if (error?.code === -32010) continue;
        return same(error?.code, -32600, "the code of a resume");
      }
    },
  },
  promised("extensions/range", "fs/readFile reads a part.", async (peer, scene) => {
    const path = await scene.at("range");
    await peer.result("fs/writeFile", { path, dataBase64: base64("0123456789") });
    const { dataBase64 } = await peer.result("fs/readFile", { path, offset: 3, length: 4 });
    same(textOf(dataBase64), "3456", "the part");
  }, "fsReadRange"),
  promised(
    "extensions/conditional",
    "fs/writeFile with ifMatch writes only what is unchanged.",
    async (peer, scene) => {
      const path = await scene.at("conditional");
      const write = { path, dataBase64: base64("x") };
      await peer.result("fs/writeFile", { ...write, ifMatch: "absent" });
      await peer.refused(-32600, "fs/writeFile", { ...write, ifMatch: "absent" });
      const { digest } = await peer.result("fs/getMetadata", { path, fields: ["digest"] });
      await peer.result("fs/writeFile", { ...write, ifMatch: digest });
      await peer.refused(-32600, "fs/writeFile", { ...write, ifMatch: `sha256:${"0".repeat(64)}` });
    },
    "fsConditionalWrite",
  ),
  promised("extensions/rename", "fs/rename replaces only with overwrite.", async (peer, scene) => {
    const [sourcePath, destinationPath] = [await scene.at("old"), await scene.at("new")];
    for (const path of [sourcePath, destinationPath]) await peer.result("fs/writeFile", { path, dataBase64: "" });
    const { error } = await peer.request("fs/rename", { sourcePath, destinationPath });
    holds(error !== undefined, "a rename onto a file should be refused");
    same(await peer.result("fs/rename", { sourcePath, destinationPath, overwrite: true }), {}, "fs/rename");
  }, "fsRename"),
  promised("extensions/atomic", "An atomic write replaces the content and keeps the mode.", async (peer, scene) => {
    const path = await scene.at("atomic");
    await peer.result("fs/writeFile", { path, dataBase64: base64("old"), mode: 0o640 });
    await peer.result("fs/writeFile", { path, dataBase64: base64("new"), atomic: true });
    same(textOf((await peer.result("fs/readFile", { path })).dataBase64), "new", "the content");
    same((await peer.result("fs/getMetadata", { path, fields: ["mode"] })).mode, 0o640, "the mode");
  }, "fsAtomicWrite"),
  promised("extensions/symlink", "fs/symlink makes a link with the target as given.", async (peer, scene) => {
    const path = await scene.at("made-link");
    await peer.result("fs/writeFile", { path: await scene.at("made-target"), dataBase64: base64("x") });
    same(await peer.result("fs/symlink", { path, target: "made-target" }), {}, "fs/symlink");
    same(textOf((await peer.result("fs/readFile", { path })).dataBase64), "x", "the content");
    same((await peer.result("fs/getMetadata", { path })).isSymlink, true, "isSymlink");
  }, "fsSymlink"),
  promised(
    "extensions/list",
    "fs/list describes links themselves, and fs/setTimes sets the time.",
    async (peer, scene) => {
      const path = await scene.at("listed");
      await peer.result("fs/createDirectory", { path });
      await peer.result("fs/writeFile", { path: `${path}/f`, dataBase64: base64("x") });
      await peer.result("fs/symlink", { path: `${path}/l`, target: "f" });
      same(await peer.result("fs/setTimes", { path: `${path}/f`, modifiedAtMs: 1_000_000_000_000 }), {}, "fs/setTimes");
      const { entries } = await peer.result("fs/list", { path });
      const seen = entries.map((
        { fileName, kind, target }: Record<string, unknown>,
      ) => [fileName, kind, target ?? null]);
      same(seen.sort(), [["f", "file", null], ["l", "symlink", "f"]], "the entries");
      const file = entries.find(({ fileName }: Record<string, unknown>) => fileName === "f");
      same(file.modifiedAtMs, 1_000_000_000_000, "the time");
    },
    "fsList",
  ),
  promised("extensions/chmod", "fs/chmod sets the mode.", async (peer, scene) => {
    const path = await scene.at("mode");
    await peer.result("fs/writeFile", { path, dataBase64: "" });
    same(await peer.result("fs/chmod", { path, mode: 0o600 }), {}, "fs/chmod");
    same((await peer.result("fs/getMetadata", { path, fields: ["mode"] })).mode, 0o600, "the mode");
  }, "fsChmod"),
  promised("extensions/watch", "fs/watch tells of a new file.", async (peer, scene) => {
    const path = await scene.at("watched");
    await peer.result("fs/createDirectory", { path });
    await peer.result("fs/watch", { watchId: 1, path });
    await peer.result("fs/writeFile", { path: `${path}/f`, dataBase64: "" });
    const { changes } = await peer.told("fs/changed");
    same(changes, [{ path: `${path}/f`, kind: "created" }], "the changes");
  }, "fsWatch"),
  {
    id: "extensions/started",
    promise: "process/started and process/failed are sent to clients that ask for them.",
    flag: "lifecycleNotifications",
    run: async (scene) => {
      const peer = await scene.connect({ notifications: ["process/started", "process/failed"] });
      const processId = await scene.start(peer, ["true"]);
      same(await peer.told("process/started", processId), { processId }, "process/started");
      const failing = scene.command(["/nonexistent/conform"]);
      await peer.refused(-32603, "process/start", failing);
      same((await peer.told("process/failed")).processId, failing.processId, "process/failed");
    },
  },
  {
    id: "extensions/end-reason",
    promise: "endReason is sent to clients that ask for it, and to no others.",
    flag: "processEndReason",
    run: async (scene) => {
      const asking = await scene.connect({ optionalFields: ["processEndReason"] });
      const processId = await scene.start(asking, ["sleep", "60"]);
      await asking.result("process/terminate", { processId });
      same((await asking.told("process/exited", processId)).endReason, "terminated", "endReason");
      const silent = await scene.connect();
      const other = await scene.start(silent, ["true"]);
      same("endReason" in (await silent.told("process/exited", other)), false, "whether others are told");
    },
  },
  promised("extensions/ack", "Output that is acknowledged is not lost, however much there is.", async (peer, scene) => {
    const command = scene.command(["seq", "1", "400000"], { output: "acknowledged" });
    await peer.result("process/start", command);
    const { processId } = command;
    let text = "";
    for (;;) {
      const { message } = await peer.take(({ params }) => params?.processId === processId, "output");
      if (message.method === "process/output") text += textOf(message.params.chunk);
      peer.ask("process/ack", { processId, seq: message.params.seq });
      if (message.method === "process/closed") break;
    }
    same([text.length, text.slice(-7)], [2688895, "400000\n"], "how much came, and its end");
  }, "acknowledgedOutput"),
  promised(
    "extensions/discover",
    "rpc.discover describes every method that it names, including itself.",
    async (peer) => {
      const { openrpc, methods } = await peer.result("rpc.discover");
      holds(/^1\.3\./.test(openrpc), `the document should be OpenRPC 1.3: it is ${openrpc}`);
      const names = methods.map(({ name }: { name: string }) => name);
      for (const name of ["initialize", "rpc.discover", "process/start", "fs/readFile", "process/output"]) {
        holds(names.includes(name), `${name} should be described`);
      }
      // An unknown method is answered with -32601. Any other answer shows that it is known.
      for (const { name, result } of methods) {
        if (result === undefined || name === "session/end") continue;
        const { error } = await peer.request(name, { "exec-server conform": true, processId: 7, path: 7, watchId: "" });
        holds(error?.code !== -32601, `${name} is described and not known`);
      }
    },
    "rpcDiscover",
  ),
];
