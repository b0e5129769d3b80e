/** Starting and ending processes. */

import { type Check, holds, promised, same } from "../check.ts";

export const PROCESSES: readonly Check[] = [
  promised("processes/start", "process/start answers the id and whether a sandbox was made.", async (peer, scene) => {
    const command = scene.command(["true"]);
    const { processId, sandboxType } = await peer.result("process/start", command);
    same({ processId, sandboxType }, { processId: command.processId, sandboxType: "none" }, "the result");
    await scene.ended(peer, command.processId);
  }),
  promised("processes/environment", "env is all of the child's environment.", async (peer, scene) => {
    const { stdout } = await scene.run(peer, "env | grep -v '^\\(_\\|PWD\\|SHLVL\\)='", {
      env: { PATH: "/usr/bin:/bin", CONFORM: "a b" },
    });
    same(stdout.trim().split("\n").sort(), ["CONFORM=a b", "PATH=/usr/bin:/bin"], "the variables");
  }),
  promised(
    "processes/env-policy",
    "envPolicy derives the environment from the server's, env on top.",
    async (peer, scene) => {
      const envPolicy = {
        inherit: "none",
        ignoreDefaultExcludes: true,
        exclude: [],
        set: { A: "1", B: "2" },
        includeOnly: ["A"],
      };
      const { stdout } = await scene.run(peer, 'echo "$A/$B/$C"', {
        envPolicy,
        env: { C: "3", PATH: "/usr/bin:/bin" },
      });
      same(stdout, "1//3\n", "the variables");
    },
  ),
  promised("processes/cwd", "The child runs in cwd.", async (peer, scene) => {
    await peer.result("fs/createDirectory", { path: await scene.at("cwd") });
    const { stdout } = await scene.run(peer, "pwd -P", { cwd: await scene.at("cwd") });
    same(stdout.trim().endsWith("/cwd"), true, "whether the directory is that");
  }),
  promised("processes/arg0", "arg0 is what the child sees; argv[0] still selects the program.", async (peer, scene) => {
    const processId = await scene.start(peer, ["sh", "-c", "echo $0"], { arg0: "other" });
    same((await scene.ended(peer, processId)).stdout.trim(), "other", "what it sees");
  }),
  promised(
    "processes/missing-program",
    "A program that cannot be run is -32603, and the id stays free.",
    async (peer, scene) => {
      const command = scene.command(["/nonexistent/exec-server-conform"]);
      await peer.refused(-32603, "process/start", command);
      await peer.result("process/start", { ...command, argv: ["true"] });
      await scene.ended(peer, command.processId);
    },
  ),
  promised("processes/missing-cwd", "A working directory that does not exist is -32603.", async (peer, scene) => {
    await peer.refused(-32603, "process/start", scene.command(["true"], { cwd: "file:///nonexistent/conform" }));
  }),
  promised("processes/terminal-missing-cwd", "The same on a terminal.", async (peer, scene) => {
    const command = scene.command(["true"], { cwd: "file:///nonexistent/conform", tty: true });
    await peer.refused(-32603, "process/start", command);
  }),
  promised(
    "processes/parameters",
    "An empty argv, a missing tty and a cwd that is not a path are -32602.",
    async (peer, scene) => {
      await peer.refused(-32602, "process/start", scene.command([]));
      await peer.refused(-32602, "process/start", { ...scene.command(["true"]), tty: undefined });
      await peer.refused(-32602, "process/start", scene.command(["true"], { cwd: "relative" }));
      await peer.refused(-32602, "process/start", scene.command(["true"], { cwd: "file://elsewhere/tmp" }));
    },
  ),
  promised("processes/same-id", "An id in use is -32600.", async (peer, scene) => {
    const processId = await scene.start(peer, ["sleep", "60"]);
    await peer.refused(-32600, "process/start", { ...scene.command(["true"]), processId });
  }),
  promised("processes/own-ids", "Every session has ids of its own.", async (peer, scene) => {
    const processId = await scene.start(peer, ["sleep", "60"]);
    const other = await scene.connect();
    await other.refused(-32600, "process/read", { processId });
    same(await other.result("process/terminate", { processId }), { running: false }, "process/terminate elsewhere");
  }),
  promised(
    "processes/exit-codes",
    "exitCode is the status, or 128 and the number of the signal.",
    async (peer, scene) => {
      same((await scene.run(peer, "exit 7")).exitCode, 7, "the exit code");
      same((await scene.run(peer, "kill -TERM $$")).exitCode, 143, "the exit code after SIGTERM");
    },
  ),
  promised("processes/terminal-exit-codes", "The same on a terminal.", async (peer, scene) => {
    same((await scene.run(peer, "exit 7", { tty: true })).exitCode, 7, "the exit code");
    same((await scene.run(peer, "kill -TERM $$", { tty: true })).exitCode, 143, "the exit code after SIGTERM");
  }),
  promised(
    "processes/terminal",
    "A terminal has 24 rows and 80 columns, and its output is pty.",
    async (peer, scene) => {
      const { terminal, stdout } = await scene.run(peer, "stty size; test -t 0 && test -t 1 && test -t 2 && echo yes", {
        tty: true,
      });
      same([terminal.replaceAll("\r", ""), stdout], ["24 80\nyes\n", ""], "what it wrote");
    },
  ),
  promised("processes/no-input", "Without pipeStdin a child reads nothing.", async (peer, scene) => {
    same((await scene.run(peer, "cat; echo end")).stdout, "end\n", "what it wrote");
  }),
  promised("processes/interrupt", "process/signal interrupt reaches the process.", async (peer, scene) => {
    const processId = await scene.start(peer, ["sh", "-c", "trap 'exit 5' INT; echo up; while :; do sleep 0.05; done"]);
    await peer.told("process/output", processId);
    same(await peer.result("process/signal", { processId, signal: "interrupt" }), {}, "process/signal");
    same((await peer.told("process/exited", processId)).exitCode, 5, "the exit code");
  }),
  promised("processes/terminate", "process/terminate ends the process and its group.", async (peer, scene) => {
    const processId = await scene.start(peer, ["sh", "-c", "sleep 60 & echo up; wait"]);
    await peer.told("process/output", processId);
    same(await peer.result("process/terminate", { processId }), { running: true }, "process/terminate");
    same((await scene.ended(peer, processId)).exitCode, 137, "the exit code");
    same(await peer.result("process/terminate", { processId }), { running: false }, "a second one");
  }),
  promised(
    "processes/unknown",
    "An unknown process: -32600 for a read, results for the others.",
    async (peer, scene) => {
      const processId = scene.name("unknown");
      await peer.refused(-32600, "process/read", { processId });
      same(await peer.result("process/terminate", { processId }), { running: false }, "process/terminate");
      same(await peer.result("process/signal", { processId, signal: "interrupt" }), {}, "process/signal");
      const write = { processId, chunk: "", writeId: "w" };
      same(await peer.result("process/write", write), { status: "unknownProcess" }, "process/write");
    },
  ),
  promised("processes/unknown-members", "Unknown members are ignored.", async (peer, scene) => {
    const processId = await scene.start(peer, ["true"], { conform: { a: 1 } });
    holds((await scene.ended(peer, processId)).exitCode === 0, "the process should run");
  }),
];
