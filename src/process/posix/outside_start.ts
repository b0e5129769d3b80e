/**
 * Starts a program outside of a sandbox in the name of a caller inside it: with the caller's descriptors, directory,
 * mask and limits, found and ended like every other child of ours.
 *
 * The launch stub sets what posix_spawn cannot, and reports whether the program could be executed.
 */

import { launchStub, parseStubReport, type StubLimit } from "../../launch/stub/launch_stub.ts";
import { closeDescriptor } from "../../os/descriptor.ts";
import { EIO } from "../../os/errno.ts";
import { openMemoryFile } from "../../os/files/memory_file.ts";
import { raiseDescriptor } from "../../os/descriptor.ts";
import type { Reactor } from "../../os/loop/reactor.ts";
import { openSocketPair } from "../../os/loop/socket_message.ts";
import { spawnOutside } from "../../os/children/spawn_outside.ts";
import type { ExitStatus, SpawnedProcess } from "../backend.ts";
import { receiveReport } from "./launch_report.ts";
import type { PosixBackend } from "./posix_backend.ts";

export interface OutsideProgram {
  readonly path: string;
  readonly argv: readonly Uint8Array<ArrayBuffer>[];
  readonly env: readonly Uint8Array<ArrayBuffer>[];
  /** Descriptors of the caller by their numbers there, as copies of ours. They still belong to the caller of this function. */
  readonly descriptors: ReadonlyMap<number, number>;
  readonly directory: number;
  readonly umask: number;
  readonly limits: readonly StubLimit[];
}

export type OutsideOutcome =
  | { readonly type: "started"; readonly process: SpawnedProcess; readonly exited: Promise<ExitStatus> }
  | { readonly type: "failed"; readonly errno: number };

/** The stub runs for a fraction of a millisecond; a program on a mount that does not answer may take longer. */
const EXECUTION_TIMEOUT_MS = 30_000;

export async function startOutside(
  backend: PosixBackend,
  reactor: Reactor,
  program: OutsideProgram,
): Promise<OutsideOutcome> {
  const highest = Math.max(2, ...program.descriptors.keys());
  const reportFd = highest + 1;
  const stubFd = highest + 2;
  const { ours, theirs } = openSocketPair();
  const opened: number[] = [];
  const raised = (fd: number): number => {
    opened.push(raiseDescriptor(fd, stubFd + 1));
    return opened.at(-1)!;
  };
  const exited = Promise.withResolvers<ExitStatus>();
  let process: SpawnedProcess;
  try {
    const stub = openMemoryFile(launchStub({
      architecture: Deno.build.arch,
      reportDescriptor: reportFd,
      closeOnExec: [stubFd],
      umask: program.umask,
      limits: program.limits,
    }));
    opened.push(stub, theirs);
    const descriptors = new Map([...program.descriptors].map(([target, source]) => [target, raised(source)]));
    descriptors.set(reportFd, raised(theirs));
    descriptors.set(stubFd, raised(stub));
    const { argv, env, path, directory } = program;
    process = await backend.spawnBare({ exited: exited.resolve }, {
      highestFd: Math.max(...opened),
      spawn: () =>
        spawnOutside({
          path: `/proc/self/fd/${stubFd}`,
          argv: ["launch", path, ...argv],
          env,
          directory,
          descriptors,
        }),
    });
  } catch (error) {
    closeDescriptor(ours);
    throw error;
  } finally {
    for (const fd of opened) closeDescriptor(fd);
  }
  const onListener = closeDescriptor;
  const report = await receiveReport(reactor, ours, { timeoutMs: EXECUTION_TIMEOUT_MS, mayGoOn: null, onListener });
  const parsed = report === null ? null : parseStubReport(report);
  if (parsed?.type === "executed") return { type: "started", process, exited: exited.promise };
  if (parsed === null) process.signalGroup(9);
  process.dispose();
  return { type: "failed", errno: parsed?.type === "notExecuted" ? parsed.errno : EIO };
}
