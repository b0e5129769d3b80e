/** A directory of its own for one test, and files in it that Deno's own API cannot make. */

import assert from "node:assert/strict";
import { DomainError, type ErrorKind } from "../../src/errors.ts";

/** Runs the test in a fresh directory, named by its canonical path, and removes it afterwards. */
export async function inScratchDirectory(test: (directory: string) => Promise<void> | void): Promise<void> {
  const directory = await Deno.realPath(await Deno.makeTempDir({ prefix: "exec-server-test-" }));
  try {
    await test(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** Expects a domain error of this kind, with this text. */
export async function assertFails(work: Promise<unknown>, kind: ErrorKind, message: RegExp | string): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof DomainError, `not a domain error: ${error}`);
    if (message instanceof RegExp) assert.match(error.message, message);
    else assert.equal(error.message, message);
    assert.equal(error.kind, kind, error.message);
    return true;
  });
}

export async function makeFifo(path: string): Promise<void> {
  const { success } = await new Deno.Command("mkfifo", { args: [path] }).output();
  assert.ok(success, `mkfifo ${path}`);
}

export function modeOf(path: string): number {
  return (Deno.statSync(path).mode ?? 0) & 0o7777;
}
