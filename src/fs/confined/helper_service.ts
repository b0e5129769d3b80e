/**
 * The helper's side of the conversation: carries out requests on a filesystem and answers them.
 *
 * Requests run side by side. The server keeps apart those that must not run together. Opened files stay open until they
 * are closed or the conversation ends. Watches go on until they are cancelled or the conversation ends.
 */

import type { Bytes, ByteSource } from "../../bytes.ts";
import { internalError } from "../../errors.ts";
import type { NativePath } from "../../path_uri.ts";
import type { ByteSink, FileSystem, LargeContentReceiver, OpenFile } from "../file_system.ts";
import { encodeHelperFrame, type Frame } from "./helper_frames.ts";
import {
  failureOf,
  type Operation,
  parseRequest,
  type ReadFileOutcome,
  type ReadFileRoom,
  READY_ID,
  type ReplyHead,
  type WatchEvent,
  type WatchParams,
} from "./helper_protocol.ts";
import { SHORT_READ_BYTES } from "../limits.ts";

export interface HelperServiceOptions {
  readonly files: FileSystem;
  /** Sends arrays, in order, before it returns. */
  send(parts: Bytes[]): void;
  /** Watches until the signal; rejects when that is not possible. */
  watch(params: WatchParams, tell: (event: WatchEvent) => void, signal: AbortSignal): Promise<void>;
  /** A failure that is not a refusal of the operating system: our fault. */
  onFault(error: unknown): void;
}

/** What an operation gets besides its parameters. */
interface Call {
  readonly id: number;
  readonly body: Bytes;
  readonly signal: AbortSignal;
}

/** A result, and the bytes that go with it. */
interface Answer {
  readonly result?: unknown;
  readonly body?: Bytes;
}

type Handlers = { readonly [Name in Operation]: (params: never, call: Call) => Promise<Answer | void> };

/** The content needs more room than there is. */
class NeedsRoomError extends Error {
  override readonly name = "NeedsRoomError";
  readonly outcome: ReadFileOutcome;

  constructor(outcome: ReadFileOutcome) {
    super("there is no room for the content");
    this.outcome = outcome;
  }
}

/** Content on its way to the server, and how much room the server has for it. */
class RoomReading implements LargeContentReceiver {
  source: ByteSource | null = null;
  readonly #room: ReadFileRoom;
  readonly #send: ByteSink;
  /**
   * Short content may turn out to be longer, and what was sent cannot be taken back. So it is held here until the end.
   */
  readonly #held: Bytes[] = [];

  constructor(room: ReadFileRoom, send: ByteSink) {
    this.#room = room;
    this.#send = send;
  }

  readonly add: ByteSink = (piece) => {
    if (this.#room.memoryBytes > SHORT_READ_BYTES) this.#send(piece);
    else this.#held.push(piece.slice());
  };

  makeRoom(length: number): void | Promise<void> {
    if (length > this.#room.roomBytes) return needsRoom(length, { inMemory: false });
  }

  makeRoomInMemory(bytes: number): void | Promise<void> {
    if (bytes > this.#room.memoryBytes) return needsRoom(bytes, { inMemory: true });
  }

  takeBytes(bytes: Bytes): void {
    this.add(bytes);
  }

  take(source: ByteSource): void {
    this.source = source;
  }

  end(): void {
    for (const piece of this.#held) this.#send(piece);
  }
}

function needsRoom(bytes: number, { inMemory }: { inMemory: boolean }): Promise<void> {
  return Promise.reject(new NeedsRoomError({ needsRoom: bytes, inMemory }));
}

export class HelperService {
  readonly #options: HelperServiceOptions;
  readonly #running = new Map<number, AbortController>();
  readonly #open = new Map<number, OpenFile>();
  /** Large files that are fetched piece by piece. */
  readonly #sources = new Map<number, ByteSource>();
  /** Requests that end only when they are told to. */
  readonly #watches = new Set<number>();
  readonly #handlers: Handlers;
  #lastHandle = 0;
  #onIdle: (() => void) | null = null;

  constructor(options: HelperServiceOptions) {
    this.#options = options;
    this.#handlers = this.#createHandlers(options.files);
  }

  /** Tells the server that requests may come. */
  begin(): void {
    this.#send({ id: READY_ID, type: "done", result: null });
  }

  /** Starts what a frame asks for. Throws a `FrameError` when it makes no sense. */
  handle({ head, body }: Frame): void {
    const request = parseRequest(head);
    if ("cancel" in request) {
      this.#running.get(request.cancel)?.abort();
      return;
    }
    const controller = new AbortController();
    this.#running.set(request.id, controller);
    this.#answer(request.id, this.#handlers[request.operation], request.params, { body, signal: controller.signal });
  }

  /** No more requests will come. Resolves when those under way are done and every file is closed. */
  async finish(): Promise<void> {
    for (const id of this.#watches) this.#running.get(id)?.abort();
    if (this.#running.size > 0) await new Promise<void>((resolve) => this.#onIdle = resolve);
    // If closing lost data, there is nobody left to tell.
    await Promise.allSettled(Array.from(this.#open.values(), (file) => file.close()));
    for (const source of this.#sources.values()) source.close();
  }

  async #answer(
    id: number,
    handler: Handlers[Operation],
    params: unknown,
    call: Omit<Call, "id">,
  ): Promise<void> {
    try {
      const answer = await handler(params as never, { id, ...call });
      this.#send({ id, type: "done", result: answer?.result ?? null }, answer?.body);
    } catch (error) {
      const failure = failureOf(error);
      // A cancelled request ends with the reason of the cancellation, which is not a fault.
      if (failure === null && !call.signal.aborted) this.#options.onFault(error);
      this.#send({
        id,
        type: "failed",
        failure: failure ?? { kind: "internal", message: "the confined file operation failed unexpectedly" },
      });
    } finally {
      this.#running.delete(id);
      if (this.#running.size === 0) this.#onIdle?.();
    }
  }

  #send(head: ReplyHead, body?: Bytes): void {
    this.#options.send(encodeHelperFrame(head, body));
  }

  #file(handle: number): OpenFile {
    const file = this.#open.get(handle);
    if (file === undefined) throw internalError(`the confined file operation names a file that is not open: ${handle}`);
    return file;
  }

  #createHandlers(files: FileSystem): Handlers {
    const of =
      <Params>(run: (params: Params, call: Call) => Promise<unknown>) => async (params: Params, call: Call) => ({
        result: await run(params, call),
      });
    type Of<Name extends keyof FileSystem> = Parameters<FileSystem[Name]>[0];
    return {
      readFile: async ({ roomBytes, memoryBytes, ...request }: Of<"readFile"> & ReadFileRoom, { id, signal }) => {
        const send: ByteSink = (piece) => this.#send({ id, type: "piece" }, piece);
        const reading = new RoomReading({ roomBytes, memoryBytes }, send);
        try {
          await files.readFile(request, reading.add, signal, reading);
        } catch (error) {
          if (error instanceof NeedsRoomError) return { result: error.outcome };
          throw error;
        }
        const { source } = reading;
        if (source === null) return reading.end();
        this.#sources.set(++this.#lastHandle, source);
        return { result: { source: this.#lastHandle, length: source.length } };
      },
      readSource: async ({ source }: { source: number }) => {
        const piece = await this.#sources.get(source)?.next() ?? null;
        // A copy: the array is only lent until the next call, and is sent later.
        return piece === null ? {} : { body: piece.slice() };
      },
      closeSource: of(({ source }: { source: number }) => {
        this.#sources.get(source)?.close();
        this.#sources.delete(source);
        return Promise.resolve();
      }),
      writeFile: async (request: Omit<Of<"writeFile">, "data">, { body }) => {
        await files.writeFile({ ...request, data: body });
      },
      getMetadata: of((request: Of<"getMetadata">, { signal }) => files.getMetadata(request, signal)),
      canonicalize: of((path: NativePath) => files.canonicalize(path)),
      createDirectory: of((request: Of<"createDirectory">) => files.createDirectory(request)),
      readDirectory: of((path: NativePath, { signal }) => files.readDirectory(path, signal)),
      list: of((path: NativePath, { signal }) => files.list(path, signal)),
      walk: of((request: Of<"walk">, { signal }) => files.walk(request, signal)),
      remove: of((request: Of<"remove">, { signal }) => files.remove(request, signal)),
      copy: of((request: Of<"copy">, { signal }) => files.copy(request, signal)),
      rename: of((request: Of<"rename">) => files.rename(request)),
      chmod: of((request: Of<"chmod">) => files.chmod(request)),
      setTimes: of((request: Of<"setTimes">) => files.setTimes(request)),
      symlink: of((request: Of<"symlink">) => files.symlink(request)),
      open: of(async (request: Of<"open">) => {
        const file = await files.open(request);
        this.#open.set(++this.#lastHandle, file);
        return this.#lastHandle;
      }),
      readBlock: async ({ handle, offset, length }: { handle: number; offset: number; length: number }) => ({
        body: await this.#file(handle).readBlock(offset, length),
      }),
      writeBlock: of(({ handle, offset }: { handle: number; offset: number }, { body }) => {
        return this.#file(handle).writeBlock(offset, body);
      }),
      watch: async (params: WatchParams, { id, signal }) => {
        this.#watches.add(id);
        try {
          await this.#options.watch(params, (event) => this.#send({ id, type: "event", event }), signal);
        } finally {
          this.#watches.delete(id);
        }
      },
      close: of(async ({ handle }: { handle: number }) => {
        const file = this.#file(handle);
        this.#open.delete(handle);
        await file.close();
      }),
    };
  }
}
