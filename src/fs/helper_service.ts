/**
 * The helper's side of the conversation: does what requests ask on a filesystem and answers them.
 *
 * Requests run side by side; the server keeps those apart that must not. Files that were opened stay open until they are
 * closed or the conversation ends, and watches go on until they are cancelled or it does.
 */

import { internalError } from "../errors.ts";
import type { NativePath } from "../path_uri.ts";
import type { FileSystem, OpenFile } from "./file_system.ts";
import {
  encodeFrame,
  failureOf,
  type Frame,
  type Operation,
  parseRequest,
  READY_ID,
  type ReplyHead,
  type WatchEvent,
  type WatchParams,
} from "./helper_protocol.ts";

type Bytes = Uint8Array<ArrayBuffer>;

export interface HelperServiceOptions {
  readonly files: FileSystem;
  /** Sends arrays, in order, before it returns. */
  send(parts: Bytes[]): void;
  /** Watches until the signal; rejects when that is not possible. */
  watch(params: WatchParams, tell: (event: WatchEvent) => void, signal: AbortSignal): Promise<void>;
  /** A failure that is no refusal of the operating system: a fault of ours. */
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

export class HelperService {
  readonly #options: HelperServiceOptions;
  readonly #running = new Map<number, AbortController>();
  readonly #open = new Map<number, OpenFile>();
  /** Requests that only end when they are told to. */
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

  /** No more requests come: resolves when those under way are done and every file is closed. */
  async finish(): Promise<void> {
    for (const id of this.#watches) this.#running.get(id)?.abort();
    if (this.#running.size > 0) await new Promise<void>((resolve) => this.#onIdle = resolve);
    // What a file lost on closing has nobody left to be told to.
    await Promise.allSettled(Array.from(this.#open.values(), (file) => file.close()));
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
      if (failure === null) this.#options.onFault(error);
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
    this.#options.send(encodeFrame(head, body));
  }

  #file(handle: number): OpenFile {
    const file = this.#open.get(handle);
    if (file === undefined) throw internalError(`the confined file operation names no open file: ${handle}`);
    return file;
  }

  #createHandlers(files: FileSystem): Handlers {
    const of =
      <Params>(run: (params: Params, call: Call) => Promise<unknown>) => async (params: Params, call: Call) => ({
        result: await run(params, call),
      });
    type Of<Name extends keyof FileSystem> = Parameters<FileSystem[Name]>[0];
    return {
      readFile: async (request: Of<"readFile">, { id, signal }) => {
        await files.readFile(request, (piece) => this.#send({ id, type: "piece" }, piece), signal);
      },
      writeFile: async (request: Omit<Of<"writeFile">, "data">, { body }) => {
        await files.writeFile({ ...request, data: body });
      },
      getMetadata: of((request: Of<"getMetadata">, { signal }) => files.getMetadata(request, signal)),
      canonicalize: of((path: NativePath) => files.canonicalize(path)),
      createDirectory: of((request: Of<"createDirectory">) => files.createDirectory(request)),
      readDirectory: of((path: NativePath, { signal }) => files.readDirectory(path, signal)),
      walk: of((request: Of<"walk">, { signal }) => files.walk(request, signal)),
      remove: of((request: Of<"remove">, { signal }) => files.remove(request, signal)),
      copy: of((request: Of<"copy">, { signal }) => files.copy(request, signal)),
      rename: of((request: Of<"rename">) => files.rename(request)),
      chmod: of((request: Of<"chmod">) => files.chmod(request)),
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
