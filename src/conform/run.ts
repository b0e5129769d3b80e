/**
 * Runs the checks against a server, one after another, each on its own connections, and removes what they made.
 *
 * `NOT_TESTED`, which is in every report, lists what it does not check. A server that passes has kept these promises
 * once, no more.
 */

import { type Check, Skipped } from "./check.ts";
import { ATTACH } from "./checks/attach.ts";
import { DOOR } from "./checks/door.ts";
import { ENVELOPE } from "./checks/envelope.ts";
import { EXTENSIONS } from "./checks/extensions.ts";
import { FILES, STREAMS } from "./checks/files.ts";
import { HANDSHAKE } from "./checks/handshake.ts";
import { INPUT } from "./checks/input.ts";
import { MACHINE } from "./checks/machine.ts";
import { ORDER } from "./checks/order.ts";
import { OUTPUT } from "./checks/output.ts";
import { PROCESSES } from "./checks/processes.ts";
import { SESSIONS } from "./checks/sessions.ts";
import { TUNNELS } from "./checks/tunnels.ts";
import type { PeerOptions } from "./peer.ts";
import { Scene } from "./scene.ts";

const CHECKS: readonly Check[] = [
  ...DOOR,
  ...HANDSHAKE,
  ...ENVELOPE,
  ...PROCESSES,
  ...OUTPUT,
  ...INPUT,
  ...ORDER,
  ...SESSIONS,
  ...FILES,
  ...STREAMS,
  ...MACHINE,
  ...EXTENSIONS,
  ...ATTACH,
  ...TUNNELS,
];

/** What is not checked. Every report says so. */
const NOT_TESTED: readonly string[] = [
  "limits: sizes of frames and messages, numbers of requests, handles, watches and processes",
  "whatever takes long: the end of a session that nobody resumes, how long closed processes and their output are kept, pings",
  "signed tokens, TLS, unix sockets and stdio",
  "how well a sandbox confines: only one forbidden write is tried",
  "streamed bodies of http/request, configuration and capability discovery, shell snapshots, environment/sandbox",
  "speed, and behaviour under load",
];

export type CheckResult =
  & { readonly id: string; readonly area: string; readonly promise: string; readonly ms: number }
  & (
    | { readonly outcome: "passed" }
    | { readonly outcome: "failed"; readonly reason: string }
    | { readonly outcome: "skipped"; readonly reason: string }
  );

export interface ConformReport {
  readonly url: string;
  readonly server: string | null;
  readonly results: readonly CheckResult[];
  readonly counts: { readonly passed: number; readonly failed: number; readonly skipped: number };
  readonly notTested: readonly string[];
  /** What could not be removed. */
  readonly leftBehind: string | null;
}

/** Rejects if the server cannot be reached. */
export async function conform(options: PeerOptions, onResult: (result: CheckResult) => void): Promise<ConformReport> {
  const scene = new Scene(options);
  const first = await scene.connect();
  const { executorVersion } = await first.result("environment/info");
  await scene.clear();

  const results: CheckResult[] = [];
  for (const check of CHECKS) {
    const result = await runCheck(check, scene);
    results.push(result);
    onResult(result);
  }
  const leftBehind = await scene.leave().then(() => null, (error: Error) => error.message);
  const count = (outcome: CheckResult["outcome"]) => results.filter((result) => result.outcome === outcome).length;
  return {
    url: withoutToken(options.url),
    server: executorVersion ?? null,
    results,
    counts: { passed: count("passed"), failed: count("failed"), skipped: count("skipped") },
    notTested: NOT_TESTED,
    leftBehind,
  };
}

async function runCheck({ id, promise, flag, run }: Check, scene: Scene): Promise<CheckResult> {
  const begun = performance.now();
  const about = { id, area: id.split("/")[0]!, promise };
  const done = () => ({ ...about, ms: Math.round(performance.now() - begun) });
  if (flag !== undefined && scene.capabilities[flag] !== true) {
    return { ...done(), outcome: "skipped", reason: `not offered: the server does not show the flag ${flag}` };
  }
  try {
    await run(scene);
    return { ...done(), outcome: "passed" };
  } catch (error) {
    // Any other error comes from something that the server sent, such as a missing member.
    const reason = error instanceof Error ? error.message : String(error);
    return { ...done(), outcome: error instanceof Skipped ? "skipped" : "failed", reason };
  } finally {
    await scene.clear();
  }
}

function withoutToken(url: string): string {
  return url.replace(/([?&]token=)[^&#]*/, "$1…");
}
