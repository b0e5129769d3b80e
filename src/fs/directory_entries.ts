/** The names in a directory, each described by the method that asks: for `fs/readDirectory` and `fs/list`. */

import { internalError } from "../errors.ts";
import { ENOENT } from "../os/errno.ts";
import { AT_FDCWD, closeFd, O_DIRECTORY, O_RDONLY, openAt } from "../os/files/file_calls.ts";
import type { NativePath } from "../path_uri.ts";
import { toBytePath } from "./byte_path.ts";
import type { IoContext } from "./io_context.ts";
import { MAX_DIRECTORY_ENTRIES } from "./limits.ts";
import { must, OsError } from "./map_error.ts";
import { allRecords, type DirectoryRecord, isPlaceholder } from "./tree/directory_reader.ts";

export interface EntriesOptions<Entry> {
  /** Null leaves the name out. `directory` is the open directory it is in. */
  describe(directory: number, record: DirectoryRecord): Entry | null;
  readonly signal?: AbortSignal | undefined;
}

export async function directoryEntries<Entry>(
  io: IoContext,
  path: NativePath,
  { describe, signal }: EntriesOptions<Entry>,
): Promise<Entry[]> {
  const directory = toBytePath(path);
  if (isPlaceholder(AT_FDCWD, directory)) throw new OsError(ENOENT);
  const fd = must(openAt(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY));
  try {
    const slice = io.pacer.slice(signal);
    const records = await allRecords(fd, slice, MAX_DIRECTORY_ENTRIES);
    if (records.length > MAX_DIRECTORY_ENTRIES) {
      throw internalError(`directory has more than ${MAX_DIRECTORY_ENTRIES} entries`);
    }
    const entries: Entry[] = [];
    for (const record of records) {
      const entry = describe(fd, record);
      if (entry !== null) entries.push(entry);
      if (slice.isOverAtLast) await slice.rest();
    }
    return entries;
  } finally {
    closeFd(fd);
  }
}
