import assert from "node:assert/strict";
import { hasCapabilities, withoutCapabilities } from "../../../src/os/children/thread_capabilities.ts";
import { inScratchDirectory } from "../../support/scratch_directory.ts";

const NOT_ROOT = Deno.uid() === 0 ? null : "only root has capabilities";

function effective(): string | undefined {
  // Of this very thread, which on Linux is not always the process's first.
  const status = Deno.readTextFileSync("/proc/thread-self/status");
  return /^CapEff:\t([0-9a-f]+)$/m.exec(status)?.[1];
}

Deno.test({
  name: `withoutCapabilities() puts them aside for the call, and takes them up again${
    NOT_ROOT ? ` (SKIPPED: ${NOT_ROOT})` : ""
  }`,
  ignore: NOT_ROOT !== null,
  fn: () =>
    inScratchDirectory((directory) => {
      const path = `${directory}/theirs`;
      Deno.writeTextFileSync(path, "theirs");
      Deno.chmodSync(path, 0o600);
      Deno.chownSync(path, 12345, 12345);
      const before = effective();
      assert.equal(hasCapabilities(), true);
      assert.notEqual(before, "0000000000000000");
      assert.equal(withoutCapabilities(effective), "0000000000000000");
      assert.throws(() => withoutCapabilities(() => Deno.readTextFileSync(path)), Deno.errors.PermissionDenied);
      assert.equal(effective(), before);
      assert.equal(Deno.readTextFileSync(path), "theirs");
      return Promise.resolve();
    }),
});

Deno.test("withoutCapabilities() hands on what the work returns and throws", () => {
  assert.equal(withoutCapabilities(() => 7), 7);
  assert.throws(() =>
    withoutCapabilities(() => {
      throw new RangeError("mine");
    }), RangeError);
});
