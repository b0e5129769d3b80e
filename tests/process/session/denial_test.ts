import assert from "node:assert/strict";
import type { OutputStream } from "../../../src/process/backend.ts";
import { looksDenied } from "../../../src/process/session/denial.ts";
import type { OutputChunk } from "../../../src/process/session/output_log.ts";

function output(...pieces: [OutputStream, string | Uint8Array<ArrayBuffer>][]): OutputChunk[] {
  return pieces.map(([stream, text], index) => ({
    seq: index + 1,
    stream,
    bytes: typeof text === "string" ? new TextEncoder().encode(text) : text,
  }));
}

const CASES: [claim: string, exitCode: number, output: OutputChunk[], expected: boolean][] = [
  ["success, whatever it printed", 0, output(["stderr", "permission denied"]), false],
  ["a silent failure", 1, [], false],
  ["an ordinary failure", 7, output(["stdout", "no such file"]), false],
  ["a kill by the system call filter", 159, [], true],
  ["another signal", 137, [], false],
  ["operation not permitted", 1, output(["stderr", "x: Operation not permitted\n"]), true],
  ["permission denied", 1, output(["stdout", "PERMISSION DENIED"]), true],
  ["read-only file system", 2, output(["stderr", "touch: Read-only file system"]), true],
  ["seccomp", 1, output(["pty", "bad SecComp filter"]), true],
  ["sandbox", 1, output(["pty", "Sandbox: no"]), true],
  ["landlock", 1, output(["stderr", "landlock"]), true],
  ["failed to write file", 1, output(["stdout", "Failed to write file /x"]), true],
  ["an unknown status", -1, output(["stderr", "sandbox"]), true],
  ["words across two chunks", 1, output(["stderr", "permission d"], ["stderr", "enied"]), true],
  [
    "words across many chunks",
    1,
    output(...[..."failed to write file"].map((c) => ["stdout", c] as [OutputStream, string])),
    true,
  ],
  [
    "words across chunks of one stream, with another between",
    1,
    output(["stderr", "sand"], ["stdout", "-"], ["stderr", "box"]),
    true,
  ],
  ["words only by joining different streams", 1, output(["stderr", "sand"], ["stdout", "box"]), false],
  [
    "bytes that are not UTF-8 around the words",
    1,
    output(["stderr", Uint8Array.of(0xff, 0x80, ...new TextEncoder().encode("landlock"), 0xc3)]),
    true,
  ],
  ["nearly the words", 1, output(["stderr", "permission-denied sand box"]), false],
];
for (const [claim, exitCode, chunks, expected] of CASES) {
  Deno.test(`looksDenied() is ${expected} for ${claim}`, () => {
    assert.equal(looksDenied(exitCode, chunks), expected);
  });
}
