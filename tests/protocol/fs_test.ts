import assert from "node:assert/strict";
import type * as z from "zod/mini";
import { DomainError } from "../../src/errors.ts";
import { ForeignPathError, PathTooLongError } from "../../src/path_uri.ts";
import { decode } from "../../src/protocol/decode_params.ts";
import * as fs from "../../src/protocol/fs.ts";

function refuses(schema: z.ZodMiniType, value: unknown, pattern?: RegExp): void {
  const result = decode(schema, value);
  assert(!result.success, `${JSON.stringify(value)} was taken`);
  const found = result.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("\n");
  if (pattern !== undefined) assert.match(found, pattern);
}

const WALK_OPTIONS = { maxDepth: 1, maxDirectories: 2, maxEntries: 3, followDirectorySymlinks: false };
const DIGEST = `sha256:${"0a".repeat(32)}`;

Deno.test("the shortest request of every method comes out with all defaults", () => {
  const path = "file:///a%20b";
  const cases: [z.ZodMiniType, unknown, unknown][] = [
    [fs.FsReadFileParams, { path }, { path: "/a b", followSymlinks: true, offset: 0, length: null }],
    [fs.FsWriteFileParams, { path, dataBase64: "AQI=" }, {
      path: "/a b",
      data: new Uint8Array([1, 2]),
      followSymlinks: true,
      atomic: false,
      breakHardLinks: false,
      ifMatch: null,
      mode: null,
      flush: true,
      modifiedAtMs: null,
    }],
    [fs.FsGetMetadataParams, { path }, { path: "/a b", followSymlinks: true, fields: [] }],
    [fs.FsCanonicalizeParams, { path }, { path: "/a b" }],
    [fs.FsCreateDirectoryParams, { path }, { path: "/a b", recursive: true, followSymlinks: true }],
    [fs.FsReadDirectoryParams, { path }, { path: "/a b" }],
    [fs.FsWalkParams, { path, options: WALK_OPTIONS }, {
      path: "/a b",
      options: { ...WALK_OPTIONS, pruneHiddenDirectories: false },
    }],
    [fs.FsRemoveParams, { path }, { path: "/a b", recursive: true, force: true, followSymlinks: true }],
    [fs.FsCopyParams, { sourcePath: path, destinationPath: "/c", recursive: false }, {
      sourcePath: "/a b",
      destinationPath: "/c",
      recursive: false,
    }],
    [fs.FsRenameParams, { sourcePath: path, destinationPath: "/c" }, {
      sourcePath: "/a b",
      destinationPath: "/c",
      overwrite: false,
      flush: false,
    }],
    [fs.FsListParams, { path }, { path: "/a b" }],
    [fs.FsSetTimesParams, { path, modifiedAtMs: 7 }, { path: "/a b", modifiedAtMs: 7, followSymlinks: true }],
    [fs.FsChmodParams, { path, mode: 0o644 }, { path: "/a b", mode: 0o644, followSymlinks: true }],
    [fs.FsSymlinkParams, { path, target: "../x" }, { path: "/a b", target: "../x" }],
    [fs.FsOpenParams, { handleId: "h", path }, { handleId: "h", path: "/a b", mode: "read", followSymlinks: true }],
    [fs.FsReadBlockParams, { handleId: "h", offset: 1, len: 2 }, { handleId: "h", offset: 1, len: 2 }],
    [fs.FsWriteBlockParams, { handleId: "h", offset: 1, chunk: "AQ==" }, {
      handleId: "h",
      offset: 1,
      chunk: new Uint8Array([1]),
    }],
    [fs.FsCloseParams, { handleId: "h" }, { handleId: "h" }],
    [fs.FsWatchMissingParams, { watchId: 1, missing: [path, "/b"] }, { watchId: 1, missing: ["/a b", "/b"] }],
    [fs.FsWatchParams, { watchId: 1, path }, { watchId: 1, path: "/a b", recursive: false, debounceMs: null }],
    [fs.FsUnwatchParams, { watchId: 1 }, { watchId: 1 }],
  ];
  for (const [schema, input, expected] of cases) assert.deepEqual(schema.parse(input), expected);
});

Deno.test("null stands for the default where the reference lets it, and nowhere else", () => {
  const path = "/a";
  assert.equal(fs.FsReadFileParams.parse({ path, followSymlinks: null }).followSymlinks, true);
  assert.equal(fs.FsCreateDirectoryParams.parse({ path, recursive: null }).recursive, true);
  assert.equal(fs.FsRemoveParams.parse({ path, recursive: null, force: null }).force, true);
  assert.equal(fs.FsRemoveParams.parse({ path, sandbox: null }).sandbox, null);
  refuses(fs.FsOpenParams, { handleId: "h", path, mode: null });
  refuses(fs.FsCopyParams, { sourcePath: path, destinationPath: path, recursive: null });
  refuses(fs.FsCopyParams, { sourcePath: path, destinationPath: path }, /recursive/);
  refuses(fs.FsWalkParams, { path, options: { ...WALK_OPTIONS, followDirectorySymlinks: null } });
});

Deno.test("bytes that are not UTF-8 stay bytes", () => {
  const { path } = fs.FsReadFileParams.parse({ path: "file:///caf%E9" });
  assert.deepEqual(path, new Uint8Array([47, 99, 97, 102, 0xe9]));
});

Deno.test("what is not a path is an invalid parameter, and a path of another host an invalid request", () => {
  for (const path of ["relative", "", "http://x/y", "file:///a?b", "file:///a#b", "file:///a%00", "/a\0b", 1, null]) {
    refuses(fs.FsReadFileParams, { path });
  }
  for (const path of ["file://host/x", "file:///C:/x"]) {
    assert.throws(() => fs.FsReadFileParams.safeParse({ path }), ForeignPathError);
    const copy = { sourcePath: "/a", destinationPath: path, recursive: true };
    assert.throws(() => fs.FsCopyParams.safeParse(copy), ForeignPathError);
  }
});

Deno.test("paths of other hosts are just not watched by fs/watchMissing", () => {
  const parsed = fs.FsWatchMissingParams.parse({ watchId: 1, missing: ["file://host/x", "/a"], present: null });
  assert.deepEqual(parsed, { watchId: 1, missing: [fs.ELSEWHERE, "/a"], present: null });
  const present = fs.FsWatchMissingParams.parse({ watchId: 1, missing: ["/a"], present: "file://host/x" });
  assert.deepEqual(present, { watchId: 1, missing: ["/a"], present: fs.ELSEWHERE });
  refuses(fs.FsWatchMissingParams, { watchId: 1, missing: ["relative"] });
  refuses(fs.FsWatchMissingParams, { watchId: -1, missing: [] });
  refuses(fs.FsWatchMissingParams, { watchId: "1", missing: [] });
  refuses(fs.FsWatchMissingParams, { watchId: 1 }, /missing/);
});

Deno.test("bad base64 is an invalid request in fs/writeFile alone, and only when all else is right", () => {
  for (const dataBase64 of ["a", "YQ", "Y Q=", "YQ==\n", "a-b_"]) {
    assert.throws(
      () => fs.FsWriteFileParams.safeParse({ path: "/a", dataBase64 }),
      (error) => error instanceof DomainError && error.kind === "invalidRequest" && /valid base64/.test(error.message),
    );
    refuses(fs.FsWriteFileParams, { dataBase64 }, /path/);
    refuses(fs.FsWriteBlockParams, { handleId: "h", offset: 0, chunk: dataBase64 }, /base64/);
  }
  refuses(fs.FsWriteFileParams, { path: "/a" }, /dataBase64/);
});

Deno.test("fs/writeFile takes its options and refuses malformed ones", () => {
  const write = { path: "/a", dataBase64: "" };
  const full = { ...write, atomic: true, breakHardLinks: true, ifMatch: DIGEST, mode: 0o4755, followSymlinks: false };
  const parsed = fs.FsWriteFileParams.parse(full);
  assert.deepEqual([parsed.atomic, parsed.breakHardLinks, parsed.ifMatch, parsed.mode, parsed.followSymlinks], [
    true,
    true,
    DIGEST,
    0o4755,
    false,
  ]);
  assert.equal(fs.FsWriteFileParams.parse({ ...write, ifMatch: "absent" }).ifMatch, "absent");
  for (const ifMatch of ["", "sha256:", DIGEST.toUpperCase(), DIGEST.slice(7), `md5:${"0".repeat(32)}`, 1]) {
    refuses(fs.FsWriteFileParams, { ...write, ifMatch });
  }
  for (const mode of [-1, 0o10000, 1.5, "644"]) refuses(fs.FsWriteFileParams, { ...write, mode });
});

Deno.test("fs/getMetadata keeps the fields it knows, each once, and ignores others", () => {
  const fields = ["digest", "future", "mode", "mode"];
  assert.deepEqual(fs.FsGetMetadataParams.parse({ path: "/a", fields }).fields, ["mode", "digest"]);
  refuses(fs.FsGetMetadataParams, { path: "/a", fields: "mode" });
});

Deno.test("fs/symlink takes its target literally, unless it is a URI", () => {
  const target = (text: string) => fs.FsSymlinkParams.parse({ path: "/l", target: text }).target;
  assert.equal(target("../a/./b//c"), "../a/./b//c");
  assert.equal(target("/abs/../x"), "/abs/../x");
  assert.equal(target("file:///abs/../x%20y"), "/x y");
  refuses(fs.FsSymlinkParams, { path: "/l", target: "" });
  refuses(fs.FsSymlinkParams, { path: "/l", target: "a\0b" });
  refuses(fs.FsSymlinkParams, { path: "/l" }, /target/);
});

Deno.test("ids of watches are numbers that can be told exactly", () => {
  const { watchId } = fs.FsUnwatchParams.parse({ watchId: Number.MAX_SAFE_INTEGER });
  assert.equal(watchId, Number.MAX_SAFE_INTEGER);
  for (const bad of [-1, 1.5, "1", null, 2 ** 53, 2 ** 64]) {
    refuses(fs.FsWatchMissingParams, { watchId: bad, missing: [] });
    refuses(fs.FsWatchParams, { watchId: bad, path: "/a" });
    refuses(fs.FsUnwatchParams, { watchId: bad });
  }
});

Deno.test("numbers of blocks are whole and not negative", () => {
  for (const bad of [-1, 1.5, "1", null, 2 ** 65]) {
    refuses(fs.FsReadBlockParams, { handleId: "h", offset: bad, len: 1 });
    refuses(fs.FsReadBlockParams, { handleId: "h", offset: 0, len: bad });
  }
  assert.equal(fs.FsReadBlockParams.parse({ handleId: "h", offset: 2 ** 63, len: 0 }).offset, 2 ** 63);
  const largest = JSON.parse('{"handleId":"h","offset":18446744073709551615,"len":18446744073709551615}');
  assert.deepEqual(fs.FsReadBlockParams.parse(largest), { handleId: "h", offset: 2 ** 64, len: 2 ** 64 });
});

Deno.test("a path or target that is too long gives the kernel's error, and is not watched", () => {
  const long = "a/".repeat(20_000);
  for (const path of [`/${long}`, `file:///${long}`]) {
    assert.throws(() => fs.FsReadFileParams.safeParse({ path }), PathTooLongError);
    assert.deepEqual(fs.FsWatchMissingParams.safeParse({ watchId: 1, missing: [path] }).data?.missing, [fs.ELSEWHERE]);
  }
  for (const target of [long, `file:///${long}`]) {
    assert.throws(() => fs.FsSymlinkParams.safeParse({ path: "/l", target }), PathTooLongError);
  }
});
