/** Files in memory and out of it. */

import assert from "node:assert/strict";
import { closeFd } from "../../src/os/files/file_calls.ts";
import { openRegular } from "../../src/fs/content.ts";
import { toByteString } from "../../src/os/files/byte_string.ts";
import { ReadTarget } from "../../src/os/files/file_content.ts";
import { allocate } from "../../src/os/libc.ts";

/** Writes a file to the device and out of memory, where the filesystem can do that. */
export async function dropFromMemory(path: string): Promise<void> {
  const args = [`of=${path}`, "oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none"];
  const { success } = await new Deno.Command("dd", { args }).output();
  assert.ok(success, "dd");
}

/** Whether the middle of a file is in memory, where the filesystem tells. The kernel starts reading it if it is not. */
export function isInMemory(path: string): boolean {
  const { fd, stat } = openRegular(toByteString(path), { followSymlinks: true });
  const target = new ReadTarget(allocate(1));
  const count = target.readNow(fd, target.bytes, stat.size >> 1);
  closeFd(fd);
  return count === 1;
}

/** Whether the filesystem of temporary files tells what is in memory. Some, such as tmpfs, do not. */
export function tellsWhatIsInMemory(): boolean {
  const path = Deno.makeTempFileSync({ prefix: "exec-server-test-" });
  try {
    Deno.writeTextFileSync(path, "just written, so it is");
    return isInMemory(path);
  } finally {
    Deno.removeSync(path);
  }
}
