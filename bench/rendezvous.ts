/**
 * What it costs to go through a rendezvous, as ratios to a direct connection in the same run: throughput of output, the
 * echo of a byte, and the echo of one client while another one has stopped reading.
 *
 * Usage: deno run -A bench/rendezvous.ts [ROUNDS]. Everything runs on this machine, so the rendezvous shares its cores
 * with both ends: on machines of their own the ratios are better.
 */

import { type Address, connect, type Devbox } from "../src/client/mod.ts";
import { RemoteChild } from "../tests/support/remote_child.ts";
import { TestRendezvous } from "../tests/support/test_rendezvous.ts";
import { TestServer } from "../tests/support/test_server.ts";

const ROUNDS = Number(Deno.args[0] ?? 5);
const STREAM_BYTES = 64 * 1024 * 1024;
const ECHOES = 500;
/** Given to the connections before anything is measured, so that the compiler has seen the code. */
const WARM_UP_ROUNDS = 1;

/** Long enough to have the second in which a client of the noise form that takes nothing is waited for. */
const ECHOES_BESIDE = 3000;

interface Way {
  readonly name: string;
  readonly box: Devbox;
  readonly mibPerSecond: number[];
  readonly echoMs: number[];
}

const directory = await Deno.makeTempDir({ dir: "/var/tmp", prefix: "bench-rendezvous-" });
try {
  await using rendezvous = await TestRendezvous.start(directory);
  const [executorToken, token] = [await rendezvous.token(["executor"]), await rendezvous.token(["client"])];
  const env = { EXEC_SERVER_REMOTE_TOKEN: executorToken };
  await using server = await TestServer.start();
  await using plain = new RemoteChild({ args: ["--remote", rendezvous.url, "--executor-id", "plain"], env });
  await using noise = new RemoteChild({
    args: ["--remote", rendezvous.url, "--environment-id", "noise", "--identity-file", `${directory}/identity`],
    env,
  });
  await Promise.all([plain.connected(), noise.connected()]);
  const noiseAddress: Address = { rendezvous: rendezvous.url, executor: "noise" };
  const plainAddress = `${rendezvous.websocketUrl}/connect/plain`;
  const ways: Way[] = [];
  for (const [name, address] of [["direct", server.url], ["plain", plainAddress], ["noise", noiseAddress]] as const) {
    ways.push({
      name,
      box: await connect(address, { token: name === "direct" ? undefined : token }),
      mibPerSecond: [],
      echoMs: [],
    });
  }
  for (let round = 0; round < ROUNDS + WARM_UP_ROUNDS; round++) {
    for (const way of ways) {
      const rate = await throughput(way.box);
      const echoes = await echo(way.box);
      if (round < WARM_UP_ROUNDS) continue;
      way.mibPerSecond.push(rate);
      way.echoMs.push(...echoes);
    }
  }
  const [direct] = ways;
  for (const { name, mibPerSecond, echoMs } of ways) {
    const rate = median(mibPerSecond);
    const added = median(echoMs) - median(direct!.echoMs);
    console.log(
      `${name.padEnd(7)} throughput ${(rate / median(direct!.mibPerSecond)).toFixed(2)} of direct (${
        rate.toFixed(0)
      } MiB/s), ` +
        `echo ${median(echoMs).toFixed(3)} ms (+${added.toFixed(3)}), p99 ${percentile(echoMs, 0.99).toFixed(2)} ms`,
    );
  }
  for (const [name, address] of [["plain", plainAddress], ["noise", noiseAddress]] as const) {
    const { box } = ways.find((way) => way.name === name)!;
    const alone: number[] = [];
    const beside: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      alone.push(...await echo(box, ECHOES_BESIDE));
      const stuck = await startStuckClient(address, token);
      beside.push(...await echo(box, ECHOES_BESIDE));
      stuck.kill("SIGKILL");
      await stuck.status;
    }
    const ratio = percentile(beside, 0.99) / percentile(alone, 0.99);
    console.log(`${name}: echo p99 beside a client that has stopped reading is ${ratio.toFixed(2)} times that without`);
  }
  for (const { box } of ways) await box.close();
} finally {
  await Deno.remove(directory, { recursive: true });
}

/** A client of a process that never stops printing, which is itself stopped as soon as it has got some. */
async function startStuckClient(address: Address, token: string): Promise<Deno.ChildProcess> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", new URL("stuck_client.ts", import.meta.url).pathname, JSON.stringify(address)],
    env: { TOKEN: token },
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.getReader();
  await reader.read();
  child.kill("SIGSTOP");
  void reader.cancel();
  return child;
}

async function throughput(box: Devbox): Promise<number> {
  const begunMs = performance.now();
  const process = await box.spawn(["head", "-c", String(STREAM_BYTES), "/dev/zero"]);
  let received = 0;
  for await (const chunk of process.stdout) received += chunk.length;
  if (received !== STREAM_BYTES) throw new Error(`${received} bytes arrived`);
  return STREAM_BYTES / 1024 / 1024 / ((performance.now() - begunMs) / 1000);
}

/** How long a line takes to the process and back. */
async function echo(box: Devbox, count = ECHOES): Promise<number[]> {
  const process = await box.spawn(["cat"], { stdin: "piped" });
  const output = process.stdout[Symbol.asyncIterator]();
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const begunMs = performance.now();
    await process.write("x\n");
    await output.next();
    times.push(performance.now() - begunMs);
  }
  await process.closeStdin();
  await process.wait();
  return times;
}

function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]!;
}
