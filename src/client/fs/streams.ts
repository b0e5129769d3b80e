/**
 * Files of the box as web streams. A few blocks are under way at a time, so that a slow line costs little time. A file
 * that is written appears under its name only when it is complete.
 */

import { concatBytes } from "../../bytes.ts";
import { OutputStream } from "../process/output_stream.ts";
import type { Session } from "../session/session.ts";
import { BLOCK_BYTES, FileHandle } from "./file_handle.ts";
import { pathOf, splitPath, uriOf } from "./paths.ts";

/** Blocks under way at a time: 1 MiB in all. */
const BLOCKS_UNDER_WAY = 4;

/** Which part of a file. */
export interface ReadStreamOptions {
  /** Where to begin. */
  readonly offset?: number | undefined;
  /** How much at most. */
  readonly length?: number | undefined;
  /** Stops. */
  readonly signal?: AbortSignal | undefined;
  /** Confines the reading. */
  readonly sandbox?: unknown;
  /** False: no part of the path may be a link. */
  readonly followSymlinks?: boolean | undefined;
}

/** How a file is written. */
export interface WriteStreamOptions {
  /** The mode it has afterwards. */
  readonly mode?: number | undefined;
  /** Stops, and leaves the old file as it was. */
  readonly signal?: AbortSignal | undefined;
  /** Confines the writing. */
  readonly sandbox?: unknown;
}

/** The content of a file, as it is when it is opened. */
export function readStream(session: Session, path: string, options: ReadStreamOptions): OutputStream {
  const { offset = 0, length = Infinity, signal, sandbox, followSymlinks } = options;
  const handle = new FileHandle({ session, path, mode: "read", sandbox, followSymlinks, signal });
  const underWay: { readonly wanted: number; readonly block: Promise<Uint8Array<ArrayBuffer>> }[] = [];
  let next = offset;
  const end = offset + length;
  const ask = () => {
    const wanted = Math.min(BLOCK_BYTES, end - next);
    if (wanted <= 0) return;
    const block = handle.read(next, wanted);
    // The error is thrown when it is this block's turn.
    block.catch(() => {});
    underWay.push({ wanted, block });
    next += wanted;
  };
  return new OutputStream({
    async pull(controller) {
      while (underWay.length < BLOCKS_UNDER_WAY && next < end) ask();
      const first = underWay.shift();
      const bytes = await first?.block;
      if (bytes !== undefined && bytes.length > 0) controller.enqueue(bytes);
      if (bytes === undefined || bytes.length < first!.wanted) {
        await handle.close();
        controller.close();
      }
    },
    async cancel() {
      await handle.close();
    },
  }, { highWaterMark: 0 });
}

/** A file that is replaced when the stream is closed. If the stream is aborted, the old file stays. */
export function writeStream(
  session: Session,
  path: string,
  options: WriteStreamOptions,
): WritableStream<Uint8Array | string> {
  const { mode, signal, sandbox } = options;
  const confinement = sandbox === undefined ? {} : { sandbox };
  const { directory, name } = splitPath(pathOf(path));
  // In the same directory, because a rename cannot cross filesystems. Names have 255 bytes at most.
  const part = uriOf(
    `${directory === "/" ? "" : directory}/.${name.slice(0, 60)}.${crypto.randomUUID().slice(0, 8)}.part`,
  );
  const handle = new FileHandle({ session, path: part, mode: "replace", sandbox, followSymlinks: undefined, signal });
  const encoder = new TextEncoder();
  const underWay: Promise<void>[] = [];
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  let offset = 0;
  const write = async (bytes: Uint8Array) => {
    if (underWay.length >= BLOCKS_UNDER_WAY) await underWay.shift();
    const written = handle.write(offset, bytes);
    written.catch(() => {});
    underWay.push(written);
    offset += bytes.length;
  };
  const flush = async (isLast: boolean) => {
    if (waitingBytes === 0 || (!isLast && waitingBytes < BLOCK_BYTES)) return;
    const bytes = concatBytes(waiting);
    waiting = [];
    waitingBytes = 0;
    for (let at = 0; at < bytes.length; at += BLOCK_BYTES) await write(bytes.subarray(at, at + BLOCK_BYTES));
  };
  const giveUp = async () => {
    await Promise.allSettled(underWay);
    await handle.close();
    await session.call("fs/remove", { path: part, recursive: false, force: true, ...confinement });
  };
  return new WritableStream<Uint8Array | string>({
    async start() {
      await handle.open();
    },
    async write(chunk) {
      const bytes = typeof chunk === "string" ? encoder.encode(chunk) : chunk.slice();
      waiting.push(bytes);
      waitingBytes += bytes.length;
      try {
        await flush(false);
      } catch (error) {
        await giveUp().catch(() => {});
        throw error;
      }
    },
    async close() {
      try {
        await flush(true);
        await Promise.all(underWay);
        await handle.close();
        if (mode !== undefined) await session.call("fs/chmod", { path: part, mode, ...confinement });
        await renamed(session, part, path, confinement);
      } catch (error) {
        await giveUp().catch(() => {});
        throw error;
      }
    },
    async abort() {
      await giveUp().catch(() => {});
    },
  });
}

/** Repeats a rename whose outcome is not known: if the source is gone, the first one succeeded. */
async function renamed(session: Session, part: string, path: string, confinement: object): Promise<void> {
  const params = { sourcePath: part, destinationPath: path, overwrite: true, ...confinement };
  await session.call("fs/rename", params, {
    repeatable: true,
    resultOfRepeated: (error) => error.isNotFound ? {} : undefined,
  });
}
