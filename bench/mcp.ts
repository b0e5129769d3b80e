/**
 * A warm call of `shell`, beside the first server that had this tool (`@openai/codex-shell-tool-mcp` 0.97.0 with codex
 * 0.97.0), in turns within one run, as ratios: absolute times say more of the machine than of the program. And how long
 * both take from their start to their first answers, and what it costs that every program of a script is decided.
 *
 *   CODEX097_DIR=DIR deno run --allow-all bench/mcp.ts [ROUNDS]
 *
 * DIR is where npm has installed both packages; without it ours is measured alone. Ours is `dist/exec-server` (or
 * EXEC_SERVER_BINARY). _Back to back_: a round is many calls to the one server, then as many to the other, so no call
 * finds a sandbox that had time to be made. _With pauses_: call by call in turns, as an agent calls.
 */

import { type AuditFile, openAuditFile } from "../src/cli/mcp/audit_file.ts";
import { systemClock } from "../src/clock.ts";
import { auditLog } from "../src/mcp/audit.ts";
import { type DecisionContext, ExecDecider } from "../src/mcp/exec_decider.ts";
import { PromptDesk } from "../src/mcp/prompt_desk.ts";
import type { SupervisedShellOptions } from "../src/mcp/supervised_shell.ts";
import { loadRules } from "../src/rules/mod.ts";
import { McpServer } from "../tests/support/mcp_server.ts";
import { RecordedChild } from "../tests/support/recorded_child.ts";
import { SupervisedScene } from "../tests/support/supervised_scene.ts";

const ROUNDS = Number(Deno.args[0] ?? "10");
const WARM_UP_CALLS = 5;
const PAUSE_MS = 15;
const EXECS = 200;
/** As in docs/mcp.md. */
const RULES = `
prefix_rule(pattern = ["lsusb"], decision = "allow")
prefix_rule(pattern = ["git", ["add", "commit", "fetch", "pull", "push"]], decision = "prompt")
prefix_rule(pattern = ["shutdown"], decision = "forbidden")
prefix_rule(pattern = ["npm", ["publish", "login"]], decision = "prompt")
host_executable(name = "git", paths = ["/usr/bin/git"])
`;
const SCRIPT = `for ((i = 0; i < ${EXECS}; i++)); do /bin/true; done`;

/** What is called, and how often in a round. */
const CALLS: readonly (readonly [name: string, command: string, callsPerRound: number])[] = [
  ["a builtin", ":", 20],
  ["one external program", "/bin/true", 20],
  [`a script of ${EXECS} times /bin/true`, SCRIPT, 2],
];

/** A server of its own each time. */
const STARTS_PER_ROUND = 2;

const NATIVE = `${Deno.build.arch}-unknown-linux-musl`;
const ours = Deno.env.get("EXEC_SERVER_BINARY") ?? new URL("../dist/exec-server", import.meta.url).pathname;
const firstServer = Deno.env.get("CODEX097_DIR");

const directory = await Deno.realPath(await Deno.makeTempDir({ prefix: "bench-mcp-" }));
try {
  await compareStarts();
  await compareServers();
  await compareInterception();
} finally {
  await Deno.remove(directory, { recursive: true });
}

/** Ours, and the first server if it is there. */
function programs(): readonly Program[] {
  const our = { command: [ours, "mcp"], sandboxProgram: null };
  if (firstServer === undefined) return [our];
  const its = {
    command: ["node", `${firstServer}/node_modules/@openai/codex-shell-tool-mcp/bin/mcp-server.js`],
    sandboxProgram: `${firstServer}/node_modules/@openai/codex/vendor/${NATIVE}/codex/codex`,
  };
  return [our, its];
}

/** What a client waits for when it has just started a server: its first answer, and the first result. */
async function compareStarts(): Promise<void> {
  const rivals = programs();
  if (rivals.length === 1) console.log("CODEX097_DIR is not set: ours alone\n");
  const answered: number[][] = rivals.map(() => []);
  const called: number[][] = rivals.map(() => []);
  // The first round fills the caches of files.
  for (let round = 0; round <= ROUNDS * STARTS_PER_ROUND; round++) {
    for (const [index, program] of inTurns(rivals, round)) {
      const begun = performance.now();
      await using rival = await open(program);
      await rival.run(":");
      if (round === 0) continue;
      answered[index]!.push(rival.answeredAt - begun);
      called[index]!.push(performance.now() - begun);
    }
  }
  console.log("| from the start of the server to | ours, ms | its, ms | ratio of p50 | of the fastest |");
  console.log("| --- | --- | --- | --- | --- |");
  printRow("the answer to `initialize`", answered);
  printRow("the first result of `shell` (a builtin)", called);
}

async function compareServers(): Promise<void> {
  await using servers = new AsyncDisposableStack();
  const rivals: Rival[] = [];
  for (const program of programs()) rivals.push(servers.use(await open(program)));
  console.log("\n| a warm call of `shell` | ours, ms | its, ms | ratio of p50 | of the fastest |");
  console.log("| --- | --- | --- | --- | --- |");
  for (const [name, command, calls] of CALLS) {
    for (const rival of rivals) for (let call = 0; call < WARM_UP_CALLS; call++) await rival.run(command);
    printRow(`${name}, back to back`, await backToBack(rivals, command, calls));
    printRow(`${name}, with pauses`, await withPauses(rivals, command, calls));
  }
}

async function backToBack(rivals: readonly Rival[], command: string, calls: number): Promise<number[][]> {
  const times: number[][] = rivals.map(() => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, rival] of inTurns(rivals, round)) {
      for (let call = 0; call < calls; call++) times[index]!.push(await rival.run(command));
    }
  }
  return times;
}

async function withPauses(rivals: readonly Rival[], command: string, calls: number): Promise<number[][]> {
  const times: number[][] = rivals.map(() => []);
  for (let call = 0; call < ROUNDS * calls; call++) {
    for (const [index, rival] of inTurns(rivals, call)) {
      times[index]!.push(await rival.run(command));
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
  return times;
}

/** Each is the first every other time. */
function inTurns<Of>(rivals: readonly Of[], round: number): [number, Of][] {
  const all = [...rivals.entries()];
  return round % 2 === 0 ? all : all.toReversed();
}

interface Program {
  readonly command: readonly string[];
  /** What the first server confines with. */
  readonly sandboxProgram: string | null;
}

interface Rival extends AsyncDisposable {
  /** When it had answered `initialize`. */
  readonly answeredAt: number;
  /** How long one call takes, in milliseconds. */
  run(command: string): Promise<number>;
}

/** A server with a client that has told it to confine to reading, as codex does. */
async function open({ command, sandboxProgram }: Program): Promise<Rival> {
  const server = new McpServer({ command, env: { CODEX_HOME: directory }, cwd: directory });
  await server.peer.initialize();
  const answeredAt = performance.now();
  await server.peer.request("codex/sandbox-state/update", {
    sandboxPolicy: { type: "read-only" },
    codexLinuxSandboxExe: sandboxProgram,
    sandboxCwd: directory,
  });
  return {
    answeredAt,
    async run(command) {
      const begun = performance.now();
      const result = await server.peer.call("shell", { command, workdir: directory, login: false });
      const ms = performance.now() - begun;
      const { exit_code: exitCode, output } = JSON.parse(result.content[0].text);
      if (exitCode !== 0) throw new Error(`${command} ended with ${exitCode}: ${output}`);
      return ms;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/**
 * The same script in the same Bash and the same kind of sandbox, made for it: nobody asks, all is decided as
 * `exec-server mcp` decides it, by rules and with a line each in an audit file, and so strictly.
 */
async function compareInterception(): Promise<void> {
  await using scene = await SupervisedScene.open();
  using audit = openAuditFile(`${directory}/audit.jsonl`);
  const decide = judge(audit);
  const { host } = scene;
  const fresh = scene.withoutStandbys();
  const plain = { argv: ["/bin/bash", "-c", SCRIPT], arg0: null, cwd: scene.ws, env: { PATH: "/usr/bin:/bin" } };
  const request = { ...plain, io: { type: "pipe", stdin: "closed" } } as const;
  const ways: Record<string, () => Promise<unknown>> = {
    "not watched": () => RecordedChild.run(host.backend, host.confined(request, host.sandbox("read /, write ws"))),
    "every program decided": () => fresh.run(SCRIPT, { decide }),
    "every program decided, strictly": () => fresh.run(SCRIPT, { decide, strictExec: true }),
  };
  const times = new Map(Object.keys(ways).map((name) => [name, [] as number[]]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, run] of Object.entries(ways)) {
      const begun = performance.now();
      await run();
      // The first round is for what is made once.
      if (round > 0) times.get(name)!.push(performance.now() - begun);
    }
  }
  await fresh.shells.close();
  const base = times.get("not watched")!;
  console.log(
    `\n| a script of ${EXECS} times /bin/true | ms | ratio of p50 | of the fastest |\n| --- | --- | --- | --- |`,
  );
  for (const [name, own] of times) {
    const numbers = [median(own).toFixed(1), ratio(median, own, base), ratio(fastest, own, base)];
    console.log(`| ${[name, ...numbers].join(" | ")} |`);
  }
}

/** Decides as the server does, by rules of which none is about the script's programs. */
function judge(audit: AuditFile): SupervisedShellOptions["decide"] {
  const home = { cwd: directory, home: null };
  const rules = loadRules([{ path: "/rules/default.rules", text: RULES }], home);
  const decider = new ExecDecider({
    rules: () => rules,
    preservesPaths: false,
    descriptorPrograms: new Set(),
    escalate: "shell",
    home: null,
    audit: auditLog((line) => audit.write(line)),
    clock: systemClock,
  });
  const context: DecisionContext = {
    askedBy: { holder: null, session: crypto.randomUUID(), callNumber: 1, call: "call_1", client: "bench" },
    prompts: new PromptDesk({ onOpened: () => {}, onClosed: () => {} }),
    memory: new Set(),
    onDenied: ({ file }, reason) => {
      throw new Error(`${file} was denied: ${reason}`);
    },
  };
  return (call, signal) => decider.decide(call, signal, context);
}

function printRow(name: string, [own, its]: readonly number[][]): void {
  const numbers = its === undefined
    ? [median(own!).toFixed(1), "", "", ""]
    : [median(own!).toFixed(1), median(its).toFixed(1), ratio(median, own!, its), ratio(fastest, own!, its)];
  console.log(`| ${[name, ...numbers].join(" | ")} |`);
}

function ratio(of: (values: readonly number[]) => number, one: readonly number[], other: readonly number[]): string {
  return (of(one) / of(other)).toFixed(2);
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1]!;
}

/** The first decile: what other programs disturb least. */
function fastest(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 10)]!;
}
