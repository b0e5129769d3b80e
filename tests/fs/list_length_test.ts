import assert from "node:assert/strict";
import { LIST_ITEM_BYTES, MAX_LIST_BYTES } from "../../src/fs/limits.ts";
import { ListLength } from "../../src/fs/list.ts";
import type { FsListEntry } from "../../src/protocol/fs.ts";

function link(target: string): FsListEntry {
  return { fileName: "a", kind: "symlink", size: 1, mode: 0o777, modifiedAtMs: 0, uid: 0, gid: 0, nlink: 1, target };
}

/** How many of these entries one list may have. */
function fitting(entry: FsListEntry): number {
  const length = new ListLength();
  for (let count = 0;; count++) {
    try {
      length.add(entry);
    } catch (error) {
      assert.match(String(error), /more than 33554432 bytes/);
      return count;
    }
  }
}

Deno.test("a list may have so many entries as its bytes allow, with what each takes besides its texts", () => {
  assert.equal(fitting(link("t".repeat(4000))), Math.floor(MAX_LIST_BYTES / (LIST_ITEM_BYTES + 1 + 4000)));
});

Deno.test("a character that is escaped counts as its escape", () => {
  assert.equal(fitting(link("ä".repeat(4000))), Math.floor(MAX_LIST_BYTES / (LIST_ITEM_BYTES + 1 + 6 * 4000)));
  assert.equal(fitting(link('"'.repeat(4000))), Math.floor(MAX_LIST_BYTES / (LIST_ITEM_BYTES + 1 + 6 * 4000)));
});

Deno.test("50,000 entries of the longest names fit", () => {
  const { target: _, ...file } = link("");
  assert.ok(fitting({ ...file, kind: "file", fileName: "n".repeat(255) }) >= 50_000);
});
