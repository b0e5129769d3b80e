import assert from "node:assert/strict";
import { MAX_SNAPSHOT_SCOPE_BYTES, shellRefusal, ShellSnapshotParam } from "../../src/protocol/shell_snapshot.ts";
import { decodeParams } from "../../src/protocol/decode_params.ts";

const BASH = { name: "bash", path: "/bin/bash" };

function refusal(param: unknown): string {
  try {
    decodeParams(ShellSnapshotParam, param);
  } catch (error) {
    return (error as Error).message;
  }
  assert.fail(`${JSON.stringify(param)} was taken`);
}

Deno.test("ShellSnapshotParam takes the shells that clients know", () => {
  for (const name of ["bash", "zsh", "sh"]) {
    const param = { scopeId: "thread:remote", shell: { ...BASH, name } };
    assert.deepEqual(ShellSnapshotParam.parse(param), param);
  }
});

Deno.test("ShellSnapshotParam refuses in the reference's words", () => {
  const scope = "shell snapshot scope must be non-empty and at most 256 bytes";
  assert.equal(refusal({ scopeId: "", shell: BASH }), scope);
  assert.equal(refusal({ scopeId: "ü".repeat(MAX_SNAPSHOT_SCOPE_BYTES / 2) + "x", shell: BASH }), scope);
  assert.equal(refusal({ scopeId: "s" }), "missing field `shell`");
  assert.equal(refusal({ scopeId: "s", shell: { name: "bash" } }), "missing field `path`");
  refusal(5);
});

Deno.test("shellRefusal() speaks of unknown shells only where they are the command's", () => {
  const fish = { scopeId: "s", shell: { name: "fish", path: "/bin/fish" } };
  assert.equal(shellRefusal(fish, ["/bin/fish", "-lc", "x"]), "shell snapshots are unsupported for shell `fish`");
  assert.equal(shellRefusal(fish, ["/bin/bash", "-lc", "x"]), null);
  assert.equal(shellRefusal({ scopeId: "s", shell: BASH }, ["/bin/bash", "-lc", "x"]), null);
});
