/**
 * Runs a program outside of the sandbox in the place of a caller inside, whose call waits meanwhile.
 *
 * What runs is our own copy of path and arguments. The program has the caller's descriptors, directory, mask and limits,
 * gets the signals that the caller would have got, and ends with it. The caller then ends with the program's exit code.
 * A program that cannot be trusted, or not be started, is refused with a reason.
 */

import { closeDescriptor } from "../../os/descriptor.ts";
import { describeErrno, ENOEXEC } from "../../os/errno.ts";
import {
  inheritableDescriptors,
  limitsOf,
  linkOf,
  openOwnDirectory,
  openThread,
  takeDescriptor,
  threadStatus,
} from "../../os/children/foreign_process.ts";
import { O_RDWR, openDescriptor } from "../../os/descriptor.ts";
import { bytesOf, type ByteString, fromByteString, lossyText } from "../../os/files/byte_string.ts";
import { AT_FDCWD } from "../../os/files/file_calls.ts";
import { statAt } from "../../os/files/file_stat.ts";
import type { Reactor } from "../../os/loop/reactor.ts";
import type { Policy } from "../../launch/policy/policy.ts";
import { RLIMIT_NPROC } from "../../launch/stub/launch_stub.ts";
import type { SpawnedProcess } from "../backend.ts";
import { type OutsideOutcome, startOutside } from "../posix/outside_start.ts";
import type { PosixBackend } from "../posix/posix_backend.ts";
import type { SupervisedCall } from "../posix/supervised_calls.ts";
import { lastName } from "../../text_path.ts";
import { exitCodeOf } from "../signals.ts";
import { wordsOutside } from "./called_name.ts";
import { whenCallerGone } from "./caller.ts";
import { escalatedEnvironment } from "./escalated_env.ts";
import type { ExecRequest } from "./exec_request.ts";
import { passSignalsOn } from "./passed_signals.ts";
import { trustedSearchPath, type TrustQuestion, whyNotTrusted } from "./program_trust.ts";
import type { WritablePlaces } from "./writable_places.ts";

/** Escalated programs of one shell at a time. Each is a process and a handful of our descriptors. */
const MAX_ESCALATED = 128;

/** Beyond 0 to 2. A program that has more open is refused rather than given some of them. */
const MAX_PASSED_DESCRIPTORS = 64;

/** When one shell has started more, those that have left nothing running are forgotten. */
const MAX_REMEMBERED = 256;

/** How long a program whose caller is gone may take to write what it has and end. */
const END_GRACE_MS = 1_000;

const encoder = new TextEncoder();
const SHELL = "/bin/sh";

export interface EscalationOptions {
  readonly backend: PosixBackend;
  readonly reactor: Reactor;
  readonly serverEnv: Readonly<Record<string, string>>;
  /** Shared by all shells. */
  readonly writable: WritablePlaces;
  /**
   * The client confines the files itself (`external`). Then everything that is writable inside is so outside too, and
   * what leaves is held against nobody, as without any sandbox.
   */
  readonly leavesFilesToOthers: boolean;
}

/** The thread that waits for a program to end. */
export type EscalationCaller = Pick<SupervisedCall, "tid" | "isWaiting">;

export interface EscalationOrder {
  readonly pathIsNamed: boolean;
  readonly passFds: boolean;
  /** What the caller has sent of its descriptors; otherwise they are taken from it. */
  readonly descriptors?: ReadonlyMap<number, number>;
  /** The program is about to be started. */
  onStarting?(callerPid: number): void;
  /** The caller itself tells which signals it gets; otherwise they are looked for where they wait for it. */
  readonly tellsSignals?: boolean;
  onStarted(program: StartedProgram): void;
}

export type StartedProgram = Pick<SpawnedProcess, "pid" | "signalGroup">;

export type EscalationResult =
  | { readonly type: "exited"; readonly exitCode: number }
  | { readonly type: "refused"; readonly reason: string }
  /** The caller is gone; what ran in its place has ended. */
  | { readonly type: "abandoned" };

export class Escalations {
  readonly #options: EscalationOptions;
  /** All that were started. One that has ended may have left something running, which ends with the shell. */
  readonly #started = new Set<SpawnedProcess>();
  #policy: Policy | undefined;
  #forgetAbove = MAX_REMEMBERED;
  #underWay = 0;

  constructor(options: EscalationOptions) {
    this.#options = options;
  }

  /** How the shell is confined. Called before the shell begins. */
  begins(policy: Policy | undefined): void {
    this.#policy = policy;
    if (!this.#options.leavesFilesToOthers) this.#options.writable.note(policy);
  }

  /** Why a program would be refused, as far as its path, name and directory tell; null when it may leave. */
  async whyItStays(request: Pick<ExecRequest, "file" | "argv" | "cwd">, pathIsNamed: boolean): Promise<string | null> {
    const file = fromByteString(request.file);
    // The decision was about text, which could mean another file or directory too.
    if (typeof file !== "string") return "its path is not valid UTF-8 text";
    if (typeof fromByteString(request.cwd) !== "string") return "its working directory is not valid UTF-8 text";
    if (this.#words(request) === null) {
      return `it was called under another name than ${lastName(file)}, and what it does may depend on that`;
    }
    return await whyNotTrusted({ file, ...this.#confinement, pathIsNamed });
  }

  async run(call: EscalationCaller, request: ExecRequest, order: EscalationOrder): Promise<EscalationResult> {
    if (this.#underWay >= MAX_ESCALATED) {
      return refused(`${MAX_ESCALATED} programs are already running outside of the sandbox`);
    }
    this.#underWay++;
    const taken: number[] = [];
    try {
      return await this.#run(call, request, { order, taken });
    } finally {
      this.#underWay--;
      taken.forEach(closeDescriptor);
    }
  }

  /** Ends everything that still runs, and what those left running that have ended. */
  async end(): Promise<void> {
    this.#forgetGone();
    const started = [...this.#started];
    // A search takes as long for nothing as for something.
    if (started.length > 0) await this.#options.backend.endTrees(started, { graceMs: 0 });
    for (const process of started) this.#started.delete(process);
  }

  async #run(
    call: EscalationCaller,
    request: ExecRequest,
    { order, taken }: { order: EscalationOrder; taken: number[] },
  ): Promise<EscalationResult> {
    const { tid } = call;
    const file = lossyText(request.file);
    const keep = (fd: number): number => (taken.push(fd), fd);
    const status = threadStatus(tid);
    const thread = status === null ? -1 : openThread(tid, status.tgid);
    if (status === null || thread < 0) return { type: "abandoned" };
    keep(thread);
    const own = statAt(AT_FDCWD, request.file);
    const isSame = request.seen.type === "file" && typeof own !== "number" && own.identity === request.seen.identity;
    if (!isSame) return refused(`${file} is another file outside of the sandbox`);
    const reason = await this.whyItStays(request, order.pathIsNamed);
    if (reason !== null) return refused(reason);
    const extra = order.passFds ? inheritableDescriptors(tid).filter((fd) => fd > 2) : [];
    if (extra.length > MAX_PASSED_DESCRIPTORS) {
      return refused(`it has ${extra.length} open descriptors, and at most ${MAX_PASSED_DESCRIPTORS} can be passed on`);
    }
    // The decision was about this directory; another thread of the caller may have changed it since.
    if (linkOf(tid, "cwd") !== request.cwd) {
      return refused(`its working directory is no longer ${lossyText(request.cwd)}`);
    }
    const directory = openOwnDirectory(tid, request.cwd);
    if (directory === null) return refused("its working directory exists only inside the sandbox");
    keep(directory);
    const descriptors = new Map<number, number>(order.descriptors);
    for (const fd of order.descriptors === undefined ? [0, 1, 2, ...extra] : []) {
      const copy = takeDescriptor(thread, fd) ?? (fd <= 2 ? openDescriptor("/dev/null", O_RDWR) : null);
      if (copy !== null && copy >= 0) descriptors.set(fd, keep(copy));
    }
    // The limit on processes counts inside what is inside, and outside all that the user has.
    const isMeant = (resource: number) => this.#policy === undefined || resource !== RLIMIT_NPROC;
    const limits = limitsOf(tid).filter(({ resource }) => isMeant(resource))
      .map(({ resource, limit }) => ({ resource, ...limit }));
    const argv = this.#words(request)!;
    const env = escalatedEnvironment(request.env, await this.#serverEnvironment());
    order.onStarting?.(status.tgid);
    // Everything above was asked of a number; if the call still waits, it was the caller's.
    if (!call.isWaiting) return { type: "abandoned" };
    const { backend, reactor } = this.#options;
    const program = { path: file, argv, env, descriptors, directory, umask: status.umask, limits };
    let outcome = await startOutside(backend, reactor, program);
    if (outcome.type === "failed" && outcome.errno === ENOEXEC) {
      // A script without a first line that says so: shells run it themselves.
      const argv = [SHELL, file].map((word) => encoder.encode(word)).concat(request.argv.slice(1));
      outcome = await startOutside(backend, reactor, { ...program, path: SHELL, argv });
    }
    if (outcome.type === "failed") return refused(`${file}: ${describeErrno(outcome.errno)}`);
    // Held by the program now. Our copies would keep a pipe open for as long as it runs.
    taken.splice(0).forEach(closeDescriptor);
    order.onStarted(outcome.process);
    return await this.#accompany(call, { order, callerPid: status.tgid, outcome });
  }

  /**
   * The same under the name of its file, where it came under another one: what was decided is what runs. For a caller
   * that does not pass names reliably. A patched Bash that executes a program in its own place sends a name that it has
   * freed already.
   */
  underOwnName<Request extends Pick<ExecRequest, "file" | "argv">>(request: Request): Request {
    if (this.#words(request) !== null) return request;
    return { ...request, argv: [bytesOf(lastName(request.file) as ByteString), ...request.argv.slice(1)] };
  }

  /** Null: not under this name. Where nothing confines files, it could be called under any name inside as well. */
  #words(request: Pick<ExecRequest, "file" | "argv">): ExecRequest["argv"] | null {
    return this.#confinement.policy === undefined ? request.argv : wordsOutside(request);
  }

  get #confinement(): Pick<TrustQuestion, "policy" | "writable"> {
    const { writable, leavesFilesToOthers } = this.#options;
    return { policy: leavesFilesToOthers ? undefined : this.#policy, writable };
  }

  /** A program outside finds no other program where somebody inside can put one. */
  async #serverEnvironment(): Promise<Readonly<Record<string, string>>> {
    const { PATH, ...others } = this.#options.serverEnv;
    const path = PATH === undefined ? null : await trustedSearchPath(PATH, this.#confinement);
    return path === null ? others : { PATH: path, ...others };
  }

  /** Until the program has ended, by itself or because its caller is gone. */
  async #accompany(
    call: EscalationCaller,
    { order, callerPid, outcome: { process, exited } }: {
      order: EscalationOrder;
      callerPid: number;
      outcome: Extract<OutsideOutcome, { type: "started" }>;
    },
  ): Promise<EscalationResult> {
    this.#started.add(process);
    if (this.#started.size > this.#forgetAbove) this.#forgetGone();
    let isAbandoned = false;
    const stopWatch = whenCallerGone(this.#options.reactor, callerPid, () => {
      isAbandoned = true;
      void this.#options.backend.endTrees([process], { graceMs: END_GRACE_MS });
    });
    const stopSignals = order.tellsSignals === true ? null : passSignalsOn(call.tid, process);
    const status = await exited;
    stopSignals?.();
    stopWatch();
    process.dispose();
    return isAbandoned ? { type: "abandoned" } : { type: "exited", exitCode: exitCodeOf(status) & 0xff };
  }

  /** Those that have ended and left nothing running. */
  #forgetGone(): void {
    if (this.#started.size === 0) return;
    const unended = new Set(this.#options.backend.unended([...this.#started]));
    for (const process of this.#started) if (!unended.has(process)) this.#started.delete(process);
    // So that a shell with many that run does not look at all of them at each start.
    this.#forgetAbove = Math.max(MAX_REMEMBERED, unended.size * 2);
  }
}

function refused(reason: string): EscalationResult {
  return { type: "refused", reason };
}
