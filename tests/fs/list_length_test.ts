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

Deno.test("a list may have as many entries as its bytes allow, counting what each takes besides its texts", () => {
  assert.equal(fitting(link("t".repeat(4000))), Math.floor(MAX_LIST_BYTES / (LIST_ITEM_BYTES + 1 + 4000)));
});

Deno.test("characters count as they are written: in UTF-8, or as their escape", () => {
  const written = [["ä", 2], ["漢", 3], ["\u{1f600}", 4], ['"', 2], ["\\", 2], ["\n", 2], ["\x01", 6]] as const;
  for (const [character, bytes] of written) {
    const entry = link(`tttt${character}`.repeat(800));
    const { length } = new TextEncoder().encode(JSON.stringify(entry.target).slice(1, -1));
    assert.equal(length, 800 * (4 + bytes), JSON.stringify(character));
    // Escapes of control characters are taken for the longest ones.
    const counted = character < " " ? 800 * (4 + 6) : length;
    assert.equal(
      fitting(entry),
      Math.floor(MAX_LIST_BYTES / (LIST_ITEM_BYTES + 1 + counted)),
      JSON.stringify(character),
    );
  }
});

Deno.test("50,000 entries of the longest names fit", () => {
  const { target: _, ...file } = link("");
  assert.ok(fitting({ ...file, kind: "file", fileName: "n".repeat(255) }) >= 50_000);
});
