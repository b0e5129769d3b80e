import assert from "node:assert/strict";
import { toByteString } from "../../../src/os/files/byte_string.ts";
import { ENOENT, ENOTDIR } from "../../../src/os/errno.ts";
import { AT_FDCWD, closeFd, O_RDONLY, openAt, readLinkAt, realPath } from "../../../src/os/files/file_calls.ts";
import { readAt, readAtOnPool, writeAtOnPool } from "../../../src/os/files/file_content.ts";
import { statAt } from "../../../src/os/files/file_stat.ts";
import { settle } from "../../../src/os/files/file_symbols.ts";
import { allocate } from "../../../src/os/libc.ts";
import { inScratchDirectory } from "../../support/scratch_directory.ts";

const EBADF = 9;

Deno.test("a failed call gives the right error number every time, whatever the runtime does in between", () => {
  const missing = toByteString("/nowhere/at/all");
  const through = toByteString("/proc/self/status/x");
  // Garbage, so that the collector runs among the calls; its own system calls set the same errno.
  let garbage: unknown[] = [];
  for (let round = 0; round < 100_000; round++) {
    garbage.push({ round, text: `${round}` });
    if (garbage.length > 5_000) garbage = [];
    const [path, expected] = round % 2 === 0 ? [missing, ENOENT] : [through, ENOTDIR];
    assert.equal(statAt(AT_FDCWD, path), -expected);
  }
});

Deno.test("settle takes a call that succeeds when it is repeated as a success", () => {
  let attempts = 0;
  assert.equal(settle(() => (++attempts === 1 ? openAt(AT_FDCWD, toByteString("/nowhere"), O_RDONLY) : 7)), 7);
  assert.equal(attempts, 2);
});

Deno.test("calls on other threads report failure, and the same call here reports why", async () => {
  const bytes = allocate(8);
  assert.equal(await readAtOnPool(-1, bytes, 0), -1);
  assert.equal(await writeAtOnPool(-1, bytes, 0), -1);
  assert.equal(readAt(-1, bytes, 0), -EBADF);
});

Deno.test("links and paths of any bytes are read as they are", () =>
  inScratchDirectory(async (directory) => {
    await Deno.symlink("../ümläut", `${directory}/link`);
    assert.equal(readLinkAt(AT_FDCWD, toByteString(`${directory}/link`)), toByteString("../ümläut"));
    await Deno.mkdir(`${directory}/ümläut`);
    assert.equal(realPath(toByteString(`${directory}/ümläut`)), toByteString(`${directory}/ümläut`));
    assert.equal(realPath(toByteString(`${directory}/missing`)), -ENOENT);
  }));

Deno.test("closing what is not open says so", () => {
  assert.equal(closeFd(-1), -EBADF);
});
