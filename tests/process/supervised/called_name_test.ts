import assert from "node:assert/strict";
import { bytesOf, lossyText, toByteString } from "../../../src/os/files/byte_string.ts";
import { wordsOutside } from "../../../src/process/supervised/called_name.ts";

const decoder = new TextDecoder();

function outside(file: string, ...argv: string[]): string[] | null {
  const words = argv.map((word) => bytesOf(toByteString(word)));
  return wordsOutside({ file: toByteString(file), argv: words })?.map((word) => decoder.decode(word)) ?? null;
}

Deno.test("a program leaves under the name of the file that was decided, and under no other", () => {
  for (const name of ["git", "/usr/bin/git", "-git", "-/usr/bin/git"]) {
    assert.deepEqual(outside("/usr/bin/git", name, "a b", ""), [name, "a b", ""]);
  }
  const others = [
    "git-init",
    "",
    "-",
    "/",
    "git/",
    "/usr/bin/git/",
    "--git",
    "/usr/bin/-git",
    "git-init/../git ",
    "GIT",
  ];
  for (const name of others) assert.equal(outside("/usr/bin/git", name, "status"), null, JSON.stringify(name));
  assert.equal(outside("/usr/bin/git"), null, "no words at all");
});

Deno.test("a directory before the name becomes that of the decided file", () => {
  for (const name of ["./git", "bin/git", "/ws/bin/git", "/ws/link/../../usr/bin/git", "-bin/git"]) {
    assert.deepEqual(outside("/usr/bin/git", name, "status"), ["/usr/bin/git", "status"], name);
  }
  assert.deepEqual(outside("/bin/bash", "-/ws/bash"), ["-/bin/bash"]);
});

Deno.test("names are compared as the kernel has them", () => {
  assert.deepEqual(outside("/opt/-own", "-own"), ["-own"]);
  assert.deepEqual(outside("/opt/é", "é", "é"), ["é", "é"]);
  assert.deepEqual(outside("/opt/é", "./é"), ["/opt/é"]);
  // Both read as the same text.
  const [one, another] = [toByteString(new Uint8Array([0xff])), toByteString(new Uint8Array([0xfe]))];
  assert.equal(lossyText(one), lossyText(another));
  assert.equal(wordsOutside({ file: toByteString("/opt/\xff"), argv: [bytesOf(another)] }), null);
});
