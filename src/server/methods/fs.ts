/** `fs/*`: wire parameters to the file system, and its answers to wire results. Loaded with the first such request. */

import type { Clock } from "../../clock.ts";
import { deferredFileSystem } from "../../fs/confined/deferred.ts";
import { ConfinedReader } from "../../fs/confined/confined_reader.ts";
import { createDirectFileSystem } from "../../fs/direct.ts";
import type { FileSystem } from "../../fs/file_system.ts";
import { FileHandles } from "../../fs/file_handles.ts";
import { Inotify } from "../../fs/watch/inotify.ts";
import { createIoContext } from "../../fs/io_context.ts";
import { MAX_LARGE_READS } from "../../fs/limits.ts";
import { watchUnavailable } from "../../fs/portable/refusals.ts";
import { Places } from "../../launch/places.ts";
import { Watches } from "../../fs/watch/connection_watches.ts";
import { MissingWatch } from "../../fs/watch/watch_missing.ts";
import { whyNoLibc } from "../../os/libc_access.ts";
import { sharedReactor } from "../../os/loop/reactor.ts";
import { toFileUri } from "../../path_uri.ts";
import type * as fs from "../../protocol/fs.ts";
import { contentResult, type EncodedResult, type StreamedResult } from "../../rpc/encoded_result.ts";
import type { CallContext, Outlet, Owned } from "../call_context.ts";
import type { Sandboxing } from "../sandboxing.ts";
import { FileAnswer } from "./file_answer.ts";
import { listAnswer } from "./long_list.ts";

type Context = Pick<CallContext<unknown>, "owned" | "outlet" | "signal" | "promise" | "withdraw">;

/** The file handles and watches of one connection. */
class ConnectionFiles implements Owned {
  readonly handles = new FileHandles();
  readonly largeReads = new Places(MAX_LARGE_READS);
  readonly watches: Watches;
  readonly missing: MissingWatch;
  /** Once a request of this connection had a sandbox object. */
  sandboxing: Sandboxing | null = null;

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
    this.sandboxing?.closeOwner(this);
  }
}

const CONNECTION_FILES = Symbol("connection files");

/** What all connections share, so that their long operations take turns. */
interface Machine {
  readonly io: ReturnType<typeof createIoContext>;
  readonly inotify: Inotify;
}

const DONE = {};

export type FsMethods = Awaited<ReturnType<typeof createFsMethods>>;

export interface FsMethodsOptions {
  readonly clock: Clock;
  readonly sandboxing: () => Promise<Sandboxing>;
}

export async function createFsMethods({ clock, sandboxing }: FsMethodsOptions) {
  const io = createIoContext(clock);
  const machine: Machine = { io, inotify: new Inotify(sharedReactor) };
  const reason = whyNoLibc();
  const direct = reason === null ? createDirectFileSystem(io) : await loadPortable({ reason, clock });
  const ownFiles = { direct, reader: new ConfinedReader(io) };

  const own = ({ owned, outlet }: Context): ConnectionFiles => {
    return owned(CONNECTION_FILES, () => new ConnectionFiles(outlet, machine));
  };
  /** The file system a sandbox object leaves to see. */
  const filesFor = (sandbox: unknown, context: Context): FileSystem => {
    if (sandbox === undefined || sandbox === null) return direct;
    const owner = own(context);
    return deferredFileSystem(async () => {
      owner.sandboxing ??= await sandboxing();
      return await owner.sandboxing.files(sandbox, owner, ownFiles);
    });
  };

  return {
    filesFor,
    /** Makes the first request as quick as the next: loads the C library's file functions and uses the most frequent. */
    warmUp: async (): Promise<void> => {
      const ordinary = { followSymlinks: true, offset: 0, length: null };
      if (reason === null) await direct.readFile({ path: "/proc/self/comm", ...ordinary }, () => {});
      await direct.getMetadata({ path: "/", followSymlinks: true, fields: [] });
    },
    readFile: async (params: fs.FsReadFileParams, context: Context): Promise<EncodedResult | StreamedResult> => {
      const answer = new FileAnswer({
        takePlace: () => {
          // Otherwise a request that has a place could wait for bytes behind others that wait for places.
          context.withdraw();
          return own(context).largeReads.take();
        },
        promise: (bytes) => context.promise(bytes),
        signal: context.signal,
      });
      try {
        await filesFor(params.sandbox, context).readFile(requestOf(params), answer.add, context.signal, answer);
      } catch (error) {
        answer.giveUp();
        throw error;
      }
      return answer.result();
    },
    writeFile: async (params: fs.FsWriteFileParams, context: Context) => {
      await filesFor(params.sandbox, context).writeFile(requestOf(params));
      return DONE;
    },
    getMetadata: (params: fs.FsGetMetadataParams, context: Context): Promise<fs.FsGetMetadataResult> => {
      return filesFor(params.sandbox, context).getMetadata(requestOf(params), context.signal);
    },
    canonicalize: async (params: fs.FsCanonicalizeParams, context: Context): Promise<fs.FsCanonicalizeResult> => {
      return { path: toFileUri(await filesFor(params.sandbox, context).canonicalize(params.path)) };
    },
    createDirectory: async (params: fs.FsCreateDirectoryParams, context: Context) => {
      await filesFor(params.sandbox, context).createDirectory(requestOf(params));
      return DONE;
    },
    readDirectory: async (
      params: fs.FsReadDirectoryParams,
      context: Context,
    ): Promise<fs.FsReadDirectoryResult | EncodedResult> => {
      const entries = await filesFor(params.sandbox, context).readDirectory(params.path, context.signal);
      return await listAnswer(entries, io.pacer, context.signal);
    },
    list: async (params: fs.FsListParams, context: Context): Promise<fs.FsListResult | EncodedResult> => {
      const entries = await filesFor(params.sandbox, context).list(params.path, context.signal);
      return await listAnswer(entries, io.pacer, context.signal);
    },
    walk: (params: fs.FsWalkParams, context: Context): Promise<fs.FsWalkResult> => {
      return filesFor(params.sandbox, context).walk(requestOf(params), context.signal);
    },
    remove: async (params: fs.FsRemoveParams, context: Context) => {
      await filesFor(params.sandbox, context).remove(requestOf(params), context.signal);
      return DONE;
    },
    copy: async (params: fs.FsCopyParams, context: Context) => {
      await filesFor(params.sandbox, context).copy(requestOf(params), context.signal);
      return DONE;
    },
    rename: async (params: fs.FsRenameParams, context: Context) => {
      await filesFor(params.sandbox, context).rename(requestOf(params));
      return DONE;
    },
    chmod: async (params: fs.FsChmodParams, context: Context) => {
      await filesFor(params.sandbox, context).chmod(requestOf(params));
      return DONE;
    },
    setTimes: async (params: fs.FsSetTimesParams, context: Context) => {
      await filesFor(params.sandbox, context).setTimes(requestOf(params));
      return DONE;
    },
    symlink: async (params: fs.FsSymlinkParams, context: Context) => {
      await filesFor(params.sandbox, context).symlink(requestOf(params));
      return DONE;
    },

    open: async (params: fs.FsOpenParams, context: Context): Promise<fs.FsOpenResult> => {
      const { handleId } = params;
      const files = filesFor(params.sandbox, context);
      await own(context).handles.open(handleId, () => files.open(requestOf(params)));
      return { handleId };
    },
    readBlock: async (params: fs.FsReadBlockParams, context: Context): Promise<EncodedResult | StreamedResult> => {
      const { bytes, eof } = await own(context).handles.readBlock(params.handleId, params.offset, params.len);
      return contentResult('{"chunk":"', bytes, `","eof":${eof}}`);
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
      // The protocol's own way to say that the client has to look by itself.
      return { watching: reason === null && own(context).missing.watch(params) };
    },
    watch: async (params: fs.FsWatchParams, context: Context) => {
      if (reason !== null) throw watchUnavailable(reason);
      const owner = own(context);
      if (params.sandbox === undefined || params.sandbox === null) await owner.watches.watch(params);
      else {
        owner.sandboxing ??= await sandboxing();
        const open = await owner.sandboxing.watch(params.sandbox, owner, params.path);
        await owner.watches.watch(params, open ?? undefined);
      }
      return DONE;
    },
    unwatch: ({ watchId }: fs.FsUnwatchParams, context: Context) => {
      own(context).watches.unwatch(watchId);
      return DONE;
    },
  };
}

/** What the file system is asked: the sandbox object has decided which one that is, and goes no further. */
function requestOf<Params extends { readonly sandbox?: unknown }>(params: Params): Omit<Params, "sandbox"> {
  if (params.sandbox === undefined || params.sandbox === null) return params;
  const { sandbox: _, ...request } = params;
  return request;
}

async function loadPortable(options: { readonly reason: string; readonly clock: Clock }): Promise<FileSystem> {
  const { createPortableFileSystem } = await import("../../fs/portable/portable.ts");
  return createPortableFileSystem(options);
}
