/**
 * The wrapper's side of its conversation with the server: one question, one answer, and if it is told to, descriptors
 * and the signals that reach it.
 */

import { closeDescriptor } from "../../os/descriptor.ts";
import { allocate } from "../../os/libc.ts";
import { EPOLLIN } from "../../os/loop/epoll_event.ts";
import { sharedReactor } from "../../os/loop/reactor.ts";
import { openSocketPair, sendDescriptors } from "../../os/loop/socket_message.ts";
import { encodeFrame, type ExactWords, FrameAssembler } from "./wrapper_frames.ts";
import { tellOwnSignals } from "./wrapper_signals.ts";

export interface WrapperQuestion {
  readonly file: string;
  readonly argv: readonly string[];
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  /** Only where the above is not all that there is, because not all of it is text. */
  readonly exact?: ExactWords;
}

export type WrapperAnswer =
  | { readonly type: "run" }
  | { readonly type: "denied"; readonly reason: string | null }
  | { readonly type: "exited"; readonly exitCode: number };

const STANDARD_DESCRIPTORS = [0, 1, 2];

export class WrapperLink {
  readonly #socket: number;
  readonly #frames = new FrameAssembler();

  private constructor(socket: number) {
    this.#socket = socket;
  }

  /** Sends one end of a new pair through the server's socket, so that questions at the same time never mix. */
  static connect(socket: number): WrapperLink {
    const { ours, theirs } = openSocketPair();
    const sent = sendDescriptors(socket, allocate(1), [theirs], { waits: true });
    closeDescriptor(theirs);
    if (sent === 1) return new WrapperLink(ours);
    closeDescriptor(ours);
    throw new Error("cannot reach the server");
  }

  /** Waits while the socket is full: there is nothing else to do. */
  send(message: unknown, descriptors: readonly number[] = []): void {
    const frame = encodeFrame(message);
    for (let sent = 0; sent < frame.length;) {
      const rest = allocate(frame.length - sent);
      rest.set(frame.subarray(sent));
      const count = sendDescriptors(this.#socket, rest, sent === 0 ? descriptors : [], { waits: true });
      if (count <= 0) throw new Error("the server has hung up");
      sent += count;
    }
  }

  /** The same for a server that may have hung up: then the next `receive` says so. */
  tell(message: unknown): void {
    try {
      this.send(message);
    } catch {
      // Nobody is there to be told.
    }
  }

  async receive(): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const registration = sharedReactor().register(this.#socket, () => {
      try {
        const state = this.#frames.readFrom(this.#socket);
        const frame = this.#frames.next();
        if (frame !== null) resolve(frame.message);
        else if (state === "ended") reject(new Error("the server has hung up"));
      } catch (error) {
        reject(error);
      }
    });
    registration.arm(EPOLLIN);
    try {
      return await promise;
    } finally {
      registration.disarm();
    }
  }
}

/** Rejects when the server's answer cannot be understood. */
export async function askBeforeExec(link: WrapperLink, question: WrapperQuestion): Promise<WrapperAnswer> {
  link.send(question);
  const action = memberOf(await link.receive(), "action");
  if (action === "Run") return { type: "run" };
  if (action === "Escalate") {
    // Before the server can start the program: from then on the wrapper ends with the program.
    tellOwnSignals((signal) => link.tell({ signal }));
    link.send({ fds: STANDARD_DESCRIPTORS }, STANDARD_DESCRIPTORS);
    const exitCode = memberOf(await link.receive(), "exit_code");
    if (typeof exitCode !== "number" || !Number.isInteger(exitCode)) {
      throw new Error("the server's answer has no exit code");
    }
    return { type: "exited", exitCode: exitCode & 0xff };
  }
  const denied = memberOf(action, "Deny");
  if (typeof denied !== "object" || denied === null) throw new Error("the server's answer is malformed");
  const reason = memberOf(denied, "reason");
  return { type: "denied", reason: typeof reason === "string" ? reason : null };
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined;
}
