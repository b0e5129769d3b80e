import assert from "node:assert/strict";
import { MountEntry, OwnMountTable, readMountTable } from "../../../src/os/files/mount_table.ts";

const isLinux = Deno.build.os === "linux";

Deno.test("MountEntry takes a line of the table apart, with and without optional fields", () => {
  const line = "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 propagate_from:2 - ext3 /dev/root rw,errors=continue";
  const { id, parentId, device, root, point, isReadOnly, type, key } = new MountEntry(line);
  assert.deepEqual([id, parentId, device, root, point, isReadOnly, type], [
    36,
    35,
    "98:0",
    "/mnt1",
    "/mnt2",
    false,
    "ext3",
  ]);
  assert.equal(key, "98:0 /mnt1 /mnt2");
  const bare = new MountEntry("1 0 0:5 / / ro - tmpfs tmpfs rw");
  assert.deepEqual([bare.isReadOnly, bare.type, bare.point], [true, "tmpfs", "/"]);
});

Deno.test("MountEntry reads names with spaces, line ends and backslashes", () => {
  const { root, point } = new MountEntry("1 0 0:5 /a\\040b /c\\012d\\134040 ro,relatime - tmpfs - rw");
  assert.deepEqual([root, point], ["/a b", "/c\nd\\040"]);
});

Deno.test("MountEntry does not take anything else for a line of the table", () => {
  for (const line of ["", "1", "1 0 0:5 /", "not a line"]) assert.throws(() => new MountEntry(line), /not a line/);
});

Deno.test({
  name: "readMountTable() has the mounts of a process, and nothing of one that does not exist",
  ignore: !isLinux,
  fn() {
    const table = readMountTable(Deno.pid)!;
    assert.ok(table.some(({ point, type }) => point === "/proc" && type === "proc"));
    assert.equal(new Set(table.map(({ id }) => id)).size, table.length);
    assert.equal(readMountTable(2 ** 22 + 1), null);
  },
});

Deno.test({
  name: "OwnMountTable reads again only when something has changed",
  ignore: !isLinux,
  fn() {
    const table = new OwnMountTable();
    const { entries } = table;
    assert.deepEqual(entries?.map(({ key }) => key), readMountTable(Deno.pid)?.map(({ key }) => key));
    assert.equal(table.entries, entries);
  },
});
