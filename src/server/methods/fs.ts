/** `fs/*`: wire parameters to the file system, and its answers to wire results. Loaded with the first such request. */

import type { Clock } from "../../clock.ts";
import { invalidRequest } from "../../errors.ts";
import { createDirectFileSystem } from "../../fs/direct.ts";
import type { FileSystem } from "../../fs/file_system.ts";
import { FileHandles } from "../../fs/file_handles.ts";
import { Inotify } from "../../fs/inotify.ts";
import { createIoContext } from "../../fs/io_context.ts";
import { Watches } from "../../fs/watch.ts";
import { MissingWatch } from "../../fs/watch_missing.ts";
import { sharedReactor } from "../../os/reactor.ts";
import { toFileUri } from "../../path_uri.ts";
import type * as fs from "../../protocol/fs.ts";
import { EncodedResult } from "../../rpc/envelope.ts";
import type { CallContext, Outlet, Owned } from "../connection.ts";

type Context = Pick<CallContext<unknown>, "owned" | "outlet" | "signal">;

/** The file handles and watches of one connection. */
class ConnectionFiles implements Owned {
  readonly handles = new FileHandles();
  readonly watches: Watches;
  readonly missing: MissingWatch;

  constructor(outlet: Outlet, machine: Machine) {
    const { inotify, io } = machine;
    this.watches = new Watches({
      inotify,
      io,
      hasRoom: () => outlet.hasRoom,
      changed: (notification) => outlet.notify("fs/changed", notification),
    });
    this.missing = new MissingWatch({
      inotify,
      changed: (notification) => outlet.notify("fs/missingChanged", notification),
    });
  }

  outputHasRoom(): void {
    this.watches.resume();
  }

  async close(): Promise<void> {
    this.watches.closeAll();
    this.missing.closeAll();
    await this.handles.closeAll();
  }
}

const CONNECTION_FILES = Symbol("connection files");

/** What all connections share, so that their long operations take turns. */
interface Machine {
  readonly io: ReturnType<typeof createIoContext>;
  readonly inotify: Inotify;
}

const DONE = {};

export type FsMethods = ReturnType<typeof createFsMethods>;

export function createFsMethods(clock: Clock) {
  const io = createIoContext(clock);
  const machine: Machine = { io, inotify: new Inotify(sharedReactor) };
  const direct = createDirectFileSystem(io);

  /** The file system a sandbox object leaves to see. */
  const filesFor = (sandbox: unknown): FileSystem => {
    if (sandbox === undefined || sandbox === null) return direct;
    throw invalidRequest("this server cannot confine file operations: sandbox must be null");
  };
  const own = ({ owned, outlet }: Context): ConnectionFiles => {
    return owned(CONNECTION_FILES, () => new ConnectionFiles(outlet, machine));
  };

  return {
    filesFor,
    readFile: async (params: fs.FsReadFileParams, { signal }: Context): Promise<EncodedResult> => {
      // Piece by piece into base64: the content is never in memory twice as bytes, and no string holds it whole.
      const parts = ['{"dataBase64":"'];
      await filesFor(params.sandbox).readFile(params, (piece) => parts.push(piece.toBase64()), signal);
      parts.push('"}');
      return new EncodedResult(parts);
    },
    writeFile: async (params: fs.FsWriteFileParams) => {
      await filesFor(params.sandbox).writeFile(params);
      return DONE;
    },
    getMetadata: (params: fs.FsGetMetadataParams, { signal }: Context): Promise<fs.FsGetMetadataResult> => {
      return filesFor(params.sandbox).getMetadata(params, signal);
    },
    canonicalize: async (params: fs.FsCanonicalizeParams): Promise<fs.FsCanonicalizeResult> => {
      return { path: toFileUri(await filesFor(params.sandbox).canonicalize(params.path)) };
    },
    createDirectory: async (params: fs.FsCreateDirectoryParams) => {
      await filesFor(params.sandbox).createDirectory(params);
      return DONE;
    },
    readDirectory: async (
      params: fs.FsReadDirectoryParams,
      { signal }: Context,
    ): Promise<fs.FsReadDirectoryResult> => {
      return { entries: await filesFor(params.sandbox).readDirectory(params.path, signal) };
    },
    walk: (params: fs.FsWalkParams, { signal }: Context): Promise<fs.FsWalkResult> => {
      return filesFor(params.sandbox).walk(params, signal);
    },
    remove: async (params: fs.FsRemoveParams, { signal }: Context) => {
      await filesFor(params.sandbox).remove(params, signal);
      return DONE;
    },
    copy: async (params: fs.FsCopyParams, { signal }: Context) => {
      await filesFor(params.sandbox).copy(params, signal);
      return DONE;
    },
    rename: async (params: fs.FsRenameParams) => {
      await filesFor(params.sandbox).rename(params);
      return DONE;
    },
    chmod: async (params: fs.FsChmodParams) => {
      await filesFor(params.sandbox).chmod(params);
      return DONE;
    },
    symlink: async (params: fs.FsSymlinkParams) => {
      await filesFor(params.sandbox).symlink(params);
      return DONE;
    },

    open: async (params: fs.FsOpenParams, context: Context): Promise<fs.FsOpenResult> => {
      const { handleId } = params;
      const files = filesFor(params.sandbox);
      await own(context).handles.open(handleId, () => files.open(params));
      return { handleId };
    },
    readBlock: async (params: fs.FsReadBlockParams, context: Context): Promise<EncodedResult> => {
      const { bytes, eof } = await own(context).handles.readBlock(params.handleId, params.offset, params.len);
      return new EncodedResult(['{"chunk":"', bytes.toBase64(), `","eof":${eof}}`]);
    },
    writeBlock: async ({ handleId, offset, chunk }: fs.FsWriteBlockParams, context: Context) => {
      await own(context).handles.writeBlock(handleId, offset, chunk);
      return DONE;
    },
    close: async ({ handleId }: fs.FsCloseParams, context: Context) => {
      await own(context).handles.close(handleId);
      return DONE;
    },

    watchMissing: (params: fs.FsWatchMissingParams, context: Context): fs.FsWatchMissingResult => {
      return { watching: own(context).missing.watch(params) };
    },
    watch: async (params: fs.FsWatchParams, context: Context) => {
      // A confined watch would have to run inside the sandbox; refusing is honest.
      filesFor(params.sandbox);
      await own(context).watches.watch(params);
      return DONE;
    },
    unwatch: ({ watchId }: fs.FsUnwatchParams, context: Context) => {
      own(context).watches.unwatch(watchId);
      return DONE;
    },
  };
}
