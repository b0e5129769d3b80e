import assert from "node:assert/strict";
import { closeDescriptor } from "../../../src/os/descriptor.ts";
import { allocate } from "../../../src/os/libc.ts";
import {
  openDatagramPair,
  openSocketPair,
  receiveDescriptors,
  receiveMessage,
  sendDescriptors,
} from "../../../src/os/loop/socket_message.ts";

const onLinux = { ignore: Deno.build.os !== "linux" };
const openDescriptors = () => [...Deno.readDirSync("/proc/self/fd")].length;

Deno.test({
  name: "receiveMessage() takes one descriptor and leaves no other open",
  ...onLinux,
  fn() {
    const { ours, theirs } = openSocketPair();
    const before = openDescriptors();
    for (const sent of [[], [theirs], [theirs, ours], [theirs, ours, ours, ours]]) {
      assert.equal(sendDescriptors(theirs, allocate(3), sent), 3);
      const { count, descriptor } = receiveMessage(ours, allocate(8));
      assert.equal(count, 3);
      assert.equal(descriptor === null, sent.length === 0);
      assert.equal(openDescriptors(), before + Math.min(sent.length, 1), `${sent.length} were sent`);
      if (descriptor !== null) closeDescriptor(descriptor);
    }
    for (const end of [ours, theirs]) closeDescriptor(end);
  },
});

Deno.test({
  name: "receiveDescriptors() takes as many as one message may have, and leaves no other open",
  ...onLinux,
  fn() {
    const { ours, theirs } = openDatagramPair();
    const before = openDescriptors();
    for (const many of [0, 1, 2, 15, 16, 17, 40]) {
      assert.equal(sendDescriptors(theirs, allocate(3), Array.from({ length: many }, () => ours)), 3);
      const { count, descriptors } = receiveDescriptors(ours, allocate(8));
      assert.deepEqual([count, descriptors.length], [3, Math.min(many, 16)]);
      assert.equal(openDescriptors(), before + descriptors.length);
      for (const fd of descriptors) closeDescriptor(fd);
    }
    for (const end of [ours, theirs]) closeDescriptor(end);
  },
});
