/**
 * One inotify instance for the whole program, shared by all watches.
 *
 * The kernel allows a user only some 128 instances, and gives the same inode the same watch however often it is asked.
 * So subscriptions are counted per watch here, and each gets the events. Nothing is lost silently: when the kernel's
 * queue overflows, every subscriber is told. The instance exists while there are subscriptions.
 */

import { type ByteString, byteStringOf } from "../../os/files/byte_string.ts";
import { closeFd } from "../../os/files/file_calls.ts";
import { addInotifyWatch, openInotify, readInotify, removeInotifyWatch } from "../../os/files/inotify_calls.ts";
import { allocate } from "../../os/libc.ts";
import { EPOLLIN } from "../../os/loop/epoll_event.ts";
import type { Reactor, Registration } from "../../os/loop/reactor.ts";

export const IN_MODIFY = 0x2;
export const IN_ATTRIB = 0x4;
export const IN_MOVED_FROM = 0x40;
export const IN_MOVED_TO = 0x80;
export const IN_CREATE = 0x100;
export const IN_DELETE = 0x200;
export const IN_DELETE_SELF = 0x400;
export const IN_MOVE_SELF = 0x800;
export const IN_UNMOUNT = 0x2000;
const IN_Q_OVERFLOW = 0x4000;
/** The watch is gone: the inode was deleted or its filesystem unmounted. */
export const IN_IGNORED = 0x8000;
/** Only for watching: fail unless it is a directory, and do not follow a link. */
export const IN_ONLYDIR = 0x1000000;
export const IN_DONT_FOLLOW = 0x2000000;
const IN_MASK_ADD = 0x20000000;
/** In an event: it is about a directory. */
export const IN_ISDIR = 0x40000000;

/** Sent to every subscriber, whether asked for or not. */
const ALWAYS = IN_IGNORED | IN_UNMOUNT;

// struct inotify_event: watch (4), mask (4), cookie (4), length of the name (4), name padded with NUL.
const HEADER_BYTES = 16;

/** Some 500 events. A larger burst is read in several turns, so that others get theirs. */
const BUFFER_BYTES = 16 * 1024;

/** One listener may have many subscriptions. */
export interface InotifyListener {
  /** The name is empty when the event is about the watched path itself. */
  changed(mask: number, name: ByteString, watchedPath: ByteString): void;
  /** Events were lost. */
  overflowed(): void;
}

export interface Subscription {
  close(): void;
}

interface Subscriber extends Subscription {
  readonly path: ByteString;
  readonly mask: number;
  readonly listener: InotifyListener;
}

interface Instance {
  readonly fd: number;
  readonly registration: Registration;
}

export class Inotify {
  readonly #reactor: () => Reactor;
  /** By the kernel's number of the watch. Numbers are not reused. */
  readonly #watches = new Map<number, Set<Subscriber>>();
  #instance: Instance | null = null;
  readonly #events = allocate(BUFFER_BYTES);

  /** The reactor is requested when something is watched for the first time. */
  constructor(reactor: () => Reactor) {
    this.#reactor = reactor;
  }

  /** Number of watches. Each takes memory in the kernel. */
  get size(): number {
    return this.#watches.size;
  }

  /** A subscription to events of this mask, or minus the error number. */
  subscribe(path: ByteString, mask: number, listener: InotifyListener): Subscription | number {
    const fd = this.#open();
    if (fd < 0) return fd;
    const id = addInotifyWatch(fd, path, mask | IN_MASK_ADD);
    if (id < 0) {
      this.#closeIfUnused();
      return id;
    }
    const subscribers = this.#watches.get(id) ?? new Set();
    this.#watches.set(id, subscribers);
    const subscriber: Subscriber = { path, mask, listener, close: () => this.#unsubscribe(id, subscriber) };
    subscribers.add(subscriber);
    return subscriber;
  }

  #unsubscribe(id: number, subscriber: Subscriber): void {
    const subscribers = this.#watches.get(id);
    if (subscribers === undefined || !subscribers.delete(subscriber) || subscribers.size > 0) return;
    this.#watches.delete(id);
    if (this.#instance !== null) removeInotifyWatch(this.#instance.fd, id);
    this.#closeIfUnused();
  }

  #open(): number {
    if (this.#instance !== null) return this.#instance.fd;
    const fd = openInotify();
    if (fd < 0) return fd;
    const registration = this.#reactor().register(fd, () => this.#read());
    registration.arm(EPOLLIN);
    this.#instance = { fd, registration };
    return fd;
  }

  #closeIfUnused(): void {
    if (this.#instance === null || this.#watches.size > 0) return;
    const { fd, registration } = this.#instance;
    this.#instance = null;
    registration.disarm();
    closeFd(fd);
  }

  #read(): void {
    const instance = this.#instance;
    if (instance === null) return;
    const length = readInotify(instance.fd, this.#events);
    // Not positive: nothing is there after all. Reading such a descriptor cannot fail otherwise.
    if (length > 0) this.#dispatch(instance, this.#events.subarray(0, length));
  }

  #dispatch(instance: Instance, events: Uint8Array<ArrayBuffer>): void {
    const view = new DataView(events.buffer, events.byteOffset, events.length);
    // A subscriber may end the last subscription and begin another; the new instance numbers its watches anew.
    for (let at = 0; at < events.length && this.#instance === instance;) {
      const id = view.getInt32(at, true);
      const mask = view.getUint32(at + 4, true);
      const nameAt = at + HEADER_BYTES;
      const next = nameAt + view.getUint32(at + 12, true);
      if ((mask & IN_Q_OVERFLOW) !== 0) this.#overflow();
      else this.#deliver(id, mask, next === nameAt ? "" as ByteString : nameIn(events.subarray(nameAt, next)));
      at = next;
    }
  }

  #deliver(id: number, mask: number, name: ByteString): void {
    const subscribers = this.#watches.get(id);
    if (subscribers === undefined) return; // Not wanted any more.
    if ((mask & IN_IGNORED) !== 0) this.#watches.delete(id);
    for (const { path, mask: wanted, listener } of [...subscribers]) {
      if ((mask & (wanted | ALWAYS)) !== 0) listener.changed(mask, name, path);
    }
    if ((mask & IN_IGNORED) !== 0) this.#closeIfUnused();
  }

  #overflow(): void {
    const listeners = new Set<InotifyListener>();
    for (const subscribers of this.#watches.values()) {
      for (const { listener } of subscribers) listeners.add(listener);
    }
    for (const listener of listeners) listener.overflowed();
  }
}

function nameIn(padded: Uint8Array): ByteString {
  return byteStringOf(padded.subarray(0, padded.indexOf(0)));
}
