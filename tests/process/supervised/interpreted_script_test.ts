import assert from "node:assert/strict";
import { interpreterLine } from "../../../src/process/supervised/interpreted_script.ts";

/** What begins a file, and how the kernel reads it. */
const LINES: readonly (readonly [string, readonly string[] | null])[] = [
  ["#!/bin/sh\n", ["/bin/sh"]],
  ["#! \t/bin/sh \t\nrest", ["/bin/sh"]],
  ["#!/usr/bin/env -S a  b \n", ["/usr/bin/env", "-S a  b"]],
  ["#!relative\targument\n", ["relative", "argument"]],
  ["#!/bin/sh", ["/bin/sh"]],
  ["#!/bin/sh -e ", ["/bin/sh", "-e "]],
  ["#!/bin/sh ", ["/bin/sh", ""]],
  ["#!/bin/sh\0x -e\n", ["/bin/sh"]],
  ["#!\n/bin/sh\n", null],
  ["\x7fELF", null],
  ["", null],
];

for (const [start, words] of LINES) {
  Deno.test(`the first line ${JSON.stringify(start)} names ${words === null ? "nothing" : words.join(" with ")}`, () => {
    assert.deepEqual(interpreterLine(start.padEnd(256, "\0")), words);
  });
}
