/**
 * Nothing outlives its session: programs that do what daemons, job control and hostile code do to get away are all gone
 * when the session has expired, when the server has been asked to end, and when the server has been killed.
 */

import assert from "node:assert/strict";
import type { ProcessIoField } from "../../src/protocol/process.ts";
import { areInstalled } from "../support/installed.ts";
import { childrenOf } from "../support/proc.ts";
import type { Client } from "../support/rpc_client.ts";
import { StdioServer } from "../support/stdio_server.ts";
import { TestServer } from "../support/test_server.ts";
import { until } from "../support/until.ts";
import { RollCall } from "./roll_call.ts";

/** Far longer than any process here takes to end. */
const END_LIMIT_MS = 60_000;
/** The server looks for ended orphans every few seconds. */
const ORPHAN_LIMIT_MS = 60_000;
/** About half a second on the run; whoever is not caught by then stays, and is found. */
const FORK_CHAIN_GENERATIONS = 400;
const FORK_TREE_DEPTH = 4;
const CTRL_Z = "\x1a";

interface Program {
  readonly name: string;
  /** A script for bash; `name` makes a member's full name. */
  readonly script: (roll: RollCall, name: (member: string) => string) => string;
  /** Everybody who announces themselves. */
  readonly members: readonly string[];
  /** Those of them who are not in the process group any more, and so survive `process/terminate`. */
  readonly escaped?: readonly string[];
  /**
   * The direct child exits, and leaves the others behind. It waits for a line before that: on a terminal its end takes
   * everybody with it who is not prepared yet.
   */
  readonly exits?: true;
}

const PROGRAMS: readonly Program[] = [
  {
    name: "plain",
    script: (roll, name) => `exec ${roll.stay(name("main"))}`,
    members: ["main"],
  },
  {
    name: "ignores TERM",
    script: (roll, name) => `exec ${roll.stay(name("main"), "ignore-signals")}`,
    members: ["main"],
  },
  {
    name: "forks twice",
    script: (roll, name) => `( ${roll.stay(name("orphan"))} & ); exec ${roll.stay(name("main"))}`,
    members: ["main", "orphan"],
  },
  {
    name: "leaves the session",
    script: (roll, name) => `setsid ${roll.stay(name("leaver"))} & exec ${roll.stay(name("main"))}`,
    members: ["main", "leaver"],
    escaped: ["leaver"],
  },
  {
    name: "daemon",
    script: (roll, name) => `( setsid ${roll.stay(name("daemon"), "ignore-signals", "close-all")} & ); read -r line`,
    members: ["daemon"],
    escaped: ["daemon"],
    exits: true,
  },
  {
    name: "without environment",
    script: (roll, name) => `env -i setsid ${roll.stay(name("bare"))} & exec ${roll.stay(name("main"))}`,
    members: ["main", "bare"],
    escaped: ["bare"],
  },
  {
    name: "nohup",
    script: (roll, name) => `nohup ${roll.stay(name("job"))} > /dev/null 2>&1 & exec ${roll.stay(name("main"))}`,
    members: ["main", "job"],
  },
  {
    name: "own group",
    script: (roll, name) => `set -m; ${roll.stay(name("job"))} & exec ${roll.stay(name("main"))}`,
    members: ["main", "job"],
    escaped: ["job"],
  },
  {
    name: "disowned",
    script: (roll, name) => `set -m; ${roll.stay(name("job"))} & disown; exec ${roll.stay(name("main"))}`,
    members: ["main", "job"],
    escaped: ["job"],
  },
  {
    // Its group is that of a process that has ended, which terminate leaves alone.
    name: "holds stdout",
    script: (roll, name) => `${roll.stay(name("holder"), "ignore-signals")} & read -r line`,
    members: ["holder"],
    escaped: ["holder"],
    exits: true,
  },
  {
    name: "stops itself",
    script: (roll, name) => `${roll.stay(name("child"), "stop")} & exec ${roll.stay(name("main"), "stop")}`,
    members: ["main", "child"],
  },
  {
    name: "stopped daemon",
    script: (roll, name) => `( setsid ${roll.stay(name("daemon"), "ignore-signals", "stop")} & ); read -r line`,
    members: ["daemon"],
    escaped: ["daemon"],
    exits: true,
  },
  {
    name: "many",
    script: (roll, name) => `exec ${roll.forkTree(name("one"), FORK_TREE_DEPTH)}`,
    members: Array.from({ length: 2 ** (FORK_TREE_DEPTH + 1) - 1 }, () => "one"),
  },
];

/** Always on the run: where they are when they are looked for is chance, so there is nothing to say about terminate. */
const RUNAWAYS: readonly Program[] = (["", "setsid"] as const).map((launcher) => ({
  name: launcher === "" ? "forks on and on" : "forks on and on into new sessions",
  script: (roll, name) => roll.forkChain(name("runner"), { generations: FORK_CHAIN_GENERATIONS, launcher }),
  members: ["runner"],
}));

const IOS: Record<string, ProcessIoField> = {
  pipes: { type: "pipe", stdin: "open" },
  tty: { type: "pty", rows: 24, cols: 80 },
};

/** A client that starts the programs. */
class Culprit {
  readonly client: Client;
  readonly #roll: RollCall;

  constructor(client: Client, roll: RollCall) {
    this.client = client;
    this.#roll = roll;
  }

  /** Starts a program, once with pipes and once with a terminal, and waits until it has done what it does. */
  async run(program: Program): Promise<void> {
    for (const [ioName, io] of Object.entries(IOS)) {
      const processId = processIdOf(program, ioName);
      const name = (member: string) => memberName(program, ioName, member);
      await this.start(processId, ["bash", "-c", program.script(this.#roll, name)], io);
      await this.#roll.announced(program.members.map(name));
      if (!program.exits) continue;
      await this.#type(processId, "\n");
      await this.ended(processId, "exited");
    }
  }

  async start(processId: string, argv: string[], io: ProcessIoField): Promise<void> {
    await this.client.call("process/start", { processId, argv, cwd: "/", env: { PATH: Deno.env.get("PATH")! }, io });
  }

  async ended(processId: string, until: "exited" | "closed"): Promise<void> {
    const { timedOut } = await this.client.call("process/wait", { processId, until, timeoutMs: END_LIMIT_MS });
    assert.ok(!timedOut, `${processId} has not ${until}`);
  }

  /** An interactive shell with a job of every kind. */
  async runShell(): Promise<void> {
    const processId = "interactive shell";
    await this.start(processId, ["bash", "--norc", "--noprofile", "-i"], IOS.tty!);
    const launch = async (job: string, line: (command: string) => string) => {
      await this.#type(processId, `${line(this.#roll.stay(`shell-${job}`))}\n`);
      await this.#roll.announced([`shell-${job}`]);
    };
    await launch("background", (command) => `${command} &`);
    await launch("disowned", (command) => `${command} & disown`);
    await launch("nohup", (command) => `nohup ${command} > /dev/null 2>&1 &`);
    await launch("setsid", (command) => `setsid ${command} &`);
    await launch("pipeline", (command) => `${command} | cat &`);
    await launch("suspended", (command) => command);
    await this.#type(processId, CTRL_Z);
    await launch("foreground", (command) => command);
  }

  async #type(processId: string, text: string): Promise<void> {
    await this.client.call("process/write", { processId, chunk: btoa(text) });
  }
}

/** Everything at once, the runaways last: they are to be caught running. */
async function runEverything(culprit: Culprit): Promise<void> {
  for (const program of PROGRAMS) await culprit.run(program);
  await culprit.runShell();
  for (const program of RUNAWAYS) await culprit.run(program);
}

function leftoverTest(name: string, test: () => Promise<void>): void {
  Deno.test({ name, ignore: !areInstalled(["bash", "setsid", "nohup"], name), fn: test });
}

leftoverTest("nothing outlives an expired session, and no other session is touched", async () => {
  await using roll = await RollCall.begin();
  await using bystanders = await RollCall.begin();
  await using server = await TestServer.start({ args: ["--detached-session-ttl-ms", "50"] });
  await using bystander = await server.connect();
  for (const program of PROGRAMS) await new Culprit(bystander, bystanders).run(program);
  const unharmed = pids(bystanders);

  const culprit = new Culprit(await server.connect(), roll);
  await runEverything(culprit);
  await culprit.client.close();
  await nobodyIsLeft(roll);

  assert.deepEqual(pids(bystanders), unharmed);
  // These go with their own session, and no earlier.
  await bystander.close();
  await nobodyIsLeft(bystanders);
  const zombies = () => childrenOf(server.pid).filter(({ state }) => state === "Z");
  await until(() => zombies().length === 0, () => `zombies: ${JSON.stringify(zombies())}`, ORPHAN_LIMIT_MS);
});

leftoverTest("nothing is alive when the server has ended on SIGTERM", async () => {
  await using roll = await RollCall.begin();
  await using server = await TestServer.start();
  await runEverything(new Culprit(await server.connect(), roll));
  server.kill("SIGTERM");
  const { code, signal } = await server.status;
  assert.deepEqual({ alive: describe(roll), code, signal }, { alive: "", code: 0, signal: null });
  await nobodyIsLeft(roll);
});

leftoverTest("nothing is alive when a server on stdio has ended with its input", async () => {
  await using roll = await RollCall.begin();
  const server = await StdioServer.start();
  await runEverything(new Culprit(server.client, roll));
  await server[Symbol.asyncDispose]();
  assert.equal(describe(roll), "");
  await nobodyIsLeft(roll);
});

leftoverTest("nothing outlives a server that was killed", async () => {
  await using roll = await RollCall.begin();
  await using server = await TestServer.start();
  const culprit = new Culprit(await server.connect(), roll);
  await runEverything(culprit);
  server.kill("SIGKILL");
  await server.status;
  await culprit.client.closed;
  await nobodyIsLeft(roll);
});

leftoverTest("terminate ends the group; processes that have left it live until the session ends", async () => {
  await using roll = await RollCall.begin();
  await using server = await TestServer.start({ args: ["--detached-session-ttl-ms", "50"] });
  const culprit = new Culprit(await server.connect(), roll);
  const { client } = culprit;
  for (const program of PROGRAMS) {
    await culprit.run(program);
    for (const ioName of Object.keys(IOS)) {
      const processId = processIdOf(program, ioName);
      const { running } = await client.call("process/terminate", { processId });
      assert.equal(running, program.exits === undefined, processId);
      if (!program.exits) await culprit.ended(processId, "closed");
      const { escaped = [] } = program;
      const members = new Set(program.members);
      const isAlive = (member: string) => roll.alive(memberName(program, ioName, member)).length > 0;
      const dying = [...members].filter((member) => !escaped.includes(member));
      await until(() => !dying.some(isAlive), () => `${processId}: alive are ${dying.filter(isAlive)}`);
      assert.deepEqual([...members].filter(isAlive), escaped, processId);
    }
  }
  await client.close();
  await nobodyIsLeft(roll);
});

async function nobodyIsLeft(roll: RollCall): Promise<void> {
  await roll.chainsEnded();
  await until(() => roll.alive().length === 0, () => `alive: ${describe(roll)}`);
}

function processIdOf(program: Program, ioName: string): string {
  return `${program.name}, ${ioName}`;
}

/** Without spaces: it becomes a word of a command. */
function memberName(program: Program, ioName: string, member: string): string {
  return `${program.name}/${ioName}/${member}`.replaceAll(" ", "-");
}

function pids(roll: RollCall): number[] {
  return roll.alive().map(({ pid }) => pid).sort((a, b) => a - b);
}

function describe(roll: RollCall): string {
  return roll.alive().map(({ pid, state, commandLine }) => `${pid} ${state} ${commandLine}`).join("\n");
}
