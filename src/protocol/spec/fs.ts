/**
 * Texts and examples: files.
 *
 * More than 300 lines: one list.
 */

import { CONFINED, FOLLOW } from "./shared_texts.ts";
import type { MethodTexts, NotificationTexts } from "./text_types.ts";

const FILE = "The file.";
const HANDLE = "The id given to `fs/open`.";
const OFFSET = "Where to begin, in bytes from the start of the file.";

export const FS_TEXTS: MethodTexts<
  | "fs/createDirectory"
  | "fs/watch"
  | "fs/watchMissing"
  | "fs/writeFile"
  | "fs/readFile"
  | "fs/getMetadata"
  | "fs/canonicalize"
  | "fs/readDirectory"
  | "fs/list"
  | "fs/walk"
  | "fs/copy"
  | "fs/rename"
  | "fs/chmod"
  | "fs/setTimes"
  | "fs/symlink"
  | "fs/remove"
  | "fs/open"
  | "fs/readBlock"
  | "fs/writeBlock"
  | "fs/close"
  | "fs/unwatch"
> = {
  "fs/createDirectory": {
    params: {
      path: "The directory to make.",
      recursive: "True (default): make what is missing above it, too, and take one that exists for a success.",
      followSymlinks: FOLLOW,
      ...CONFINED,
    },
    result: {},
    example: { params: { path: "/tmp/demo/src" }, result: {} },
  },
  "fs/watch": {
    params: {
      watchId: "Chosen by the client, unique among the connection's watches.",
      path: "What to watch. It has to exist.",
      recursive: "True: directories below it, too.",
      debounceMs: "How long changes are gathered before they are told: 50 unless given, at most 10000.",
      ...CONFINED,
    },
    result: {},
    notes: [
      "Watches belong to the connection: who reconnects watches again, and looks again. A directory that is moved or " +
      "removed is told as `removed`, and that is the last its watch tells. Changes that were missed are told as " +
      "`overflow`, never passed over.",
    ],
    example: { params: { watchId: 1, path: "/tmp/demo/src" }, result: {} },
  },
  "fs/watchMissing": {
    params: {
      watchId: "Chosen by the client; numbered apart from `fs/watch`.",
      missing: "Paths that do not exist, at most 64.",
      present: "A path that does.",
    },
    result: {
      watching: "False: a path exists already, there is nothing to watch, the id is in use (which also ends that " +
        "watch), or a path cannot be watched. Look for yourself then.",
    },
    example: { params: { watchId: 1, missing: ["/tmp/demo/src/a.txt"] }, result: { watching: true } },
  },
  "fs/writeFile": {
    params: {
      path: FILE,
      dataBase64: "The whole content, in base64. Anything else is -32600 here.",
      followSymlinks: FOLLOW,
      atomic: "True: readers see the old content or the new, never a part, and the new one is on the device when the " +
        "answer comes. Refused where that would lose attributes or break a hard link.",
      breakHardLinks: "True lets an atomic write give the path a file of its own when the old one has other names.",
      ifMatch:
        "Write only if the content still has this digest, or, with `absent`, if there is no file. Else -32600, " +
        "and nothing is changed.",
      mode: "The mode the file has afterwards. Null: a file that exists keeps its own.",
      flush:
        "False: an atomic write does not wait for the device. A crash of the machine may then lose the new content.",
      modifiedAtMs: "The time of modification the file has afterwards, in milliseconds since 1970. Null: now.",
      ...CONFINED,
    },
    result: {},
    notes: [
      "The file is created, or emptied and written in place. Its directory has to exist: without it the answer is -32004. Content that does not fit into one message (some 12 MB " +
      "where the client sends one frame) is written by `fs/open` with `replace` and `fs/writeBlock`.",
    ],
    example: { params: { path: "/tmp/demo/src/a.txt", dataBase64: "aGVsbG8K" }, result: {} },
  },
  "fs/readFile": {
    params: {
      path: FILE,
      followSymlinks: FOLLOW,
      offset: `${OFFSET} From the end on there is nothing, which is no error.`,
      length: "How many bytes at most. Null: to the end.",
      ...CONFINED,
    },
    result: { dataBase64: "The content, in base64." },
    notes: ["Regular files only, and at most 512 MiB at a time."],
    example: { params: { path: "/tmp/demo/src/a.txt" }, result: { dataBase64: "aGVsbG8K" } },
  },
  "fs/getMetadata": {
    params: {
      path: "A file, a directory, anything.",
      followSymlinks: FOLLOW,
      fields: "What to answer besides: `mode`, `uid`, `gid`, `nlink`, `inode`, `digest`. Other names are ignored.",
      ...CONFINED,
    },
    result: {
      isDirectory: "It is a directory.",
      isFile: "It is a regular file.",
      isSymlink: "The path itself is a symbolic link. All other members describe what it leads to.",
      size: "In bytes.",
      createdAtMs: "Milliseconds since 1970; 0 when the filesystem does not know.",
      modifiedAtMs: "Milliseconds since 1970.",
      mode: "Permission, set-id and sticky bits. Only when asked for, as all that follow.",
      uid: "The owner's number.",
      gid: "The group's number.",
      nlink: "How many names it has.",
      inode: "As decimal text, since it may have 64 bits.",
      digest: "`sha256:` and 64 hex digits, for `ifMatch` of `fs/writeFile`. Null for what is not a regular file.",
    },
    example: {
      params: { path: "/tmp/demo/src/a.txt", fields: ["digest"] },
      result: {
        isDirectory: false,
        isFile: true,
        isSymlink: false,
        size: 6,
        createdAtMs: 1767225600000,
        modifiedAtMs: 1767225600000,
        digest: "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",
      },
      varies: ["createdAtMs", "modifiedAtMs"],
    },
  },
  "fs/canonicalize": {
    params: { path: "A path that exists.", ...CONFINED },
    result: { path: "URI of the same without links." },
    example: { params: { path: "file:///tmp/demo/./src" }, result: { path: "file:///tmp/demo/src" } },
  },
  "fs/readDirectory": {
    params: { path: "The directory.", ...CONFINED },
    result: { entries: "Its names, in no order. Links that lead nowhere are left out." },
    example: {
      params: { path: "/tmp/demo/src" },
      result: { entries: [{ fileName: "a.txt", isDirectory: false, isFile: true }] },
    },
  },
  "fs/list": {
    params: { path: "The directory.", ...CONFINED },
    result: { entries: "Its names, in no order, links that lead nowhere among them." },
    example: {
      params: { path: "/tmp/demo/src" },
      result: {
        entries: [{
          fileName: "a.txt",
          kind: "file",
          size: 6,
          mode: 420,
          modifiedAtMs: 1767225600000,
          uid: 1000,
          gid: 1000,
          nlink: 1,
        }],
      },
      varies: ["entries.0.mode", "entries.0.modifiedAtMs", "entries.0.uid", "entries.0.gid"],
    },
  },
  "fs/walk": {
    params: { path: "Where to begin.", options: "Its bounds.", ...CONFINED },
    result: {
      entries: "Level by level, names of a directory in the order of their bytes, a directory before what is in it. " +
        "The path itself is not listed.",
      errors: "`path` and `message` of directories that could not be read.",
      truncated: "A bound was reached: there is more.",
    },
    notes: ["A path that is a file, or a link that is not followed, has no entries. Links to files are left out."],
    example: {
      params: {
        path: "/tmp/demo",
        options: { maxDepth: 8, maxDirectories: 100, maxEntries: 1000, followDirectorySymlinks: false },
      },
      result: {
        entries: [
          { path: "file:///tmp/demo/src", kind: "directory" },
          { path: "file:///tmp/demo/src/a.txt", kind: "file" },
        ],
        errors: [],
        truncated: false,
      },
    },
  },
  "fs/copy": {
    params: {
      sourcePath: "What to copy. A link is copied as a link.",
      destinationPath: "Where to. A file there is overwritten, a directory is merged into.",
      recursive: "Has to be true for a directory.",
      ...CONFINED,
    },
    result: {},
    example: {
      params: { sourcePath: "/tmp/demo/src/a.txt", destinationPath: "/tmp/demo/b.txt", recursive: false },
      result: {},
    },
  },
  "fs/rename": {
    params: {
      sourcePath: "What to rename. A link is renamed itself.",
      destinationPath: "Its new name, on the same filesystem.",
      overwrite: "True: what is there may be replaced.",
      flush: "True: the file and its new name are on the device when the answer comes.",
      ...CONFINED,
    },
    result: {},
    example: { params: { sourcePath: "/tmp/demo/b.txt", destinationPath: "/tmp/demo/c.txt" }, result: {} },
  },
  "fs/chmod": {
    params: {
      path: "What to change.",
      mode: "Permission, set-id and sticky bits as a number: 420 is octal 0644.",
      followSymlinks: FOLLOW,
      ...CONFINED,
    },
    result: {},
    example: { params: { path: "/tmp/demo/c.txt", mode: 384 }, result: {} },
  },
  "fs/setTimes": {
    params: {
      path: "What to change.",
      modifiedAtMs: "The time of modification, in milliseconds since 1970.",
      followSymlinks: FOLLOW,
      ...CONFINED,
    },
    result: {},
    example: { params: { path: "/tmp/demo/c.txt", modifiedAtMs: 1767225600000 }, result: {} },
  },
  "fs/symlink": {
    params: {
      path: "The link to make.",
      target: "Where it leads. Taken as it is, relative or absolute, existing or not; only a `file:` URI becomes the " +
        "path it means.",
      ...CONFINED,
    },
    result: {},
    example: { params: { path: "/tmp/demo/link", target: "c.txt" }, result: {} },
  },
  "fs/remove": {
    params: {
      path: "What to remove. A link is removed, not what it leads to.",
      recursive: "True (default): a directory with all that is in it.",
      force: "True (default): a path that does not exist is no error.",
      followSymlinks: `${FOLLOW} Not together with \`recursive\`.`,
      ...CONFINED,
    },
    result: {},
    example: { params: { path: "/tmp/demo/link" }, result: {} },
  },
  "fs/open": {
    params: {
      handleId: "Chosen by the client, at most 32 bytes, unique among the connection's open handles.",
      path: FILE,
      mode:
        "`read`: to be read. `replace`: created or emptied at once, to be written block by block. `update`: written into as it " +
        "is, with nothing emptied, to go on after a lost connection.",
      followSymlinks: FOLLOW,
      ...CONFINED,
    },
    result: { handleId: "As asked." },
    notes: ["Handles belong to the connection: at most 128, and they end with it."],
    example: { params: { handleId: "h1", path: "/tmp/demo/src/a.txt" }, result: { handleId: "h1" } },
  },
  "fs/readBlock": {
    params: { handleId: HANDLE, offset: OFFSET, len: "How many bytes: 1 to 1048576." },
    result: {
      chunk: "The bytes, in base64.",
      eof: "Fewer bytes came than were asked for. An exact last block has false; the next one is empty.",
    },
    example: {
      params: { handleId: "h1", offset: 0, len: 65536 },
      result: { chunk: "aGVsbG8K", eof: true },
    },
  },
  "fs/writeBlock": {
    params: { handleId: HANDLE, offset: OFFSET, chunk: "The bytes, in base64: 1 to 1048576 of them." },
    result: {},
    notes: ["Blocks may be written anywhere; a gap is zeros. What is written can be seen at once."],
    example: {
      before: [{ method: "fs/open", params: { handleId: "h2", path: "/tmp/demo/d.bin", mode: "replace" } }],
      params: { handleId: "h2", offset: 0, chunk: "aGVsbG8K" },
      result: {},
    },
  },
  "fs/close": {
    params: { handleId: HANDLE },
    result: {},
    example: { params: { handleId: "h1" }, result: {} },
  },
  "fs/unwatch": {
    params: { watchId: "The id given to `fs/watch`." },
    result: {},
    example: { params: { watchId: 1 }, result: {} },
  },
};

export const FS_NOTIFICATION_TEXTS: NotificationTexts<"fs/missingChanged" | "fs/changed"> = {
  "fs/missingChanged": {
    params: { watchId: "The id given to `fs/watchMissing`." },
    notes: ["Once: the watch has ended."],
    example: { params: { watchId: 1 } },
  },
  "fs/changed": {
    params: { watchId: "The id given to `fs/watch`.", changes: "One for each path." },
    example: { params: { watchId: 1, changes: [{ path: "file:///tmp/demo/src/a.txt", kind: "created" }] } },
  },
};
