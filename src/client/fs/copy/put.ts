/**
 * Files and trees of this machine, merged into what is on the box.
 *
 * Each file is written under another name beside its place and then renamed, so that nobody sees a part of it. Many are
 * under way at once. Modes, times and links are kept. After a lost connection only the blocks that were under way are
 * sent again. Needs a runtime with `node:fs`.
 */

import type * as NodeFs from "node:fs";
import { encodeBase64 } from "../../base64.ts";
import { ConnectionLostError, ServerError } from "../../errors.ts";
import type { Session } from "../../session/session.ts";
import { FileHandle } from "../file_handle.ts";
import { joinPath, splitPath, uriOf } from "../paths.ts";
import type { CopyOptions, CopyResult } from "./copy_options.ts";
import { BLOCKS_UNDER_WAY, COPY_BLOCK_BYTES, CopyRun, KEPT_MODE_BITS, partName, SMALL_FILE_BYTES } from "./copy_run.ts";
import { allBlocks } from "./in_parallel.ts";

/** A directory, and whether the box has it. */
interface Made {
  readonly done: Promise<boolean>;
}

const ROOT_IS_THERE: Made = { done: Promise.resolve(true) };

/** See `DevboxFiles.put`. A link that is named itself is followed; those below are copied as links. */
export async function put(session: Session, from: string, to: string, options: CopyOptions): Promise<CopyResult> {
  const fs = await import("node:fs");
  const run = new CopyRun(options);
  const putting = new Putting(session, fs, run);
  const info = fs.statSync(from);
  if (info.isDirectory()) await putting.directory({ from, to, path: "", info, parent: ROOT_IS_THERE });
  else if (info.isFile()) await putting.file({ from, to, path: "", info, parent: ROOT_IS_THERE });
  else run.skip("");
  await run.finish();
  await putting.finishDirectories();
  return run.result();
}

interface Entry {
  readonly from: string;
  readonly to: string;
  readonly path: string;
  readonly info: NodeFs.Stats;
  readonly parent: Made;
}

class Putting {
  readonly #session: Session;
  readonly #fs: typeof NodeFs;
  readonly #run: CopyRun;
  /** Their modes and times are set when all is in them. */
  readonly #directories: Entry[] = [];
  readonly #isAtomic: boolean;
  readonly #hasTimes: boolean;

  constructor(session: Session, fs: typeof NodeFs, run: CopyRun) {
    this.#session = session;
    this.#fs = fs;
    this.#run = run;
    this.#isAtomic = session.has("fsAtomicWrite") && session.has("fsFlush");
    this.#hasTimes = session.has("fsSetTimes");
  }

  async directory(entry: Entry): Promise<void> {
    const { from, to, path } = entry;
    const made = this.#make(entry);
    // Nobody waits for the answer: the server carries out requests in order.
    let names: NodeFs.Dirent[];
    try {
      names = this.#fs.readdirSync(from, { withFileTypes: true });
    } catch (error) {
      return this.#run.fail(path, error);
    }
    for (const dirent of names) {
      this.#run.check();
      const { name } = dirent;
      const below = path === "" ? name : `${path}/${name}`;
      if (this.#run.isIgnored(below, dirent.isDirectory())) continue;
      if (name.includes("\ufffd")) {
        this.#run.fail(below, new Error("its name is not UTF-8, which this program cannot copy"));
        continue;
      }
      await this.#entry({ from: `${from}/${name}`, to: joinPath(to, name), path: below, parent: made });
    }
  }

  async #entry(place: Omit<Entry, "info">): Promise<void> {
    let info: NodeFs.Stats;
    try {
      info = this.#fs.lstatSync(place.from);
    } catch (error) {
      return this.#run.fail(place.path, error);
    }
    const entry = { ...place, info };
    if (info.isDirectory()) await this.directory(entry);
    else if (info.isFile()) await this.file(entry);
    else if (info.isSymbolicLink()) await this.#run.start(entry.path, 0, () => this.#link(entry));
    else this.#run.skip(entry.path);
  }

  #make(entry: Entry): Made {
    const { to, path, parent } = entry;
    const params = { path: uriOf(to), recursive: true };
    const done = this.#session.call("fs/createDirectory", params, { signal: this.#run.signal }).then(
      () => {
        this.#run.directoryDone();
        this.#directories.push(entry);
        return true;
      },
      async (error) => {
        // Not reported: it only failed because the directory above could not be made.
        if (await parent.done) this.#run.fail(path, error);
        return false;
      },
    );
    return { done };
  }

  async file(entry: Entry): Promise<void> {
    const { path, info, parent } = entry;
    this.#run.found(info.size);
    const isSmall = info.size <= SMALL_FILE_BYTES;
    const bytes = isSmall ? info.size : BLOCKS_UNDER_WAY * COPY_BLOCK_BYTES;
    await this.#run.start(path, bytes, async () => {
      try {
        await (isSmall ? this.#small(entry) : this.#large(entry));
        this.#run.fileDone(path);
      } catch (error) {
        if (await parent.done || !(error instanceof ServerError)) throw error;
      }
    });
  }

  async #small({ from, to, path, info }: Entry): Promise<void> {
    const bytes = this.#fs.readFileSync(from);
    const mode = info.mode & KEPT_MODE_BITS;
    const attributes = { mode, ...(this.#hasTimes ? { modifiedAtMs: wholeMs(info) } : {}) };
    const content = { dataBase64: encodeBase64(bytes), ...attributes };
    const { signal } = this.#run;
    if (this.#isAtomic) {
      const promise = { atomic: true, breakHardLinks: true, flush: this.#run.sync };
      await this.#session.call("fs/writeFile", { path: uriOf(to), ...content, ...promise }, { signal });
    } else {
      const { directory, name } = splitPath(to);
      const part = joinPath(directory, partName(name));
      await this.#session.call("fs/writeFile", { path: uriOf(part), ...content }, { signal });
      await this.#rename(part, to);
    }
    this.#run.moved(path, bytes.length);
  }

  /** In blocks, several at a time. Each is read when it is sent. */
  async #large({ from, to, path, info }: Entry): Promise<void> {
    const { directory, name } = splitPath(to);
    const part = joinPath(directory, partName(name));
    const { signal } = this.#run;
    const session = this.#session;
    const handle = new FileHandle({
      session,
      path: uriOf(part),
      mode: "replace",
      sandbox: undefined,
      followSymlinks: undefined,
      signal,
    });
    const fd = this.#fs.openSync(from, "r");
    try {
      await handle.open();
      await allBlocks(async (offset) => {
        const block = new Uint8Array(COPY_BLOCK_BYTES);
        // Synchronous: Deno seeks before it reads, and another worker must not seek in between.
        const bytesRead = this.#fs.readSync(fd, block, 0, COPY_BLOCK_BYTES, offset);
        if (bytesRead === 0) return 0;
        await handle.write(offset, block.subarray(0, bytesRead));
        this.#run.moved(path, bytesRead);
        return bytesRead;
      });
      await handle.close();
      await session.call("fs/chmod", { path: uriOf(part), mode: info.mode & KEPT_MODE_BITS }, { signal });
      await this.#setTimes(part, info);
      await this.#rename(part, to);
    } catch (error) {
      await handle.close().catch(() => {});
      const params = { path: uriOf(part), recursive: false, force: true };
      if (session.ended === null) await session.call("fs/remove", params).catch(() => {});
      throw error;
    } finally {
      this.#fs.closeSync(fd);
    }
  }

  async #link({ from, to, parent }: Entry): Promise<void> {
    const target = this.#fs.readlinkSync(from);
    try {
      try {
        await this.#session.call("fs/symlink", { path: uriOf(to), target }, { signal: this.#run.signal });
      } catch (error) {
        if (!(error instanceof ServerError) && !(error instanceof ConnectionLostError)) throw error;
        // Something is there already, or the answer was lost: a second link takes its place.
        const { directory, name } = splitPath(to);
        const part = joinPath(directory, partName(name));
        await this.#session.call("fs/symlink", { path: uriOf(part), target }, {
          signal: this.#run.signal,
          // The name is new: if it exists, the first attempt has succeeded.
          repeatable: true,
          resultOfRepeated: () => ({}),
        });
        await this.#rename(part, to).catch(async (failure) => {
          await this.#session.call("fs/remove", { path: uriOf(part), recursive: false, force: true }).catch(() => {});
          throw failure;
        });
      }
      this.#run.linkDone();
    } catch (error) {
      if (await parent.done || !(error instanceof ServerError)) throw error;
    }
  }

  async #setTimes(path: string, info: NodeFs.Stats): Promise<void> {
    if (!this.#hasTimes) return;
    const params = { path: uriOf(path), modifiedAtMs: wholeMs(info) };
    await this.#session.call("fs/setTimes", params, { signal: this.#run.signal, repeatable: true });
  }

  /** A rename whose outcome is not known is repeated: if the source is gone, the first one succeeded. */
  async #rename(part: string, to: string): Promise<void> {
    const flush = this.#run.sync && this.#session.has("fsFlush") ? { flush: true } : {};
    await this.#session.call("fs/rename", {
      sourcePath: uriOf(part),
      destinationPath: uriOf(to),
      overwrite: true,
      ...flush,
    }, { repeatable: true, resultOfRepeated: (error) => error.isNotFound ? {} : undefined });
  }

  /** The deepest first: setting the time of a directory changes the time of the one above it. */
  async finishDirectories(): Promise<void> {
    for (const { to, path, info } of this.#directories.reverse()) {
      await this.#run.start(path, 0, async () => {
        const mode = info.mode & KEPT_MODE_BITS;
        const changed = this.#session.call("fs/chmod", { path: uriOf(to), mode }, { signal: this.#run.signal });
        await Promise.all([changed, this.#setTimes(to, info)]).catch((error) => {
          if (!(error instanceof ServerError && error.isNotFound)) throw error;
        });
      });
    }
    await this.#run.finish();
  }
}

function wholeMs({ mtimeMs }: NodeFs.Stats): number {
  return Math.max(0, Math.floor(mtimeMs));
}
