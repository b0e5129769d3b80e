/**
 * One epoll instance for every descriptor this program waits on: sockets, pipes, terminals and pidfds.
 *
 * At most one wait is in flight, on a thread of the runtime's blocking pool, however many descriptors there are; that
 * pool has some 32 threads and a blocked read each would starve it. Readiness is delivered on the event loop, one batch
 * per turn. The reactor reads and writes nothing itself: it tells the owner of a descriptor, who does a bounded amount
 * of work and returns.
 *
 * The wait keeps the program alive, so it runs only while something is armed.
 */

import { failure, O_CLOEXEC, O_NONBLOCK, readInto, writeFrom } from "./descriptor.ts";
import { EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD, EpollEvents, EPOLLIN } from "./epoll_event.ts";
import { allocate, callsUnderWay, lastErrno, libc, whilePinned } from "./libc.ts";
import { LingerPlace } from "./linger_place.ts";

/** Events taken per wait. More just wait for the next one, so this bounds the length of one turn, not their number. */
const MAX_EVENTS = 256;

/**
 * How long this thread itself waits for what comes next, before another one does. Waiting on another thread costs two
 * changes of thread each time, more than most of what is waited for takes. The runtime's timers are late by this much;
 * everything else that it waits for ends the waiting.
 */
const LINGER_US = 250;

/**
 * How much of it the processor is kept awake at most. Enough for a client's next request and for the echo of a program.
 * Halved whenever that was in vain, so that something that happens every millisecond does not cost a tenth of a core.
 */
const MAX_AWAKE_US = 100;
const MIN_AWAKE_US = 10;

/**
 * How long the processor is not kept awake after somebody else wanted it: others keep it awake meanwhile. Doubled each
 * time, since finding that out may cost a whole turn of theirs, and back to the beginning once we have had it for a
 * while: a compiler's thread or the host's other machines are soon gone, a build is not.
 */
const MIN_CROWDED_REST_MS = 2;
const MAX_CROWDED_REST_MS = 64;
/** Events that came while the processor was kept awake, after which it is calm again. */
const CALM_EVENTS = 32;

/** Whatever comes this soon after the last would have been worth staying awake for. */
const SOON_MS = 0.3;

/**
 * Lingering goes on as long as it finds something, but a wait on another thread must come this often: while immediates
 * are pending the runtime attends to its own sockets and timers only every 61st turn.
 */
const MAX_LINGERING_MS = 10;

/**
 * An interrupted wait is normal (a signal landed on its thread); this many in a row mean that epoll itself is broken.
 */
const MAX_FAILED_WAITS = 1000;

/** The token of the wake-up descriptor. Others count from 1. */
const WAKE_TOKEN = 0;
const MAX_TOKEN = 0xffff_ffff;

/** Called with the EPOLL bits seen. */
export type ReadyHandler = (events: number) => void;

/** One descriptor's place in the reactor. Made disarmed; the descriptor stays its maker's. */
export class Watch {
  readonly #reactor: Reactor;
  readonly fd: number;
  readonly handler: ReadyHandler;
  #token: number | null = null;
  #events = 0;

  constructor(reactor: Reactor, fd: number, handler: ReadyHandler) {
    this.#reactor = reactor;
    this.fd = fd;
    this.handler = handler;
  }

  get isArmed(): boolean {
    return this.#token !== null;
  }

  /** Asks for these events until disarmed. Hang-up and error are always reported with them. */
  arm(events: number): void {
    if (this.#token === null) this.#token = this.#reactor.add(this, events);
    else if (this.#events !== events) this.#reactor.change(this.fd, this.#token, events);
    this.#events = events;
  }

  /**
   * Nothing more is reported, not even what is in the batch being handled. Required before the descriptor is closed.
   */
  disarm(): void {
    if (this.#token === null) return;
    this.#reactor.remove(this.fd, this.#token);
    this.#token = null;
  }
}

export class Reactor {
  readonly #epoll: number;
  readonly #wakeUp: number;
  readonly #events = new EpollEvents(MAX_EVENTS);
  readonly #change = new EpollEvents(1);
  /**
   * By token, not by descriptor: numbers of closed descriptors are reused at once, and a batch may still hold an event
   * of the previous holder. Every arming takes a new token.
   */
  readonly #armed = new Map<number, Watch>();
  #lastToken = WAKE_TOKEN;
  #loop: Promise<void> | null = null;
  #isWaiting = false;
  #turn = 0;
  readonly #lingerPlace: LingerPlace;
  #awakeUs = MAX_AWAKE_US;
  #crowdedUntilMs = 0;
  #crowdedRestMs = MIN_CROWDED_REST_MS;
  #calmEvents = 0;
  #deliveredAtMs = 0;

  constructor() {
    const c = libc();
    this.#epoll = c.epoll_create1(O_CLOEXEC);
    if (this.#epoll < 0) throw failure(lastErrno());
    this.#wakeUp = c.eventfd(0, O_CLOEXEC | O_NONBLOCK);
    if (this.#wakeUp < 0) throw failure(lastErrno());
    this.#control(EPOLL_CTL_ADD, this.#wakeUp, EPOLLIN, WAKE_TOKEN);
    this.#lingerPlace = new LingerPlace(this.#epoll);
  }

  watch(fd: number, handler: ReadyHandler): Watch {
    return new Watch(this, fd, handler);
  }

  /** Resolves at once while anything is armed; otherwise soon, when no wait is in flight any more. */
  async idle(): Promise<void> {
    while (this.#loop !== null && this.#armed.size === 0) await this.#loop;
  }

  /** Counts the batches delivered: whoever did enough in one can tell when it is over. */
  get turn(): number {
    return this.#turn;
  }

  /** For `Watch` alone. */
  change(fd: number, token: number, events: number): void {
    this.#control(EPOLL_CTL_MOD, fd, events, token);
  }

  /** For `Watch` alone. */
  add(watch: Watch, events: number): number {
    const token = this.#nextToken();
    this.#control(EPOLL_CTL_ADD, watch.fd, events, token);
    this.#armed.set(token, watch);
    this.#loop ??= whilePinned([this.#events.bytes], () => this.#run());
    return token;
  }

  /** For `Watch` alone. */
  remove(fd: number, token: number): void {
    // Deleting, not clearing the interest: a descriptor with no interest still reports its hang-up, over and over.
    this.#control(EPOLL_CTL_DEL, fd, 0, token);
    this.#armed.delete(token);
    // A wait in flight would otherwise go on with nothing to wait for, and the program with it.
    if (this.#armed.size === 0 && this.#isWaiting) this.#wake();
  }

  async #run(): Promise<void> {
    const { epoll_wait } = libc();
    let failedWaits = 0;
    let waitedAtMs = performance.now();
    while (this.#armed.size > 0) {
      // Everybody else's turn first: timers, and those who wait for what was just delivered. It also means that nothing
      // is reported in the turn in which it was armed: whoever gave somebody a watched thing can be sure that it has
      // arrived.
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (this.#armed.size === 0) break;
      let count = performance.now() - waitedAtMs < MAX_LINGERING_MS ? this.#linger() : 0;
      if (count === 0) {
        this.#isWaiting = true;
        count = await epoll_wait(this.#epoll, this.#events.bytes, MAX_EVENTS, -1);
        this.#isWaiting = false;
        waitedAtMs = performance.now();
      }
      if (count >= 0) {
        failedWaits = 0;
        this.#dispatch(count);
      } else if (++failedWaits > MAX_FAILED_WAITS) {
        throw new Error("Cannot wait for descriptors: epoll_wait keeps failing");
      }
    }
    // In the same breath as the look above: an arming right after it must find that there is no loop any more.
    this.#loop = null;
  }

  /** What there is to report now, or soon; 0 when that is not worth waiting for here. */
  #linger(): number {
    // Besides our own loop's: the runtime does not tell the linger place of them.
    const hasCalls = callsUnderWay() > 1;
    if (!hasCalls && !this.#isWorthLingering()) return 0;
    return Math.max(0, libc().epoll_poll(this.#epoll, this.#events.bytes, MAX_EVENTS, 0));
  }

  #isWorthLingering(): boolean {
    const awakeUs = performance.now() < this.#crowdedUntilMs ? 0 : this.#awakeUs;
    const { found, wasAwake, isCrowded } = this.#lingerPlace.wait({ awakeUs, asleepUs: LINGER_US - awakeUs });
    if (isCrowded) {
      this.#crowdedUntilMs = performance.now() + this.#crowdedRestMs;
      this.#crowdedRestMs = Math.min(2 * this.#crowdedRestMs, MAX_CROWDED_REST_MS);
      this.#calmEvents = 0;
    } else if (wasAwake && ++this.#calmEvents >= CALM_EVENTS) this.#crowdedRestMs = MIN_CROWDED_REST_MS;
    if (wasAwake) this.#awakeUs = MAX_AWAKE_US;
    else if (awakeUs > 0) this.#awakeUs = awakeUs > MIN_AWAKE_US ? awakeUs >> 1 : 0;
    return found === "ours";
  }

  #dispatch(count: number): void {
    this.#turn++;
    if (performance.now() - this.#deliveredAtMs < SOON_MS) this.#awakeUs = MAX_AWAKE_US;
    for (let index = 0; index < count; index++) {
      const token = this.#events.tokenAt(index);
      if (token === WAKE_TOKEN) readInto(this.#wakeUp, allocate(8));
      else this.#deliver(token, this.#events.eventsAt(index));
    }
    this.#deliveredAtMs = performance.now();
  }

  #deliver(token: number, events: number): void {
    // Gone when an earlier handler of this batch disarmed it.
    const watch = this.#armed.get(token);
    if (watch === undefined) return;
    try {
      watch.handler(events);
    } catch (error) {
      // A fault of one owner must not end everybody's input and output; it surfaces as an uncaught error all the same.
      reportError(error);
    }
  }

  #wake(): void {
    const one = allocate(8);
    one[0] = 1;
    writeFrom(this.#wakeUp, one);
  }

  #control(operation: number, fd: number, events: number, token: number): void {
    this.#change.set(0, events, token);
    if (libc().epoll_ctl(this.#epoll, operation, fd, this.#change.bytes) !== 0) throw failure(lastErrno());
  }

  #nextToken(): number {
    do {
      this.#lastToken = this.#lastToken === MAX_TOKEN ? WAKE_TOKEN + 1 : this.#lastToken + 1;
    } while (this.#armed.has(this.#lastToken));
    return this.#lastToken;
  }
}

let shared: Reactor | undefined;

/** The program's one reactor, made on first use. */
export function sharedReactor(): Reactor {
  return shared ??= new Reactor();
}
