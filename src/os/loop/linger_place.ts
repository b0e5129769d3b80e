/**
 * Lets the program's own thread wait for a moment, outside the runtime's event loop.
 *
 * Deno can only wait in its own event loop. A wait of ours on this thread would keep the runtime from everything it
 * waits for itself. But an epoll instance can be waited for like any other descriptor. So the instance here holds two
 * others, ours and the runtime's. Whichever has something ends the wait.
 */

import { failure, O_CLOEXEC } from "../descriptor.ts";
import { EPOLL_CTL_ADD, EpollEvents, EPOLLIN } from "./epoll_event.ts";
import { allocate, type CBuffer, lastErrno, libc } from "../libc.ts";
import { listOwnDescriptors, readDescriptorLink } from "../children/procfs.ts";

const MAX_EVENTS = 8;

/** The same on every architecture. */
const SYS_EPOLL_PWAIT2 = 441n;

/** Somebody else had the processor if a look and a yield take longer. Otherwise they take a microsecond or two. */
const CROWDED_MS = 0.05;

const OURS = 0;
const THE_RUNTIMES = 1;

/** `runtime`: there is something for the runtime, and perhaps for us. */
export type Found = "ours" | "runtime" | "nothing";

export interface LingerOutcome {
  readonly found: Found;
  /** It came while the processor was kept awake. */
  readonly wasAwake: boolean;
  /**
   * Somebody else wanted the processor, and had it for so long that sleeping would have been better: the kernel favours
   * a thread that wakes.
   */
  readonly isCrowded: boolean;
}

export class LingerPlace {
  readonly #epoll: number;
  readonly #events = new EpollEvents(MAX_EVENTS);
  /** A `struct timespec`: seconds, nanoseconds. */
  readonly #time: CBuffer = allocate(16);
  readonly #timeView = new DataView(this.#time.buffer);

  constructor(ours: number) {
    this.#epoll = libc().epoll_create1(O_CLOEXEC);
    if (this.#epoll < 0 || !this.#add(ours, OURS)) throw failure(lastErrno());
    // The runtime makes its own instance before it runs any program, so the first one found is the runtime's. If the
    // kernel does not take it here (it limits how deep these may be nested), the runtime has to wait for as long as we
    // linger.
    const first = findRuntimeEpoll();
    if (first !== null && first !== ours) this.#add(first, THE_RUNTIMES);
  }

  /**
   * Waits for at most this long, less than a second. During the first part the processor is kept awake, because
   * sleeping and waking take longer than most of what is waited for. Anybody else who wants the processor still gets
   * it.
   */
  wait({ awakeUs, asleepUs }: { awakeUs: number; asleepUs: number }): LingerOutcome {
    const { sched_yield } = libc();
    let nowMs = performance.now();
    let isCrowded = false;
    for (const untilMs = nowMs + awakeUs / 1000; nowMs < untilMs && !isCrowded;) {
      const found = this.#lookNow();
      if (found !== "nothing") return { found, wasAwake: true, isCrowded };
      sched_yield();
      const beforeMs = nowMs;
      nowMs = performance.now();
      isCrowded = nowMs - beforeMs > CROWDED_MS;
    }
    return { found: this.#lookFor(asleepUs), wasAwake: false, isCrowded };
  }

  #lookNow(): Found {
    return this.#meaningOf(libc().epoll_poll(this.#epoll, this.#events.bytes, MAX_EVENTS, 0));
  }

  /** A kernel before 5.11 cannot wait for less than a millisecond, and then this does not wait at all. */
  #lookFor(microseconds: number): Found {
    this.#timeView.setBigInt64(8, BigInt(microseconds) * 1000n, true);
    const { epollPwait2 } = libc();
    return this.#meaningOf(
      epollPwait2(SYS_EPOLL_PWAIT2, this.#epoll, this.#events.bytes, MAX_EVENTS, this.#time, 0n, 0n),
    );
  }

  #meaningOf(count: number): Found {
    for (let index = 0; index < count; index++) {
      if (this.#events.tokenAt(index) !== OURS) return "runtime";
    }
    return count > 0 ? "ours" : "nothing";
  }

  #add(fd: number, token: number): boolean {
    const change = new EpollEvents(1);
    change.set(0, EPOLLIN, token);
    return libc().epoll_ctl(this.#epoll, EPOLL_CTL_ADD, fd, change.bytes) === 0;
  }
}

/** The runtime's own is below this, unless this program was started with many open descriptors. */
const LIKELY_DESCRIPTORS = 32;

/** The descriptor of the epoll instance that the runtime waits in; null when there is none. To be called early. */
function findRuntimeEpoll(): number | null {
  for (let fd = 3; fd < LIKELY_DESCRIPTORS; fd++) if (isEpoll(fd)) return fd;
  return listOwnDescriptors().sort((a, b) => a - b).find(isEpoll) ?? null;
}

function isEpoll(fd: number): boolean {
  return readDescriptorLink(fd) === "anon_inode:[eventpoll]";
}
