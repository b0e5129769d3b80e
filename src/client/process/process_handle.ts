/**
 * A process on the box, as its user sees it: its streams, its end, and what can be done to it.
 *
 * The handle survives lost connections; its streams just continue. Errors show where the user waits: in the streams, in
 * `status`, in the promise of the method that was called.
 *
 * More than 300 lines: it is the one object that users hold, and half of it is what they read about its methods.
 */

import { systemClock } from "../../clock.ts";
import type { ProcessRef } from "../../protocol/process_ref.ts";
import { decodeBase64 } from "../base64.ts";
import { milliseconds } from "../duration.ts";
import { OutputGapError, ServerError } from "../errors.ts";
import type { Session } from "../session/session.ts";
import { Acknowledger } from "./acknowledger.ts";
import { BoundedOutput } from "./bounded_output.ts";
import { CommandOutput } from "./command_output.ts";
import { consoleWriter } from "./console_output.ts";
import type { ProcessEvent } from "./event_queue.ts";
import { InputWriter } from "./input_writer.ts";
import { OutputHub, type OverflowRule } from "./output_hub.ts";
import type { OutputStream } from "./output_stream.ts";
import { ProcessFeed } from "./process_feed.ts";
import type { FeedSink, StreamName } from "./feed_sink.ts";
import { type ProcessStatus, statusOf } from "./process_status.ts";
import type { CollectOptions, ProcessReference, ProcessSnapshot, WaitOptions } from "./process_types.ts";
import { type Signal, wireSignal } from "./signals.ts";
import { type TextMatch, TextSearch, type WaitForOptions } from "./wait_for_text.ts";
import { within } from "./within.ts";
import {
  DEFAULT_YIELD_MS,
  MAX_PORTION_BYTES,
  type OutputPortion,
  OutputWindow,
  type YieldOptions,
} from "./yield_window.ts";

/** What is needed to make a handle. */
export interface HandleOptions {
  readonly session: Session;
  readonly reference: ProcessReference;
  readonly isOwn: boolean;
  readonly rule: OverflowRule;
  readonly isKept: boolean;
}

const DEFAULT_COLLECT_BYTES = 16 * 1024 * 1024;
const encoder = new TextEncoder();

/**
 * A process on the box. Made by `box.spawn` and `box.process`.
 *
 * ```ts
 * await using child: ProcessHandle = await box.spawn(["cat"], { stdin: "piped" });
 * await child.write("hello\n");
 * await child.closeStdin();
 * console.log(await child.stdout.text(), (await child.status).code);
 * ```
 */
export class ProcessHandle implements AsyncDisposable {
  /** Its id in the session that started it. */
  readonly id: string;
  /** Whether it runs on a terminal. */
  readonly tty: boolean;
  readonly #session: Session;
  readonly #reference: ProcessReference;
  readonly #wire: ProcessRef;
  readonly #isKept: boolean;
  readonly #hub: OutputHub;
  readonly #feed: ProcessFeed;
  readonly #acknowledger: Acknowledger | null;
  readonly #input: InputWriter;
  readonly #startedAtMs = performance.now();
  readonly #exited = Promise.withResolvers<ProcessStatus>();
  readonly #closed = Promise.withResolvers<ProcessStatus>();
  #status: ProcessStatus | null = null;
  #isClosed = false;
  #isTruncated = false;
  #uid: string | null;
  #stdin: WritableStream<Uint8Array | string> | null = null;
  #window: OutputWindow | null = null;
  #search: TextSearch | null = null;

  /** For this library: use `box.spawn` or `box.process`. */
  constructor(options: HandleOptions) {
    const { session, reference, isOwn, rule } = options;
    this.#session = session;
    this.#reference = reference;
    this.#isKept = options.isKept;
    this.#uid = reference.uid;
    this.id = reference.processId;
    this.tty = reference.tty;
    const wire: ProcessRef = isOwn ? { processId: reference.processId } : { uid: reference.uid ?? "" };
    this.#wire = wire;
    // There may be nobody who awaits it.
    this.#exited.promise.catch(() => {});
    this.#closed.promise.catch(() => {});
    const hub = this.#hub = new OutputHub(rule, reference.afterSeq, (bytes) => this.#acknowledger?.taken(bytes));
    this.#acknowledger = isOwn && rule.type === "acknowledged" && session.has("acknowledgedOutput")
      ? new Acknowledger(session, wire, () => hub.takenSeq)
      : null;
    this.#input = new InputWriter(session, wire, { isTerminal: reference.tty });
    const { afterSeq } = reference;
    this.#feed = new ProcessFeed({ session, reference: wire, isOwn, afterSeq, sink: this.#sink() });
  }

  // ---------------------------------------------------------------- for this library

  /** The start has succeeded, with this answer. */
  started({ uid, windowBytes }: { uid: string | null; windowBytes: number | null }): void {
    this.#uid ??= uid;
    if (windowBytes !== null && this.#acknowledger !== null) this.#acknowledger.windowBytes = windowBytes;
  }

  /** Fetches what has happened so far. */
  fetch(): void {
    this.#feed.fetch();
  }

  /** The start has failed: no event will come. */
  abandon(error: Error): void {
    this.#feed.fail(error);
  }

  /** Writes the input and ends it, without waiting. The caller waits for the output, where a failure shows. */
  feed(input: Uint8Array | string): void {
    this.#input.push(toBytes(input)).then(() => this.#input.close()).catch((error) => {
      // A process that ends before it has read its input is no error: its output says why.
      if (!(error instanceof ServerError)) this.#feed.fail(error);
    });
  }

  /** Calls this once when it has exited, or when that cannot be found out any more. Does not affect the streams. */
  onEnd(callback: () => void): void {
    this.#exited.promise.then(callback, callback);
  }

  #sink(): FeedSink {
    return {
      output: (seq, stream, bytes) => {
        const gap = this.#hub.add(seq, stream, bytes);
        if (gap !== null) this.#gap(gap);
      },
      gap: (gap) => this.#gap(gap),
      exited: (report) => {
        const status = this.#status = statusOf(report);
        this.#hub.passed(this.#feed.lastSeq, { type: "exited", seq: this.#feed.lastSeq, status });
        this.#exited.resolve(status);
      },
      closed: () => {
        this.#isClosed = true;
        this.#acknowledger?.finish(this.#feed.lastSeq);
        this.#hub.passed(this.#feed.lastSeq, { type: "closed", seq: this.#feed.lastSeq });
        this.#hub.end(null);
        this.#exited.resolve(this.#status!);
        this.#closed.resolve(this.#status!);
      },
      failed: (error) => {
        this.#hub.end(error);
        this.#acknowledger?.close();
        this.#exited.reject(error);
        this.#closed.reject(error);
      },
      room: () => this.#hub.room(),
    };
  }

  #gap(gap: { readonly droppedBytes: number | null; readonly afterSeq: number }): void {
    this.#isTruncated = true;
    this.#hub.gap(gap);
  }

  // ---------------------------------------------------------------- what it is

  /**
   * Its name in the whole server, by which other sessions reach it if it is kept; null if the server has no such names.
   */
  get uid(): string | null {
    return this.#uid;
  }

  /** Whether it still runs: its exit was not reported yet. */
  get running(): boolean {
    return this.#status === null;
  }

  /** The number of the last event that its user has read: a cursor to come back to. */
  get cursor(): number {
    return this.#hub.takenSeq;
  }

  /** A plain reference. `box.process(reference)` gives the handle back, also in another program. */
  toJSON(): ProcessReference {
    return { ...this.#reference, uid: this.#uid, afterSeq: this.#hub.takenSeq };
  }

  // ---------------------------------------------------------------- its output

  /** Standard output. For a process on a terminal: `terminal`. */
  get stdout(): OutputStream {
    return this.#stream("stdout");
  }

  /** Standard error. For a process on a terminal: `terminal`. */
  get stderr(): OutputStream {
    return this.#stream("stderr");
  }

  /** All output of a process on a terminal. */
  get terminal(): OutputStream {
    return this.#stream("pty");
  }

  #stream(name: StreamName): OutputStream {
    if (this.tty !== (name === "pty")) {
      throw new TypeError(
        this.tty
          ? `a process on a terminal has no ${name}: read \`terminal\``
          : "a process without a terminal has no `terminal`: read `stdout` and `stderr`, or start it with `tty`",
      );
    }
    return this.#hub.stream(name);
  }

  /**
   * Everything that happens, in order, as an async iterator: output of all streams, gaps, the exit, the close. It gets
   * what the streams would have got, so use one or the other.
   */
  get events(): AsyncIterableIterator<ProcessEvent, undefined> {
    return this.#hub.events();
  }

  /** Shows its output on the console as it comes, besides whatever else is done with it. */
  show(): void {
    const writers = { stdout: consoleWriter("stdout"), stderr: consoleWriter("stderr") };
    this.#hub.tap((name, bytes) => writers[name === "stderr" ? "stderr" : "stdout"](bytes));
  }

  /** The first and the last part of what it has written so far. Does not affect the streams. */
  async snapshot(): Promise<ProcessSnapshot> {
    if (this.#session.has("processSnapshot")) {
      try {
        const { stdout, stderr, terminal, ...rest } = await this.#session.call("process/snapshot", this.#wire);
        const { truncated, running, exitCode } = rest;
        return {
          stdout: decodeBase64(stdout),
          stderr: decodeBase64(stderr),
          terminal: decodeBase64(terminal),
          truncated,
          running,
          exitCode,
        };
      } catch (error) {
        // The server has forgotten it, so only what was kept here is left.
        if (!(error instanceof ServerError) || !this.#isClosed) throw error;
      }
    }
    const [stdout, stderr, terminal] = (["stdout", "stderr", "pty"] as const).map((name) => this.#hub.snapshot(name));
    return {
      stdout: stdout!.bytes(),
      stderr: stderr!.bytes(),
      terminal: terminal!.bytes(),
      truncated: [stdout!, stderr!, terminal!].some((part) => part.droppedBytes > 0),
      running: this.running,
      exitCode: this.#status?.code ?? null,
    };
  }

  // ---------------------------------------------------------------- its end

  /**
   * How it ended, once it has exited. Rejects when that cannot be found out any more. A caller that awaits it need not
   * read the streams: the process does not wait for streams that nobody reads.
   */
  get status(): Promise<ProcessStatus> {
    this.#hub.letFlow();
    return this.#exited.promise;
  }

  /** Waits for its end, with a deadline if one is given. */
  async wait(options: WaitOptions = {}): Promise<ProcessStatus> {
    this.#hub.letFlow();
    const { until = "exited", timeout, signal } = options;
    const ended = until === "closed" ? this.#closed.promise : this.#exited.promise;
    const what = `waiting for process ${this.id}`;
    return await within(ended, {
      timeoutMs: timeout === undefined ? null : milliseconds(timeout, "timeout"),
      signal,
      what,
    });
  }

  /** Writes the input, ends it, waits for the process, and returns everything it wrote, within a bound. */
  async communicate(input?: Uint8Array | string, options: CollectOptions = {}): Promise<CommandOutput> {
    const collected = this.collect(options);
    if (input !== undefined) this.feed(input);
    return await collected;
  }

  /** Waits for the process and returns everything it wrote, within a bound. */
  async collect({ maxBytes = DEFAULT_COLLECT_BYTES, signal }: CollectOptions = {}): Promise<CommandOutput> {
    const main = new BoundedOutput(maxBytes);
    const errors = new BoundedOutput(maxBytes);
    this.#hub.receive(this.tty ? "pty" : "stdout", (bytes) => main.add(bytes));
    this.#hub.receive("stderr", (bytes) => errors.add(bytes));
    const what = `waiting for process ${this.id}`;
    const status = await within(this.#closed.promise, { timeoutMs: null, signal, what });
    return new CommandOutput({
      status,
      stdout: main.bytes(),
      stderr: errors.bytes(),
      truncated: this.#isTruncated || main.droppedBytes + errors.droppedBytes > 0,
      durationMs: Math.round(performance.now() - this.#startedAtMs),
    });
  }

  /**
   * Waits until the process has ended or the time is up, and returns what it has written since the last call, as
   * bounded text. Do not use the streams as well.
   */
  async pollUntil({ yieldMs = DEFAULT_YIELD_MS, maxBytes = MAX_PORTION_BYTES, signal }: YieldOptions = {}): Promise<
    OutputPortion
  > {
    const window = this.#window ??= new OutputWindow(this.#hub);
    const timer = Promise.withResolvers<null>();
    const cancelTimer = systemClock.setTimer(yieldMs, () => timer.resolve(null));
    const what = `waiting for process ${this.id}`;
    try {
      const status = await within(Promise.race([this.#closed.promise, timer.promise]), {
        timeoutMs: null,
        signal,
        what,
      });
      return { ...window.take(maxBytes, status !== null), running: status === null, status: status ?? this.#status };
    } finally {
      cancelTimer();
    }
  }

  /**
   * Waits until it writes a text, to any stream. The next search begins after what was found. Several searches may wait
   * at a time, such as for `ready` and for `error`.
   *
   * A pattern is tried whenever output comes, so it may match a part. Include what follows, as in `/port (\\d+)\\n/`.
   */
  async waitForText(pattern: string | RegExp, options: WaitForOptions = {}): Promise<TextMatch> {
    const search = this.#search ??= new TextSearch(this.#hub);
    return await search.next(pattern, this.#closed.promise, options);
  }

  // ---------------------------------------------------------------- what can be done to it

  /** Its input as a stream. Closing it ends the input; a terminal gets Ctrl-D. Writing waits while the process does. */
  get stdin(): WritableStream<Uint8Array | string> {
    this.#requireInput();
    return this.#stdin ??= new WritableStream<Uint8Array | string>({
      write: (chunk) => this.#input.push(toBytes(chunk)),
      close: () => this.#input.close(),
      abort: () => this.#input.close(),
    }, { highWaterMark: 1 });
  }

  /** Writes to its input. Resolves when the server has accepted it. */
  async write(data: Uint8Array | string): Promise<void> {
    this.#requireInput();
    await this.#input.write(toBytes(data));
  }

  /** Ends its input after everything that was written. A terminal gets Ctrl-D. */
  async closeStdin(): Promise<void> {
    this.#requireInput();
    await this.#input.close();
  }

  #requireInput(): void {
    if (this.#reference.stdin) return;
    throw new TypeError('this process has no input to write to: start it with `stdin: "piped"` or with `tty`');
  }

  /** Sends a signal to its group, or to the job in the foreground of its terminal. `SIGTERM` unless given. */
  async kill(
    signal: Signal = "SIGTERM",
    { target = "group" }: { target?: "group" | "foreground" } = {},
  ): Promise<void> {
    const name = wireSignal(signal);
    if (name === null) await this.#session.call("process/terminate", this.#wire);
    else {await this.#session.call("process/signal", {
        ...this.#wire,
        signal: name,
        ...(target === "group" ? {} : { target }),
      });}
  }

  /**
   * Ends it: at once, or with SIGTERM and SIGKILL after this time. With `tree` all its descendants end, too, even those
   * in other groups. Resolves when the server has accepted the request; await `status` for the end.
   */
  async terminate({ graceMs, tree = false }: { graceMs?: number; tree?: boolean } = {}): Promise<void> {
    await this.#session.call("process/terminate", {
      ...this.#wire,
      ...(graceMs === undefined ? {} : { mode: { type: "graceful", timeoutMs: graceMs } }),
      ...(tree ? { tree } : {}),
    });
  }

  /** Changes the size of its terminal. */
  async resize({ rows, cols }: { rows: number; cols: number }): Promise<void> {
    await this.#session.call("process/resize", { ...this.#wire, rows, cols });
  }

  /** Detaches from it: streams end, and no more events come. The process runs on, and does not wait for a reader. */
  detach(): void {
    this.#feed.fail(new OutputGapError("the handle was detached", { afterSeq: this.cursor, droppedBytes: null }));
  }

  /** Ends it, unless it has ended or is kept, and waits for that. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isKept || this.#session.ended !== null) return;
    this.#hub.letFlow();
    if (this.running) await this.terminate().catch(() => {});
    await this.#exited.promise.catch(() => {});
  }
}

function toBytes(data: Uint8Array | string): Uint8Array {
  return typeof data === "string" ? encoder.encode(data) : data;
}
