/** Files in memory and out of it. */

import assert from "node:assert/strict";
import { openRegular } from "../../src/fs/content.ts";
import { isInMemory } from "../../src/fs/file_source.ts";
import { toByteString } from "../../src/os/byte_string.ts";
import { closeFd } from "../../src/os/file_calls.ts";

/** Writes a file to the device and out of memory, where the filesystem can do that. */
export async function dropFromMemory(path: string): Promise<void> {
  const args = [`of=${path}`, "oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none"];
  const { success } = await new Deno.Command("dd", { args }).output();
  assert.ok(success, "dd");
}

/** Whether the filesystem of temporary files tells what is in memory. Some, such as tmpfs, do not. */
export function tellsWhatIsInMemory(): boolean {
  const path = Deno.makeTempFileSync({ prefix: "exec-server-test-" });
  try {
    Deno.writeTextFileSync(path, "just written, so it is");
    const { fd } = openRegular(toByteString(path), { followSymlinks: true });
    const tells = isInMemory({ fd, offset: 0, length: 1 });
    closeFd(fd);
    return tells;
  } finally {
    Deno.removeSync(path);
  }
}
