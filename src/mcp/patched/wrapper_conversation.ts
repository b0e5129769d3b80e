/** One wrapper, from its question to the last answer. Owns the stream and the descriptors that came through it. */

import { isObject } from "../../json_object.ts";
import { closeDescriptor, O_RDWR, openDescriptor } from "../../os/descriptor.ts";
import { bytesOf, type ByteString, toByteString } from "../../os/files/byte_string.ts";
import { allocate, libc } from "../../os/libc.ts";
import { EPOLLIN } from "../../os/loop/epoll_event.ts";
import type { Reactor, Registration } from "../../os/loop/reactor.ts";
import { sendDescriptors } from "../../os/loop/socket_message.ts";
import { writeLine } from "../../process/supervised/caller.ts";
import { encodeFrame, type ExactWords, type Frame, FrameAssembler, FrameFormatError } from "./wrapper_frames.ts";

export interface WrapperRequest {
  readonly file: ByteString;
  readonly argv: readonly Uint8Array<ArrayBuffer>[];
  /** As the wrapper tells it: text, in which what is not UTF-8 has been replaced. */
  readonly workdir: string;
  /** Entries of the form `NAME=VALUE`. */
  readonly env: readonly Uint8Array<ArrayBuffer>[];
}

/** As it is sent. */
interface SentRequest {
  readonly file: string;
  readonly argv: readonly string[];
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly exact?: ExactWords;
}

const STANDARD_DESCRIPTORS = [0, 1, 2];

/** A wrapper sends two frames, the second when it is told to. What it sends of signals is read at once. */
const MAX_UNREAD_FRAMES = 2;

/** As the kernel numbers them. */
const MAX_SIGNAL = 64;

const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
const CREDENTIALS_BYTES = 12;

export class WrapperConversation {
  /** The process that made the stream; null when the system does not tell. */
  readonly peerPid: number | null;
  readonly #socket: number;
  readonly #registration: Registration;
  readonly #frames = new FrameAssembler();
  readonly #abort = new AbortController();
  readonly #taken: number[] = [];
  readonly #queue: Frame[] = [];
  #waiter: PromiseWithResolvers<Frame> | null = null;
  #onSignal: ((signal: number) => void) | null = null;
  #standardError: number | null = null;
  #hasHungUp = false;

  /** Takes over the stream. */
  constructor(reactor: Reactor, socket: number) {
    this.#socket = socket;
    this.peerPid = peerOf(socket);
    this.#registration = reactor.register(socket, () => this.#ready());
    this.#registration.arm(EPOLLIN);
  }

  /** Aborted when the other side is gone. */
  get gone(): AbortSignal {
    return this.#abort.signal;
  }

  async request(): Promise<WrapperRequest> {
    const { message, descriptors } = await this.#next();
    this.#taken.push(...descriptors);
    if (!isRequest(message)) throw new FrameFormatError("a malformed question");
    const { file, argv, workdir, env, exact } = message;
    if (exact !== undefined) {
      return { file: exact.file, argv: exact.argv.map(bytesOf), workdir, env: exact.env.map(bytesOf) };
    }
    const encoder = new TextEncoder();
    return {
      file: toByteString(file),
      argv: argv.map((word) => encoder.encode(word)),
      workdir,
      env: Object.entries(env).map(([name, value]) => encoder.encode(`${name}=${value}`)),
    };
  }

  /**
   * The descriptors that the program is to get, by their number there: 0 to 2 and no others, whatever was sent. They
   * still belong to this conversation.
   */
  async descriptors(): Promise<ReadonlyMap<number, number>> {
    const { message, descriptors } = await this.#next();
    this.#taken.push(...descriptors);
    const numbers = (message as { fds?: unknown } | null)?.fds;
    const isList = Array.isArray(numbers) && numbers.length === descriptors.length &&
      numbers.every((fd) => Number.isInteger(fd) && fd >= 0 && fd < 1024);
    if (!isList) throw new FrameFormatError("descriptors that do not match their list of numbers");
    const sent = new Map((numbers as number[]).map((fd, index) => [fd, descriptors[index]!]));
    this.#standardError = sent.get(2) ?? null;
    // A program with one of them closed would take the next file that it opens for its input or output.
    return new Map(STANDARD_DESCRIPTORS.map((fd) => [fd, sent.get(fd) ?? this.#emptyDescriptor()]));
  }

  /** From now on everything that comes is a signal that the wrapper has got in the program's place. */
  hearSignals(onSignal: (signal: number) => void): void {
    this.#onSignal = onSignal;
    for (const frame of this.#queue.splice(0)) this.#received(frame);
  }

  /** A few bytes into an empty socket: they fit, or nobody is there. */
  answer(message: unknown): void {
    if (!this.#hasHungUp) sendDescriptors(this.#socket, encodeFrame(message));
  }

  /** Says something on the standard error that was handed over. */
  async tell(line: string): Promise<void> {
    if (this.#standardError !== null) await writeLine(this.#standardError, line, () => !this.#hasHungUp);
  }

  /**
   * The other side is gone, or is treated as gone. The descriptors it sent stay open until `close`: they may be in use.
   */
  hangUp(): void {
    if (this.#hasHungUp) return;
    this.#hasHungUp = true;
    this.#registration.disarm();
    closeDescriptor(this.#socket);
    this.#abort.abort();
    this.#waiter?.reject(new Error("the wrapper is gone"));
  }

  /** Nothing of it is needed any more. */
  close(): void {
    this.hangUp();
    this.#frames.close();
    for (const { descriptors } of this.#queue.splice(0)) descriptors.forEach(closeDescriptor);
    this.#taken.splice(0).forEach(closeDescriptor);
  }

  #emptyDescriptor(): number {
    const fd = openDescriptor("/dev/null", O_RDWR);
    if (fd < 0) throw new Error("cannot open /dev/null");
    this.#taken.push(fd);
    return fd;
  }

  async #next(): Promise<Frame> {
    const frame = this.#queue.shift();
    if (frame !== undefined) return frame;
    if (this.#hasHungUp) throw new Error("the wrapper is gone");
    this.#waiter = Promise.withResolvers<Frame>();
    return await this.#waiter.promise;
  }

  #ready(): void {
    try {
      const state = this.#frames.readFrom(this.#socket);
      // Two signals may come at once.
      for (let frame; (frame = this.#frames.next()) !== null;) this.#received(frame);
      if (state === "ended" || this.#queue.length > MAX_UNREAD_FRAMES) this.hangUp();
    } catch {
      this.hangUp();
    }
  }

  #received(frame: Frame): void {
    if (this.#onSignal !== null) {
      frame.descriptors.forEach(closeDescriptor);
      if (!isSignal(frame.message)) throw new FrameFormatError("the message is not a signal");
      return this.#onSignal(frame.message.signal);
    }
    const waiter = this.#waiter;
    this.#waiter = null;
    if (waiter === null) this.#queue.push(frame);
    else waiter.resolve(frame);
  }
}

function isSignal(message: unknown): message is { readonly signal: number } {
  const { signal } = (message ?? {}) as Record<string, unknown>;
  return Number.isInteger(signal) && (signal as number) > 0 && (signal as number) <= MAX_SIGNAL;
}

function peerOf(socket: number): number | null {
  const credentials = allocate(CREDENTIALS_BYTES);
  const length = allocate(4);
  new DataView(length.buffer).setUint32(0, CREDENTIALS_BYTES, true);
  if (libc().getsockopt(socket, SOL_SOCKET, SO_PEERCRED, credentials, length) !== 0) return null;
  const pid = new DataView(credentials.buffer).getInt32(0, true);
  return pid > 0 ? pid : null;
}

function isRequest(message: unknown): message is SentRequest {
  if (typeof message !== "object" || message === null) return false;
  const { file, argv, workdir, env, exact } = message as Record<string, unknown>;
  const isText = (value: unknown): value is string => typeof value === "string" && !value.includes("\0");
  return isText(file) && isText(workdir) && workdir.startsWith("/") && Array.isArray(argv) && argv.every(isText) &&
    isObject(env) &&
    Object.entries(env).every(([name, value]) => isText(name) && isText(value)) &&
    (exact === undefined || isExact(exact));
}

function isExact(exact: unknown): exact is ExactWords {
  const { file, argv, env } = (exact ?? {}) as Record<string, unknown>;
  // deno-lint-ignore no-control-regex
  const isBytes = (value: unknown): boolean => typeof value === "string" && /^[\x01-\xff]*$/.test(value);
  const areBytes = (value: unknown): boolean => Array.isArray(value) && value.every(isBytes);
  return isBytes(file) && areBytes(argv) && areBytes(env);
}
