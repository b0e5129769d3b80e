/**
 * How long a compiled server takes until it answers, beside an older one in the same run.
 *
 *     deno task bench:startup --old PATH [--new PATH] [--hello PATH] [--runs 80] [--idle-runs 20]
 *
 * Runs alternate in random order, so that a busy machine hurts all alike, and what counts is the ratio of the medians; on
 * a busy machine that of the fastest tenth of the runs.
 * `--hello` names a compiled program that prints one line: what the runtime itself takes. Without it one is compiled.
 */

import { parseArgs } from "node:util";
import { concatBytes } from "../src/bytes.ts";
import { clientFrame, RawWebSocket } from "../tests/support/raw_websocket.ts";

interface Options {
  readonly old: string;
  readonly new: string;
  readonly hello: string;
  readonly runs: number;
  readonly idleRuns: number;
}

/** Milliseconds by what was measured. */
type Sample = Record<string, number>;
type Side = "old" | "new";

const START = { argv: ["/bin/true"], cwd: "file:///", env: {}, tty: false, arg0: null };

/** What is asked first of a server that has been idle for a second. */
const FIRST_REQUESTS: Record<string, [method: string, params: Record<string, unknown>]> = {
  "environment/info": ["environment/info", {}],
  "process/start": ["process/start", { processId: "p", ...START }],
  "process/start, tty": ["process/start", { processId: "p", ...START, tty: true }],
  "fs/readFile": ["fs/readFile", { path: "file:///etc/passwd" }],
  "fs/getMetadata": ["fs/getMetadata", { path: "file:///etc/passwd" }],
};

/** A server as a child, from the moment it is started. */
class Server {
  readonly startedMs = performance.now();
  readonly #child: Deno.ChildProcess;

  constructor(program: string) {
    this.#child = new Deno.Command(program, {
      args: ["--listen", "ws://127.0.0.1:0", "--log-level", "error"],
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
  }

  async url(): Promise<string> {
    const reader = this.#child.stdout.getReader();
    const { value } = await reader.read();
    reader.releaseLock();
    return new TextDecoder().decode(value).trim();
  }

  async end(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#child.stdout.cancel();
    await this.#child.status;
  }
}

async function initialize(socket: RawWebSocket): Promise<void> {
  await socket.sendText(JSON.stringify({ id: 0, method: "initialize", params: { clientName: "bench" } }));
  expectResult(await socket.readUntil(({ id }) => id === 0));
}

/** The first request, in one write with the end of the handshake: two would wait for the first to be acknowledged. */
async function ask(socket: RawWebSocket, method: string, params: Record<string, unknown>): Promise<void> {
  const messages = [{ method: "initialized" }, { id: 1, method, params }];
  const frames = messages.map((message) => clientFrame(0x1, new TextEncoder().encode(JSON.stringify(message))));
  await socket.write(concatBytes(frames));
  expectResult(await socket.readUntil(({ id }) => id === 1));
}

function expectResult(answer: { error?: { message: string } }): void {
  if (answer.error !== undefined) throw new Error(`the server refused: ${answer.error.message}`);
}

/** From the start of the program to its first answers. */
async function coldStart(program: string): Promise<Sample> {
  const server = new Server(program);
  const sinceStart = () => performance.now() - server.startedMs;
  try {
    const url = await server.url();
    const listening = sinceStart();
    using socket = await RawWebSocket.connect(url);
    await initialize(socket);
    const initialized = sinceStart();
    await ask(socket, "process/start", { processId: "p", ...START });
    return {
      "address printed": listening,
      "`initialize` answered": initialized,
      "first `process/start` answered": sinceStart(),
    };
  } finally {
    await server.end();
  }
}

/** A program that prints something and ends. */
async function printing(program: string, args: readonly string[]): Promise<number> {
  const startedMs = performance.now();
  const { success } = await new Deno.Command(program, { args: [...args], stdin: "null", stderr: "inherit" }).output();
  if (!success) throw new Error(`${program} ${args.join(" ")} failed`);
  return performance.now() - startedMs;
}

/** The first requests of servers that have all been idle for a second: one server for each request. */
async function afterIdleSecond(programs: Record<Side, string>, add: (side: Side, sample: Sample) => void) {
  const plan = shuffled(
    (["old", "new"] as const).flatMap((side) => Object.keys(FIRST_REQUESTS).map((name) => ({ side, name }))),
  );
  const servers: { server: Server; url: string; side: Side; name: string }[] = [];
  try {
    for (const { side, name } of plan) {
      const server = new Server(programs[side]);
      servers.push({ server, url: await server.url(), side, name });
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
    for (const { url, side, name } of servers) {
      const connectedMs = performance.now();
      using socket = await RawWebSocket.connect(url);
      await initialize(socket);
      const initializedMs = performance.now();
      await ask(socket, ...FIRST_REQUESTS[name]!);
      add(side, {
        "connect and `initialize`": initializedMs - connectedMs,
        [`\`${name.replace(",", "`,")}${name.includes(",") ? "" : "`"}`]: performance.now() - initializedMs,
      });
    }
  } finally {
    for (const { server } of servers) await server.end();
  }
}

class Samples {
  readonly #values = new Map<string, Record<Side, number[]>>();

  add(side: Side, sample: Sample): void {
    for (const [name, value] of Object.entries(sample)) {
      if (!this.#values.has(name)) this.#values.set(name, { old: [], new: [] });
      this.#values.get(name)![side].push(value);
    }
  }

  /** One line of a Markdown table for each thing that was measured. */
  lines(): string[] {
    return [...this.#values].map(([name, values]) => {
      const [before, after] = [median(values.old), median(values.new)];
      const fast = fastest(values.new) / fastest(values.old);
      const numbers = [before.toFixed(1), after.toFixed(1), (after / before).toFixed(2), fast.toFixed(2)];
      const row = [name, ...numbers, String(values.new.length)];
      return `| ${row.join(" | ")} |`;
    });
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
}

/** The first decile: what other programs disturb least. */
function fastest(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 10)] ?? NaN;
}

function shuffled<T>(items: readonly T[]): T[] {
  return items.map((item) => ({ item, order: Math.random() })).sort((a, b) => a.order - b.order).map(({ item }) =>
    item
  );
}

async function compileHello(): Promise<string> {
  const directory = await Deno.makeTempDir();
  const [source, program] = [`${directory}/hello.ts`, `${directory}/hello`];
  await Deno.writeTextFile(source, 'console.log("hello");\n');
  const args = ["compile", "--quiet", "--no-check", "--no-code-cache", "--output", program, source];
  const { success } = await new Deno.Command(Deno.execPath(), { args, stdout: "inherit", stderr: "inherit" }).output();
  if (!success) throw new Error("cannot compile a hello-world: name one with --hello");
  return program;
}

async function readOptions(): Promise<Options> {
  const { values } = parseArgs({
    args: Deno.args,
    options: {
      old: { type: "string" },
      new: { type: "string", default: "dist/exec-server" },
      hello: { type: "string" },
      runs: { type: "string", default: "80" },
      "idle-runs": { type: "string", default: "20" },
    },
  });
  if (values.old === undefined) throw new Error("--old PATH names the server to compare with");
  return {
    old: values.old,
    new: values.new,
    hello: values.hello ?? await compileHello(),
    runs: Number(values.runs),
    idleRuns: Number(values["idle-runs"]),
  };
}

if (import.meta.main) {
  const options = await readOptions();
  const samples = new Samples();
  const steps = [
    async () => samples.add("old", await coldStart(options.old)),
    async () => samples.add("new", await coldStart(options.new)),
    async () => samples.add("old", { "`--version`": await printing(options.old, ["--version"]) }),
    async () => samples.add("new", { "`--version`": await printing(options.new, ["--version"]) }),
    async () => {
      const hello = await printing(options.hello, []);
      samples.add("old", { "a compiled hello-world (twice)": hello });
      samples.add("new", { "a compiled hello-world (twice)": hello });
    },
  ];
  for (let run = 0; run < options.runs; run++) {
    for (const step of shuffled(steps)) await step();
  }
  const idle = new Samples();
  for (let run = 0; run < options.idleRuns; run++) {
    await afterIdleSecond(options, (side, sample) => idle.add(side, sample));
  }
  console.log(
    "| from the start of the program, ms | old | new | ratio | of the fastest | runs |\n| --- | --- | --- | --- | --- | --- |",
  );
  console.log(samples.lines().join("\n"));
  console.log(
    "\n| after an idle second, ms | old | new | ratio | of the fastest | runs |\n| --- | --- | --- | --- | --- | --- |",
  );
  console.log(idle.lines().join("\n"));
}
