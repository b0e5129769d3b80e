import assert from "node:assert/strict";
import type { PlannedMount } from "../../../src/launch/launch_plan.ts";
import { findStrayMount, HostMounts } from "../../../src/launch/backends/stray_mounts.ts";
import { MountEntry } from "../../../src/os/files/mount_table.ts";

/** Lines as the kernel writes them, but for what nobody asks for. */
function table(lines: string): MountEntry[] {
  const written = lines.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  return written.map((line) => new MountEntry(`${line} x rw`));
}

const HOST = new HostMounts(table(`
  1 0 8:1 / / rw - ext4
  2 1 0:5 / /dev rw - devtmpfs
  3 2 0:6 / /dev/shm rw - tmpfs
  4 3 0:7 / /dev/shm rw - tmpfs
  5 1 0:8 / /proc rw - proc
  6 1 8:2 / /data rw - ext4
  7 6 8:3 /sub /data/more rw - ext4
`));

/** Copies of all that the host has, and what bubblewrap makes itself. */
const USUAL = `
  11 0 8:1 / / ro,nosuid - ext4
  12 11 0:5 / /dev ro - devtmpfs
  13 12 0:6 / /dev/shm rw - tmpfs
  14 13 0:7 / /dev/shm ro - tmpfs
  15 11 0:8 / /proc ro - proc
  16 11 8:2 / /data ro - ext4
  17 16 8:3 /sub /data/more ro - ext4
  21 12 0:41 / /dev rw - tmpfs
  22 21 0:5 /null /dev/null rw - devtmpfs
  23 21 0:42 / /dev/pts rw - devpts
  24 21 0:42 /3 /dev/console rw - devpts
  25 15 0:43 / /proc rw - proc
  26 25 0:43 /bus /proc/bus ro - proc
  27 25 0:8 /sys /proc/sys ro - proc
`;

/** The lower one on `/dev/shm`, which bubblewrap does not see either, and what its own `/dev` and `/proc` lie on. */
const COVERED = [12, 13, 15];

const mount = (path: string, isWritable = false, shows: PlannedMount["shows"] = "itself"): PlannedMount => ({
  path,
  shows,
  isWritable,
  isInHostDirectory: true,
  id: null,
});

function stray(
  lines: string,
  planned: [id: number, mount: PlannedMount][] = [],
  base: "hidden" | "read" | "write" = "read",
  isReachable = ({ id }: MountEntry) => !COVERED.includes(id),
) {
  return findStrayMount(table(lines), { host: HOST, base, devices: "own", planned: new Map(planned), isReachable })
    ?.id ?? null;
}

Deno.test("findStrayMount() finds nothing in a usual sandbox", () => {
  assert.equal(stray(USUAL), null);
  assert.equal(stray(USUAL.replace("/ / ro,nosuid", "/ / rw,nosuid"), [], "write"), null);
});

Deno.test("findStrayMount() accepts planned mounts, and the host's mounts below them", () => {
  const planned: [number, PlannedMount][] = [[31, mount("/ws", true)], [32, mount("/ws/.git")], [
    33,
    mount("/data", true),
  ]];
  const lines = `${USUAL}
    31 11 8:1 /ws /ws rw - ext4
    32 31 8:1 /ws/.git /ws/.git ro - ext4
    33 16 8:2 / /data rw - ext4
    34 33 8:3 /sub /data/more rw - ext4
  `;
  assert.equal(stray(lines, planned), null);
  assert.equal(stray(lines, planned.slice(1)), 31);
});

Deno.test("findStrayMount() finds a root that is not the planned one", () => {
  assert.equal(stray(USUAL.replace("/ / ro,nosuid", "/ / rw,nosuid")), 11);
  assert.equal(stray(USUAL.replace("8:1 / / ro", "8:1 /elsewhere / ro")), 11);
  assert.equal(stray(USUAL, [], "hidden"), 11);
  assert.equal(stray("11 0 0:40 / / ro - tmpfs", [], "hidden"), null);
  assert.equal(stray("11 0 0:7 / / ro - tmpfs", [], "hidden"), 11);
});

Deno.test("findStrayMount() finds a copy that can be written to where nothing is granted, unless it is out of reach", () => {
  const open = USUAL.replace("/sub /data/more ro", "/sub /data/more rw");
  assert.equal(stray(open), 17);
  assert.equal(stray(open, [], "read", () => false), null);
  assert.equal(stray(open.replace("/ / ro,nosuid", "/ / rw,nosuid"), [], "write"), null);
});

Deno.test("findStrayMount() finds writable kernel filesystems, and every procfs", () => {
  const host = new HostMounts(table(`
    1 0 8:1 / / rw - ext4
    2 1 0:8 / /ws/proc rw - proc
    3 1 0:9 / /ws/sys rw - sysfs
  `));
  const found = (lines: string, isReachable = true) => {
    const written = table(`
      11 0 8:1 / / ro - ext4
      12 11 8:1 /ws /ws rw - ext4
      ${lines}
    `);
    const planned = new Map([[12, mount("/ws", true)]]);
    return findStrayMount(written, { host, base: "read", devices: "own", planned, isReachable: () => isReachable })
      ?.id ?? null;
  };
  assert.equal(found("13 12 0:9 / /ws/sys rw - sysfs"), 13);
  assert.equal(found("13 12 0:9 / /ws/sys ro - sysfs"), null);
  assert.equal(found("13 12 0:8 / /ws/proc rw - proc"), 13);
  assert.equal(found("13 12 0:8 / /ws/proc ro - proc"), 13);
  assert.equal(found("13 12 0:8 / /ws/proc rw - proc", false), null);
});

Deno.test("findStrayMount() finds mounts that were not planned", () => {
  const planned: [number, PlannedMount][] = [[31, mount("/ws", true)], [32, mount("/ws/key", false, "null")]];
  const usual = `${USUAL}
    31 11 8:1 /ws /ws rw - ext4
    32 31 0:5 /null /ws/key ro - devtmpfs
  `;
  assert.equal(stray(usual, planned), null);
  const strays = [
    "11 8:1 /out /out rw - ext4", // in its own place, where nothing was planned
    "31 8:1 /out /ws/sub ro - ext4", // elsewhere
    "16 8:2 / /data rw - ext4", // a second time, on top of the copy
    "17 8:3 /sub /data/more rw - ext4",
    "31 8:2 / /ws/data ro - ext4", // below something planned, but not there on the host
    "32 8:2 / /data ro - ext4", // on a mask
    "21 8:1 /out /dev/shm rw - ext4", // in the sandbox's own /dev
    "21 8:1 /out/file /dev/console rw - ext4",
    "22 8:1 /out/file /dev/null rw - ext4",
    "12 0:5 /sda /dev/null rw - devtmpfs", // in what looks like it
    "25 0:8 /sys /proc/sys rw - proc", // settings that can be written to, and others
    "25 0:8 /1 /proc/sys ro - proc",
    "25 8:1 /sys /proc/sys ro - ext4",
    "31 0:6 / /ws/sub rw - tmpfs", // memory of the host's
    "99 8:1 /out /out ro - ext4", // on nothing that is known
  ];
  for (const line of strays) assert.equal(stray(`${usual}\n40 ${line}`, planned), 40, line);
});
