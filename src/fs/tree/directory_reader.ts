/** The names in an open directory, and what the directory itself knows about each. */

import type { ByteString } from "../../os/files/byte_string.ts";
import { byteStringOf } from "../../os/files/byte_string.ts";
import { looksLikePlaceholder } from "../../launch/policy/placeholders.ts";
import { PROTECTED_NAMES } from "../../launch/policy/policy_resolve.ts";
import {
  AT_SYMLINK_NOFOLLOW,
  closeFd,
  O_DIRECTORY,
  O_NOFOLLOW,
  O_RDONLY,
  openAt,
  readRecords,
} from "../../os/files/file_calls.ts";
import { S_IFDIR, statAt } from "../../os/files/file_stat.ts";
import { allocate } from "../../os/libc.ts";
import { lastByteName } from "../byte_path.ts";
import { RECORDS_BYTES } from "../limits.ts";
import { must } from "../map_error.ts";
import type { Slice } from "../../os/loop/pacer.ts";

/** `unknown`: the filesystem does not say, ask for the file's metadata. */
export type RecordType = "file" | "directory" | "link" | "special" | "unknown";

export interface DirectoryRecord {
  readonly name: ByteString;
  readonly type: RecordType;
}

// struct linux_dirent64: inode (8), position (8), record length (2), type (1), name with NUL.
const LENGTH_OFFSET = 16;
const TYPE_OFFSET = 18;
const NAME_OFFSET = 19;

const DT_UNKNOWN = 0;
const DT_DIR = 4;
const DT_REG = 8;
const DT_LNK = 10;

/** One buffer for all: it is filled and parsed without a pause in between. */
let records: Uint8Array<ArrayBuffer> | undefined;
let lengths: DataView<ArrayBuffer> | undefined;

/**
 * For ASCII names this gives the right text. Other names are put together byte by byte. It is fast because one call
 * decodes many names.
 */
const asciiDecoder = new TextDecoder("windows-1252");
const BEYOND_ASCII = /[\u0080-\uffff]/;

/** The next records of an open directory, without `.` and `..`; null at the end. May be empty before that. */
export function nextRecords(fd: number): DirectoryRecord[] | null {
  records ??= allocate(RECORDS_BYTES);
  lengths ??= new DataView(records.buffer);
  const end = must(readRecords(fd, records));
  if (end === 0) return null;
  const text = asciiDecoder.decode(records.subarray(0, end));
  const found: DirectoryRecord[] = [];
  for (let at = 0; at < end; at += lengths.getUint16(at + LENGTH_OFFSET, true)) {
    const nameAt = at + NAME_OFFSET;
    const nameEnd = records.indexOf(0, nameAt);
    let name = text.slice(nameAt, nameEnd);
    if (name === "." || name === "..") continue;
    if (BEYOND_ASCII.test(name)) name = byteStringOf(records.subarray(nameAt, nameEnd));
    found.push({ name: name as ByteString, type: recordType(records[at + TYPE_OFFSET]!) });
  }
  return found;
}

/**
 * All records of an open directory, in its own order, stopping early beyond `maxRecords`. Placeholders are left out:
 * they stand for nothing, and must not be reported or copied.
 */
export async function allRecords(fd: number, slice: Slice, maxRecords = Infinity): Promise<DirectoryRecord[]> {
  const all: DirectoryRecord[] = [];
  for (let some = nextRecords(fd); some !== null; some = nextRecords(fd)) {
    for (const record of some) if (!isListedPlaceholder(fd, record)) all.push(record);
    if (all.length > maxRecords) break;
    if (slice.isOver) await slice.rest();
  }
  return all;
}

function isListedPlaceholder(fd: number, { name, type }: DirectoryRecord): boolean {
  return (type === "directory" || type === "unknown") && isPlaceholder(fd, name);
}

/**
 * Whether a directory is a placeholder that only keeps a name free while a sandbox runs
 * (`launch/policy/placeholders.ts`). To clients it does not exist. Only protected names need a look at the disk.
 */
export function isPlaceholder(directory: number, path: ByteString): boolean {
  if (!PROTECTED_NAMES.includes(lastByteName(path))) return false;
  const stat = statAt(directory, path, AT_SYMLINK_NOFOLLOW);
  if (typeof stat === "number" || stat.type !== S_IFDIR) return false;
  return looksLikePlaceholder({ mode: stat.mode, isSymlink: false }) && isEmptyDirectory(directory, path);
}

function isEmptyDirectory(parent: number, name: ByteString): boolean {
  const fd = openAt(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (fd < 0) return false;
  try {
    for (let some = nextRecords(fd); some !== null; some = nextRecords(fd)) if (some.length > 0) return false;
    return true;
  } finally {
    closeFd(fd);
  }
}

function recordType(type: number): RecordType {
  switch (type) {
    case DT_REG:
      return "file";
    case DT_DIR:
      return "directory";
    case DT_LNK:
      return "link";
    case DT_UNKNOWN:
      return "unknown";
    default:
      return "special";
  }
}
