/**
 * The client library beside a raw socket client, on the same server, in turns: output of a process (W2), its input (W5)
 * and the echo of a line (W3B). On Deno, and on Node where `BENCH_NODE` names one and `deno task build:client` has been
 * run. Each rival is one program for all rounds, and has two rounds to warm up that do not count. Prints ratios;
 * docs/performance.md has them.
 *
 * `deno run -A bench/client.ts RAW [ROUNDS] [MIB]`: RAW is the path of a raw client, `ws_ffi.ts` of the side-by-side
 * benchmark. It blocks on the socket and decodes no output, so it is as fast as a client can be.
 */

import { ECHOES, median, rate, type Round, size } from "./client_round.ts";
import { TestServer } from "../tests/support/test_server.ts";

const [raw, rounds = "5", mib = "128"] = Deno.args;
if (raw === undefined) throw new Error("usage: bench/client.ts RAW [ROUNDS] [MIB]");
const { Conn } = await import(new URL(raw, `file://${Deno.cwd()}/`).href);
const { bytes: BYTES, block: BLOCK, output: OUTPUT, input: INPUT } = size(Number(mib));
const NODE = Deno.env.get("BENCH_NODE");

await using server = await TestServer.start({ args: ["--log-level", "error"] });
await using deno = libraryRival([Deno.execPath(), "run", "--allow-all"], "../src/client/mod.ts");
await using node = NODE === undefined ? null : libraryRival([NODE], "../dist/client-package/lib/client/mod.js");
const rivals: Record<string, () => Round | Promise<Round>> = {
  raw: () => rawRound(server.port),
  "library, Deno": () => deno.round(),
  ...(node === null ? {} : { "library, Node": () => node.round() }),
};
const names = Object.keys(rivals);
const results: Record<string, Record<string, number[]>> = {};
for (const round of Object.values(rivals)) for (let warmUp = 0; warmUp < 2; warmUp++) await round();
for (let round = 0; round < Number(rounds); round++) {
  for (const who of round % 2 === 0 ? names : names.toReversed()) {
    for (const [figure, value] of Object.entries(await rivals[who]!())) {
      ((results[figure] ??= {})[who] ??= []).push(value);
    }
  }
}
for (const [figure, by] of Object.entries(results)) {
  for (const [who, values] of Object.entries(by)) {
    const ratio = median(values.map((value, round) => value / by.raw![round]!));
    const difference = median(values.map((value, round) => value - by.raw![round]!));
    console.log(
      `${figure}, ${who}: ${show(median(values))}, ratio ${ratio.toFixed(2)}, difference ${show(difference)}`,
    );
  }
}

/** One program for all rounds: it does one for each line it reads. */
function libraryRival(runtime: readonly string[], library: string): AsyncDisposable & { round(): Promise<Round> } {
  const [program, ...args] = runtime;
  const script = new URL("client_rival.mjs", import.meta.url).pathname;
  const child = new Deno.Command(program!, {
    args: [...args, script, library, server.url, mib],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const orders = child.stdin.getWriter();
  const answers = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  return {
    async round() {
      await orders.write(new TextEncoder().encode("go\n"));
      let line = "";
      while (!line.endsWith("\n")) {
        const { done, value } = await answers.read();
        if (done) throw new Error("the client with the library has ended");
        line += value;
      }
      return JSON.parse(line);
    },
    async [Symbol.asyncDispose]() {
      await orders.close();
      await answers.cancel();
      await child.status;
    },
  };
}

function rawRound(port: number): Round {
  const conn = Conn.open(port).initialize();
  const processes = new Map<string, { bytes: number; closed: boolean }>();
  conn.onOutput = ({ pid, bytes }: { pid: string; bytes: number }) => processes.get(pid)!.bytes += bytes;
  conn.onNote = (method: string, { processId }: { processId: string }) => {
    if (method === "process/closed") processes.get(processId)!.closed = true;
  };
  const start = (argv: string[]) => {
    const processId = `p${processes.size}`;
    const process = { bytes: 0, closed: false };
    processes.set(processId, process);
    const env = { PATH: "/usr/bin:/bin" };
    conn.call("process/start", { processId, argv, cwd: "file:///tmp", env, tty: false, pipeStdin: true });
    return { processId, process };
  };

  let begun = performance.now();
  const output = start(OUTPUT);
  conn.until(() => output.process.closed, 120_000);
  const outputRate = rate(BYTES, begun);

  begun = performance.now();
  const input = start(INPUT);
  const chunk = btoa("a".repeat(BLOCK));
  const open: number[] = [];
  for (let i = 0; i < BYTES / BLOCK; i++) {
    open.push(conn.post("process/write", { processId: input.processId, writeId: `w${i}`, chunk }));
    if (open.length >= 16) conn.await(open.shift()!);
  }
  conn.until(() => input.process.closed, 120_000);
  const inputRate = rate(BYTES, begun);

  const cat = start(["cat"]);
  const times: number[] = [];
  for (let i = 0; i < ECHOES; i++) {
    const wanted = cat.process.bytes + 10;
    const sent = performance.now();
    const id = conn.post("process/write", { processId: cat.processId, writeId: `e${i}`, chunk: btoa("ping-pong\n") });
    conn.until(() => cat.process.bytes >= wanted);
    times.push(performance.now() - sent);
    conn.await(id);
  }
  conn.close();
  return { "output MB/s": outputRate, "input MB/s": inputRate, "echo p50 ms": median(times) };
}

function show(value: number): string {
  return value >= 10 ? value.toFixed(0) : value.toFixed(3);
}
