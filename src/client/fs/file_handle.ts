/**
 * A file that is held open on the box and read or written block by block. The server's handles end with their
 * connection. This one then opens the file again, and makes sure that it is still the same file.
 */

import { ERROR_CODES } from "../../protocol/error_codes.ts";
import type { FsGetMetadataResult } from "../../protocol/fs_results.ts";
import { decodeBase64, encodeBase64 } from "../base64.ts";
import { abortedBy, ConnectionLostError, ServerError } from "../errors.ts";
import type { Session } from "../session/session.ts";

/** Which file, and for what. */
export interface FileHandleOptions {
  readonly session: Session;
  /** A URI. */
  readonly path: string;
  readonly mode: "read" | "replace";
  readonly sandbox: unknown;
  readonly followSymlinks: boolean | undefined;
  readonly signal: AbortSignal | undefined;
}

/** One block. The server's largest is four times that. */
export const BLOCK_BYTES: number = 256 * 1024;
/** If the handle is unknown this often, without any block in between, something else is wrong. */
const MAX_REOPENS = 100;

const BLOCK_METHODS = ["fs/readBlock", "fs/writeBlock"];

/** By what two files of one path are told apart. */
type Identity = Pick<FsGetMetadataResult, "inode" | "modifiedAtMs" | "size">;

/** See the head of the module. */
export class FileHandle {
  readonly #options: FileHandleOptions;
  #handleId: Promise<string> | null = null;
  #wasOpened = false;
  #reopens = 0;
  #identity: Identity | null = null;

  constructor(options: FileHandleOptions) {
    this.#options = options;
  }

  /** Opens the file at once, so that errors show early. */
  async open(): Promise<void> {
    await this.#retried(() => this.#id());
  }

  /** At most this many bytes from an offset; fewer at the end of the file. */
  async read(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    const { session, signal } = this.#options;
    return await this.#retried(async () => {
      const handleId = await this.#id();
      const { chunk } = await session.call("fs/readBlock", { handleId, offset, len: length }, { signal });
      return decodeBase64(chunk);
    });
  }

  /** Writes at an offset. */
  async write(offset: number, bytes: Uint8Array): Promise<void> {
    const { session, signal } = this.#options;
    const chunk = encodeBase64(bytes);
    await this.#retried(async () => {
      const handleId = await this.#id();
      await session.call("fs/writeBlock", { handleId, offset, chunk }, { signal });
    });
  }

  /** Closes it. One whose connection was lost is closed already. */
  async close(): Promise<void> {
    const opened = this.#handleId;
    this.#handleId = null;
    if (opened === null) return;
    try {
      await this.#options.session.call("fs/close", { handleId: await opened });
    } catch (error) {
      if (!(error instanceof ConnectionLostError) && !(error instanceof ServerError)) throw error;
    }
  }

  /** Blocks that are under way at the same time share one attempt to open. */
  #id(): Promise<string> {
    if (this.#handleId !== null) return this.#handleId;
    const opening = this.#handleId = this.#openOnce();
    opening.catch(() => {
      if (this.#handleId === opening) this.#handleId = null;
    });
    return opening;
  }

  async #openOnce(): Promise<string> {
    const { session, path, mode, sandbox, followSymlinks, signal } = this.#options;
    if (signal?.aborted) throw abortedBy(signal, "fs/open");
    const isAgain = this.#wasOpened;
    if (isAgain && mode === "replace" && !session.has("fsOpenUpdate")) {
      throw new ServerError(
        "fs/open",
        ERROR_CODES.invalidRequest,
        "cannot go on writing: the connection was lost, and this server cannot open a file again",
      );
    }
    // The server takes 32 characters.
    const handleId = crypto.randomUUID().replaceAll("-", "");
    const confinement = sandbox === undefined ? {} : { sandbox };
    await session.request("fs/open", {
      handleId,
      path,
      mode: isAgain && mode === "replace" ? "update" : mode,
      ...(followSymlinks === undefined ? {} : { followSymlinks }),
      ...confinement,
    }, { signal });
    this.#wasOpened = true;
    if (mode === "read") await this.#checkIdentity();
    return handleId;
  }

  /** All blocks must come from one file, which has not changed while it was not open. */
  async #checkIdentity(): Promise<void> {
    const { session, path, sandbox, signal } = this.#options;
    const { inode, modifiedAtMs, size } = await session.call("fs/getMetadata", {
      path,
      fields: ["inode"],
      ...(sandbox === undefined ? {} : { sandbox }),
    }, { signal });
    const before = this.#identity ??= { inode, modifiedAtMs, size } as Identity;
    if (before.inode !== inode || before.modifiedAtMs !== modifiedAtMs || before.size !== size) {
      const message = "cannot go on reading: the file has changed while the connection was lost";
      throw new ServerError("fs/open", ERROR_CODES.invalidRequest, message);
    }
  }

  /** If the handle was lost with its connection, the file is opened again, and the block is requested again. */
  async #retried<Value>(attempt: () => Promise<Value>): Promise<Value> {
    for (;;) {
      const handle = this.#handleId;
      try {
        const value = await attempt();
        this.#reopens = 0;
        return value;
      } catch (error) {
        // On the next connection the server does not know the handle.
        const isUnknown = error instanceof ServerError && error.isNotFound && BLOCK_METHODS.includes(error.method);
        // Connections may be lost at any time while the session lives. But a handle that is unknown again and again is
        // a mistake.
        if (!(error instanceof ConnectionLostError) && !(isUnknown && ++this.#reopens <= MAX_REOPENS)) throw error;
        // Another block may have opened it again already.
        if (this.#handleId === handle) this.#handleId = null;
      }
    }
  }
}
