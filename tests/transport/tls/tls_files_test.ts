import assert from "node:assert/strict";
import { complainOfRights } from "../../../src/transport/tls/tls_files.ts";

Deno.test("complainOfRights() accepts a key that belongs to the server's user or root and is closed to others", () => {
  const cases: [mode: number, uid: number, complaint: RegExp | null, ownUid?: number][] = [
    [0o100600, 1000, null],
    [0o100400, 1000, null],
    [0o100600, 0, null],
    // As distributions hand keys to services: root's, with a group.
    [0o100640, 0, null],
    [0o100640, 1000, /mode 640/],
    // A server that is root needs no group to read it.
    [0o100640, 0, /mode 640/, 0],
    [0o100600, 0, null, 0],
    [0o100644, 0, /mode 644/],
    [0o100604, 1000, /mode 604/],
    [0o100620, 0, /mode 620/],
    [0o100602, 1000, /mode 602/],
    [0o100600, 1001, /another user \(uid 1001\)/],
  ];
  for (const [mode, uid, expected, ownUid = 1000] of cases) {
    const complaint = complainOfRights({ mode, uid }, ownUid);
    if (expected === null) assert.equal(complaint, null, mode.toString(8));
    else assert.match(complaint ?? "", expected);
  }
});
