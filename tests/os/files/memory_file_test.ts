import assert from "node:assert/strict";
import { closeDescriptor, O_RDWR, openDescriptor } from "../../../src/os/descriptor.ts";
import { EPERM } from "../../../src/os/errno.ts";
import { allocate } from "../../../src/os/libc.ts";
import { readAt, writeAt } from "../../../src/os/files/file_content.ts";
import { openMemoryFile } from "../../../src/os/files/memory_file.ts";

Deno.test({
  name: "a file in memory has its bytes, and nobody who inherits it can change them",
  ignore: Deno.build.os !== "linux",
  fn() {
    const file = openMemoryFile(new TextEncoder().encode("whole"));
    const writable = openDescriptor(`/proc/self/fd/${file}`, O_RDWR);
    try {
      const bytes = allocate(16);
      assert.equal(readAt(file, bytes, 0), 5);
      assert.equal(new TextDecoder().decode(bytes.subarray(0, 5)), "whole");
      if (writable >= 0) assert.equal(writeAt(writable, new Uint8Array(1), 0), -EPERM);
    } finally {
      if (writable >= 0) closeDescriptor(writable);
      closeDescriptor(file);
    }
  },
});
