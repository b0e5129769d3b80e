/**
 * The calls that the filter of one child leaves to us, each passed to the part that answers its kind.
 *
 * A process and its ancestors can have only one listener. So everything that is asked about, refused network calls and
 * programs to be executed, comes through this one. Owns the listener, which all processes under the filter share, until
 * the last of them is gone or `close`. A call that nobody answers for is refused.
 */

import { closeDescriptor } from "../../os/descriptor.ts";
import { EPERM } from "../../os/errno.ts";
import {
  continueCall,
  failCall,
  isCallWaiting,
  receiveCall,
  type WaitingCall,
} from "../../os/children/seccomp_listener.ts";
import { EPOLLERR, EPOLLHUP, EPOLLIN } from "../../os/loop/epoll_event.ts";
import type { Reactor, Registration } from "../../os/loop/reactor.ts";

/** One call that waits, and its answer. After the first answer nothing more has an effect. */
export class SupervisedCall {
  readonly tid: number;
  readonly number: number;
  readonly args: readonly bigint[];
  readonly #id: bigint;
  readonly #listener: () => number | null;

  constructor({ id, tid, number, args }: WaitingCall, listener: () => number | null) {
    this.#id = id;
    this.tid = tid;
    this.number = number;
    this.args = args;
    this.#listener = listener;
  }

  /** Whether its thread still waits. If so, everything learnt of that thread since was really of it. */
  get isWaiting(): boolean {
    const listener = this.#listener();
    return listener !== null && isCallWaiting(listener, this.#id);
  }

  /** False when nobody waited for the answer any more. */
  fail(errno: number): boolean {
    const listener = this.#listener();
    return listener !== null && failCall(listener, this.#id, errno);
  }

  /** The kernel carries it out, with what its arguments lead to by then. False when nobody waited any more. */
  letThrough(): boolean {
    const listener = this.#listener();
    return listener !== null && continueCall(listener, this.#id);
  }
}

/** Answers every call it is handed, at once or later. */
export interface CallAnswerer {
  answer(call: SupervisedCall): void;
  /** No process is left under the filter, or nobody may be answered any more. Called once. */
  ended?(): void;
}

export interface SupervisedCallsOptions {
  /** For calls by number, and for all others. */
  readonly answererOf: (number: number) => CallAnswerer | null;
  /** Called once, when no process under the filter is left, or by `close`. */
  readonly onEnd: () => void;
}

export class SupervisedCalls {
  readonly #listener: number;
  readonly #registration: Registration;
  readonly #options: SupervisedCallsOptions;
  #isClosed = false;

  /** Takes over the listener. */
  constructor(reactor: Reactor, listener: number, options: SupervisedCallsOptions) {
    this.#listener = listener;
    this.#options = options;
    this.#registration = reactor.register(listener, (events) => this.#ready(events));
    this.#registration.arm(EPOLLIN);
  }

  /** Waiting calls, and all later ones, fail with another error, ENOSYS. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#registration.disarm();
    closeDescriptor(this.#listener);
    this.#options.onEnd();
  }

  /** One call per turn, however many wait: a process that floods us waits for everybody else in between. */
  #ready(events: number): void {
    if ((events & (EPOLLHUP | EPOLLERR)) !== 0) return this.close();
    const received = receiveCall(this.#listener);
    if (received === null) return;
    const call = new SupervisedCall(received, () => this.#isClosed ? null : this.#listener);
    const answerer = this.#options.answererOf(call.number);
    if (answerer === null) call.fail(EPERM);
    else answerer.answer(call);
  }
}
