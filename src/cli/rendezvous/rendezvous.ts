/** The `rendezvous` command: starts the rendezvous by its options, and ends it on signals. */

import { systemClock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import { createLogger, type Logger } from "../../log.ts";
import { giveFreeMemoryBack } from "../../os/allocator.ts";
import { getLimit, RLIMIT_NOFILE, setLimit } from "../../os/children/resource_limits.ts";
import { printable } from "../../printable.ts";
import { Rendezvous } from "../../remote/rendezvous/rendezvous.ts";
import { collectGarbage, MemoryKeeper } from "../../server/memory_keeper.ts";
import { inheritedDescriptors } from "../../transport/listen/inherited_sockets.ts";
import { ListenError } from "../../transport/listen/listen_error.ts";
import { Admissions } from "../../transport/tokens/admissions.ts";
import { VERSION } from "../../version.ts";
import { refusal } from "../cli_error.ts";
import { onHangUp } from "../hang_up.ts";
import { helpText } from "../help.ts";
import { print } from "../print.ts";
import { LiveTls } from "../serve/live_tls.ts";
import { LogSink } from "../serve/log_sink.ts";
import { surviveStrayErrors } from "../stray_errors.ts";
import { RENDEZVOUS_FLAGS, RENDEZVOUS_INTRODUCTION } from "./rendezvous_flags.ts";
import { parseRendezvous, type RendezvousInvocation } from "./rendezvous_options.ts";

/** The most connections, even with more descriptors: each takes some 10 KiB, with TLS 150. */
const MAX_SERVED = 20_000;
const MAX_WAITING = 1024;
/** The share of the descriptors that connections may take. A rendezvous needs few others. */
const SERVED_PER_DESCRIPTOR = 3 / 4;
const WAITING_PER_DESCRIPTOR = 1 / 8;

/** Resolves with the exit code. */
export async function rendezvous(args: readonly string[]): Promise<number> {
  const invocation = await parseRendezvous(args, { env: Deno.env.toObject(), readTextFile: Deno.readTextFile });
  if (invocation.type === "run") return await run(invocation);
  await print(helpText(RENDEZVOUS_FLAGS, RENDEZVOUS_INTRODUCTION));
  return 0;
}

async function run(invocation: RendezvousInvocation): Promise<number> {
  const sink = new LogSink(Deno.stderr);
  const log = createLogger({ ...invocation.log, write: (line) => sink.write(line) });
  surviveStrayErrors(log);
  const { tokens, address, publicUrl, isBehindProxy } = invocation;
  if (tokens.entries.length === 0) {
    log.warn("there are no tokens: nobody can connect", { advice: "exec-server token create" });
  }
  const tls = invocation.tls === null ? null : await LiveTls.load(invocation.tls, log);
  using admissions = new Admissions({ table: tokens, clock: systemClock });
  const limits = { ...invocation.limits, connections: connectionLimits() };
  const memory = new MemoryKeeper({
    clock: systemClock,
    resident: () => Deno.memoryUsage().rss,
    collect: collectGarbage,
    giveBack: giveFreeMemoryBack,
  });
  const server = await Rendezvous.open({
    address,
    inherited: inheritedDescriptors(Deno.env.toObject(), Deno.pid),
    tls: tls?.layer ?? null,
    admissions,
    publicUrl,
    isBehindProxy,
    limits,
    onActivity: () => memory.noteActivity(),
    clock: systemClock,
    log,
  }).catch((error) => {
    if (!(error instanceof ListenError)) throw error;
    throw refusal(`cannot listen on ${printable(error.url)}: ${printable(error.reason)}`, error);
  });

  const stopped = Promise.withResolvers<void>();
  const stop = () => stopped.resolve();
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, stop);
  const reloads = [() => reloadTokens(invocation, admissions, log), tls === null ? null : () => tls.reload()];
  onHangUp({ terminalLost: stop, reloads, log });

  const url = server.url.replace(/^ws/, "http");
  if (!await print(`${url}\n`)) log.warn("cannot print the address: standard output is closed");
  log.info("rendezvous is listening", {
    url,
    publicUrl: publicUrl ?? undefined,
    version: VERSION,
    tokens: tokens.entries.length,
    maxConnections: limits.connections.served,
  });
  await stopped.promise;
  log.info("shutting down");
  memory.close();
  await server.shutDown();
  await sink.drain();
  return 0;
}

/** If the file cannot be used, the old tokens stay in force. Never rejects: failures are logged. */
async function reloadTokens(
  { reloadTokens }: RendezvousInvocation,
  admissions: Admissions,
  log: Logger,
): Promise<void> {
  try {
    const table = await reloadTokens();
    const dropped = admissions.replace(table);
    log.info("the tokens were read again", { tokens: table.entries.length, dropped });
  } catch (error) {
    const reason = messageOf(error);
    log.error("cannot read the tokens again: the old ones stay in force", { reason });
  }
}

/** Computed from the number of descriptors, after this program has raised its limit. */
function connectionLimits(): { waiting: number; served: number } {
  const descriptors = raiseDescriptorLimit();
  return {
    waiting: Math.max(1, Math.min(MAX_WAITING, Math.floor(descriptors * WAITING_PER_DESCRIPTOR))),
    served: Math.max(1, Math.min(MAX_SERVED, Math.floor(descriptors * SERVED_PER_DESCRIPTOR))),
  };
}

function raiseDescriptorLimit(): number {
  try {
    const limit = getLimit(RLIMIT_NOFILE);
    if (limit === null) return Infinity;
    const isRaised = limit.soft === limit.hard || setLimit(RLIMIT_NOFILE, { soft: limit.hard, hard: limit.hard });
    return Number(isRaised ? limit.hard : limit.soft);
  } catch {
    return Infinity; // Without the C library the number is not known: our own bounds hold.
  }
}
