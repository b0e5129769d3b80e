/**
 * One epoll instance for every descriptor this program waits on: sockets, pipes, terminals and pidfds.
 *
 * At most one wait is in flight, on a thread of the runtime's blocking pool, however many descriptors there are. That
 * pool has some 32 threads: one blocked read per descriptor would use them all up. Readiness is delivered on the event
 * loop, one batch per turn. The reactor reads and writes nothing itself: it tells the owner of a descriptor, who does a
 * bounded amount of work and returns.
 *
 * The wait keeps the program alive, so it runs only while something is armed.
 */

import { failure, O_CLOEXEC, O_NONBLOCK, readInto, writeFrom } from "../descriptor.ts";
import { EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD, EpollEvents, EPOLLIN } from "./epoll_event.ts";
import { allocate, callsUnderWay, lastErrno, libc, whilePinned } from "../libc.ts";
import { LingerPlace } from "./linger_place.ts";
import { LingerPolicy } from "./linger_policy.ts";

/** Events taken per wait. More just wait for the next one, so this bounds the length of one turn, not their number. */
const MAX_EVENTS = 256;

/**
 * An interrupted wait is normal (a signal landed on its thread); this many in a row mean that epoll itself is broken.
 */
const MAX_FAILED_WAITS = 1000;

/** The token of the wake-up descriptor. Others count from 1. */
const WAKE_TOKEN = 0;
const MAX_TOKEN = 0xffff_ffff;

/** Called with the EPOLL bits seen. */
export type ReadyHandler = (events: number) => void;

/** One descriptor's place in the reactor. It starts disarmed. The descriptor still belongs to the maker of this. */
export class Registration {
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
  readonly #armed = new Map<number, Registration>();
  #lastToken = WAKE_TOKEN;
  #loop: Promise<void> | null = null;
  #isWaiting = false;
  #turn = 0;
  readonly #lingerPlace: LingerPlace;
  readonly #lingering = new LingerPolicy(performance.now());

  constructor() {
    const c = libc();
    this.#epoll = c.epoll_create1(O_CLOEXEC);
    if (this.#epoll < 0) throw failure(lastErrno());
    this.#wakeUp = c.eventfd(0, O_CLOEXEC | O_NONBLOCK);
    if (this.#wakeUp < 0) throw failure(lastErrno());
    this.#control(EPOLL_CTL_ADD, this.#wakeUp, EPOLLIN, WAKE_TOKEN);
    this.#lingerPlace = new LingerPlace(this.#epoll);
  }

  register(fd: number, handler: ReadyHandler): Registration {
    return new Registration(this, fd, handler);
  }

  /** Resolves at once while anything is armed; otherwise soon, when no wait is in flight any more. */
  async idle(): Promise<void> {
    while (this.#loop !== null && this.#armed.size === 0) await this.#loop;
  }

  /** Whether this thread waits for a moment before another one does, and what came of it. */
  get lingering(): LingerPolicy {
    return this.#lingering;
  }

  /** The number of batches delivered. A caller that did enough in one can see when it is over. */
  get turn(): number {
    return this.#turn;
  }

  /** For `Registration` alone. */
  change(fd: number, token: number, events: number): void {
    this.#control(EPOLL_CTL_MOD, fd, events, token);
  }

  /** For `Registration` alone. */
  add(registration: Registration, events: number): number {
    const token = this.#nextToken();
    this.#control(EPOLL_CTL_ADD, registration.fd, events, token);
    this.#armed.set(token, registration);
    this.#loop ??= whilePinned([this.#events.bytes], () => this.#run());
    return token;
  }

  /** For `Registration` alone. */
  remove(fd: number, token: number): void {
    // Deleting, not clearing the interest: a descriptor with no interest still reports its hang-up, over and over.
    this.#control(EPOLL_CTL_DEL, fd, 0, token);
    this.#armed.delete(token);
    // Otherwise a wait in flight would go on with nothing to wait for, and would keep the program alive.
    if (this.#armed.size === 0 && this.#isWaiting) this.#wake();
  }

  async #run(): Promise<void> {
    const { epoll_wait } = libc();
    let failedWaits = 0;
    // The first registration is armed right after some work, so the next event is likely to come soon.
    this.#lingering.resume(performance.now());
    while (this.#armed.size > 0) {
      // Everybody else's turn comes first: timers, and those who wait for what was just delivered. It also means that
      // nothing is reported in the turn in which it was armed. So a registered descriptor that is handed over
      // arrives before its first event.
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (this.#armed.size === 0) break;
      let count = this.#lingering.mayLinger(performance.now()) ? this.#linger() : 0;
      if (count === 0) {
        this.#isWaiting = true;
        count = await epoll_wait(this.#epoll, this.#events.bytes, MAX_EVENTS, -1);
        this.#isWaiting = false;
        this.#lingering.waitedElsewhere(performance.now());
      }
      if (count >= 0) {
        failedWaits = 0;
        this.#dispatch(count);
      } else if (++failedWaits > MAX_FAILED_WAITS) {
        throw new Error("Cannot wait for descriptors: epoll_wait keeps failing");
      }
    }
    // Nothing is awaited between the check above and this: an arming right after the check must find no loop.
    this.#loop = null;
  }

  /** The number of events to report now, or soon; 0 when they are not worth waiting for here. */
  #linger(): number {
    // Calls besides our own loop's: the linger place does not notice when they end.
    const hasCalls = callsUnderWay() > 1;
    if (!hasCalls && !this.#isWorthLingering()) return 0;
    return Math.max(0, libc().epoll_poll(this.#epoll, this.#events.bytes, MAX_EVENTS, 0));
  }

  #isWorthLingering(): boolean {
    const span = this.#lingering.span(performance.now());
    return this.#lingering.lingered(span, this.#lingerPlace.wait(span), performance.now());
  }

  #dispatch(count: number): void {
    this.#turn++;
    this.#lingering.delivers(performance.now());
    for (let index = 0; index < count; index++) {
      const token = this.#events.tokenAt(index);
      if (token === WAKE_TOKEN) readInto(this.#wakeUp, allocate(8));
      else this.#deliver(token, this.#events.eventsAt(index));
    }
    this.#lingering.delivered(performance.now());
  }

  #deliver(token: number, events: number): void {
    // Gone when an earlier handler of this batch disarmed it.
    const registration = this.#armed.get(token);
    if (registration === undefined) return;
    try {
      registration.handler(events);
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

let lingers = true;

/** The program's one reactor, made on first use. */
export function sharedReactor(): Reactor {
  if (shared === undefined) {
    shared = new Reactor();
    shared.lingering.isOn = lingers;
  }
  return shared;
}

/** Whether the program's own thread waits for a moment before another one does. Holds for the whole program. */
export function setLingering(isOn: boolean): void {
  lingers = isOn;
  if (shared !== undefined) shared.lingering.isOn = isOn;
}
