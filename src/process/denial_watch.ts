/**
 * Answers what the filter of one sandbox refuses of the network, and so knows it: which call, and by which program.
 *
 * Owns the filter's listener, which all processes of the sandbox share, until the last of them is gone or `close`. Every
 * call gets the answer it would get without a listener, EPERM, and a caller waits no longer than our event loop takes to
 * come round. What is recorded was really refused; what could not be recorded (a bound was met, the caller's memory could
 * not be read) was refused all the same.
 */

import { describeAddress, type NetworkCall, networkCall } from "../launch/network_call.ts";
import { lossyText, toByteString } from "../os/byte_string.ts";
import { closeDescriptor } from "../os/descriptor.ts";
import { EPERM } from "../os/errno.ts";
import { AT_FDCWD, readLinkAt } from "../os/file_calls.ts";
import { readMemory } from "../os/process_memory.ts";
import { EPOLLERR, EPOLLHUP, EPOLLIN } from "../os/epoll_event.ts";
import type { Reactor, Watch } from "../os/reactor.ts";
import { failCall, receiveCall, type WaitingCall } from "../os/seccomp_listener.ts";
import type { NetworkDenial } from "./backend.ts";
import { MAX_ADDRESS_READS, MAX_DENIALS, MAX_DENIED_PROGRAM_CHARACTERS } from "./limits.ts";

/** Of the whole program: they share its pool of threads. */
let addressReads = 0;

export class DenialWatch {
  readonly #listener: number;
  readonly #watch: Watch;
  readonly #onEnd: () => void;
  readonly #denials: NetworkDenial[] = [];
  readonly #known = new Set<string>();
  #isClosed = false;

  /** Takes the listener over. `onEnd` is called once, when nothing is left to watch or by `close`. */
  constructor(reactor: Reactor, listener: number, onEnd: () => void) {
    this.#listener = listener;
    this.#onEnd = onEnd;
    this.#watch = reactor.watch(listener, (events) => this.#ready(events));
    this.#watch.arm(EPOLLIN);
  }

  /** Each kind of refusal once, in the order of their first time, and more of them as they happen. */
  get denials(): readonly NetworkDenial[] {
    return this.#denials;
  }

  /** Calls that wait, and all later ones, fail with another error, ENOSYS. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#watch.disarm();
    closeDescriptor(this.#listener);
    this.#onEnd();
  }

  /** One call a turn, however many wait: whoever floods us waits for everybody else in between. */
  #ready(events: number): void {
    if ((events & (EPOLLHUP | EPOLLERR)) !== 0) return this.close();
    const call = receiveCall(this.#listener);
    if (call === null) return;
    const meaning = this.#denials.length < MAX_DENIALS ? networkCall(call, Deno.build.arch) : null;
    if (meaning?.type === "addressed") void this.#refuseAddressed(call, meaning);
    else this.#refuse(call, meaning);
  }

  async #refuseAddressed(
    call: WaitingCall,
    { name, address, addressBytes }: NetworkCall & { readonly type: "addressed" },
  ): Promise<void> {
    if (addressReads >= MAX_ADDRESS_READS) return this.#refuse(call, null);
    addressReads++;
    const bytes = await readMemory(call.tid, address, addressBytes);
    addressReads--;
    const target = bytes === null ? null : describeAddress(bytes);
    this.#refuse(call, target === null ? null : { text: `${name}(${target})`, isProbe: false });
  }

  /** Null: not to be recorded. */
  #refuse(call: WaitingCall, meaning: { readonly text: string; readonly isProbe: boolean } | null): void {
    if (this.#isClosed) return;
    const program = meaning === null ? null : programOf(call.tid);
    // Only if it was answered did it wait until now, and what was looked at was the caller's.
    const isRefused = failCall(this.#listener, call.id, EPERM);
    if (meaning === null || !isRefused || this.#denials.length >= MAX_DENIALS) return;
    const { text, isProbe } = meaning;
    const key = JSON.stringify([text, program]);
    if (this.#known.has(key)) return;
    this.#known.add(key);
    this.#denials.push({ call: text, program, isProbe });
  }
}

/** The path of the program that a thread runs, as it is seen inside; null when that is not ours to know. */
function programOf(tid: number): string | null {
  const path = readLinkAt(AT_FDCWD, toByteString(`/proc/${tid}/exe`));
  return typeof path === "number" ? null : lossyText(path).slice(0, MAX_DENIED_PROGRAM_CHARACTERS);
}
