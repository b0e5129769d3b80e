/**
 * The server's side of the wrapper protocol, for one shell: receives questions, has them decided, and runs outside what
 * is to leave the sandbox.
 *
 * Any process inside may send questions, so an answer grants only what the rules grant to everybody inside. What a
 * question says is checked against its sender: the file must be the one the sender sees, and the directory the one it
 * is in.
 */

import { resolve } from "node:path/posix";
import { messageOf } from "../../errors.ts";
import type { PreparedLaunch } from "../../launch/launch_plan.ts";
import { closeDescriptor } from "../../os/descriptor.ts";
import { findFileSeenBy, linkOf } from "../../os/children/foreign_process.ts";
import { type ByteString, lossyText } from "../../os/files/byte_string.ts";
import { allocate } from "../../os/libc.ts";
import { EPOLLERR, EPOLLHUP, EPOLLIN } from "../../os/loop/epoll_event.ts";
import type { Registration } from "../../os/loop/reactor.ts";
import { receiveDescriptors } from "../../os/loop/socket_message.ts";
import { type EscalationOptions, Escalations, type StartedProgram } from "../../process/supervised/escalation.ts";
import {
  CANNOT_LEAVE,
  type EscalationOutcome,
  type ExecCall,
  type ExecJudge,
  type ExecVerdict,
} from "../../process/supervised/exec_decision.ts";
import { describeExec } from "../../process/supervised/exec_request.ts";
import type { ExecCounters } from "../../process/supervised/exec_supervisor.ts";
import { WrapperConversation, type WrapperRequest } from "./wrapper_conversation.ts";

/** How many at the same time. Each is a process inside that waits. */
const MAX_CONVERSATIONS = 1024;

export interface WrapperServerOptions extends EscalationOptions {
  readonly judge: ExecJudge;
}

export class WrapperServer {
  readonly counters: ExecCounters = { execs: 0, run: 0, escalated: 0, denied: 0, mismatched: 0, refused: 0 };
  readonly #socket: number;
  readonly #options: WrapperServerOptions;
  readonly #registration: Registration;
  readonly #escalations: Escalations;
  readonly #conversations = new Set<WrapperConversation>();

  /** Takes over the socket, also where it throws. */
  constructor(socket: number, options: WrapperServerOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#escalations = new Escalations(options);
    this.#registration = options.reactor.register(socket, (events) => this.#ready(events));
    try {
      this.#registration.arm(EPOLLIN);
    } catch (error) {
      closeDescriptor(socket);
      throw error;
    }
  }

  /** How the shell is confined. */
  begins(policy: PreparedLaunch["policy"]): void {
    this.#escalations.begins(policy);
  }

  /** Ends what still runs outside. */
  async endEscalated(): Promise<void> {
    await this.#escalations.end();
  }

  /** From now on nobody gets an answer. A program that still waits is not run. */
  async close(): Promise<void> {
    if (this.#registration.isArmed) {
      this.#registration.disarm();
      closeDescriptor(this.#socket);
    }
    for (const conversation of this.#conversations) conversation.hangUp();
    await this.#escalations.end();
  }

  #ready(events: number): void {
    const { count, descriptors: [stream, ...more] } = receiveDescriptors(this.#socket, allocate(16));
    more.forEach(closeDescriptor);
    if (stream === undefined) {
      // Nobody is left who could ask.
      if (count < 0 && (events & (EPOLLHUP | EPOLLERR)) !== 0) void this.close();
      return;
    }
    if (this.#conversations.size >= MAX_CONVERSATIONS) return closeDescriptor(stream);
    const conversation = new WrapperConversation(this.#options.reactor, stream);
    this.#conversations.add(conversation);
    this.#converse(conversation).catch(() => {}).finally(() => {
      this.#conversations.delete(conversation);
      conversation.close();
    });
  }

  /** Rejects when the other side is gone or talks nonsense; it then runs nothing. */
  async #converse(conversation: WrapperConversation): Promise<void> {
    const request = await conversation.request();
    this.counters.execs++;
    const pid = conversation.peerPid ?? 0;
    const cwd = linkOf(pid, "cwd");
    if (cwd === null || lossyText(cwd) !== request.workdir) {
      this.counters.denied++;
      const reason = `the caller is not in ${request.workdir}`;
      this.#options.judge.onUndecided?.({ pid, isShell: true, file: lossyText(request.file) }, reason);
      return conversation.answer({ action: { Deny: { reason } } });
    }
    const file = resolve("/", cwd, request.file) as ByteString;
    const named = this.#escalations.underOwnName({ ...request, file, cwd });
    const whyItStays = (pathIsNamed: boolean) => this.#escalations.whyItStays(named, pathIsNamed);
    const call: ExecCall = Object.assign(describeExec(named), { pid, isShell: true, whyItStays });
    const verdict = await this.#ask(call, conversation.gone);
    switch (verdict.kind) {
      case "run":
        this.counters.run++;
        return conversation.answer({ action: "Run" });
      case "deny":
        this.counters.denied++;
        return conversation.answer({ action: { Deny: { reason: verdict.reason } } });
      case "escalate":
        this.counters.escalated++;
        conversation.answer({ action: "Escalate" });
        return await this.#escalate(conversation, {
          request: named,
          givenName: request.file,
          call,
          pathIsNamed: verdict.pathIsNamed === true,
        });
    }
  }

  async #ask(call: ExecCall, gone: AbortSignal): Promise<ExecVerdict> {
    try {
      return await this.#options.judge.decide(call, gone);
    } catch {
      return { kind: "deny", reason: null };
    }
  }

  async #escalate(
    conversation: WrapperConversation,
    { request, givenName, call, pathIsNamed }: {
      request: WrapperRequest & { readonly cwd: ByteString };
      givenName: ByteString;
      call: ExecCall;
      pathIsNamed: boolean;
    },
  ): Promise<void> {
    const tell = (outcome: EscalationOutcome): void => this.#options.judge.onEscalated?.(call, outcome);
    const descriptors = await conversation.descriptors();
    let program: StartedProgram | null = null;
    const early = new Set<number>();
    conversation.hearSignals((signal) => {
      if (program === null) early.add(signal);
      else program.signalGroup(signal);
    });
    const tid = conversation.peerPid ?? 0;
    const { file, cwd } = request;
    const seen = await findFileSeenBy(tid, file);
    const result = await this.#escalations.run(
      { tid, isWaiting: true },
      {
        givenName,
        file,
        argv: request.argv,
        env: request.env,
        cwd,
        seen,
      },
      {
        pathIsNamed,
        passFds: false,
        descriptors,
        tellsSignals: true,
        onStarted: (started) => {
          program = started;
          for (const signal of early) started.signalGroup(signal);
          tell({ type: "started", pid: started.pid });
        },
      },
    ).catch((error): { type: "refused"; reason: string } => ({
      type: "refused",
      reason: messageOf(error),
    }));
    tell(result);
    if (result.type === "abandoned") return;
    if (result.type === "exited") return conversation.answer({ exit_code: result.exitCode });
    this.counters.refused++;
    await conversation.tell(`Execution denied: ${CANNOT_LEAVE}: ${result.reason}`);
    conversation.answer({ exit_code: 1 });
  }
}
