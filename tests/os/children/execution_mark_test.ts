import assert from "node:assert/strict";
import { ExecutionMark } from "../../../src/os/children/execution_mark.ts";
import { MarkSeries, readMark, setMark } from "../../../src/os/children/process_mark.ts";
import { getLimit, RLIMIT_LOCKS, setLimit } from "../../../src/os/children/resource_limits.ts";

/** A shell that forks once when it is told to, and says the number of its orphan. */
const ORPHAN = "read go; { (echo $BASHPID; read -r _; :) <&3 & } 3<&0; exec true";

Deno.test("descendants of a marked process carry the mark, also as orphans, and its other mark stays", async () => {
  for (const isMarked of [false, true]) {
    const child = new Deno.Command("bash", { args: ["-c", ORPHAN], stdin: "piped", stdout: "piped" }).spawn();
    const mark = ExecutionMark.below(child.pid)!;
    const place = new MarkSeries().mark(7);
    setMark(child.pid, place);
    assert.equal(mark.isMissingOn(child.pid), true);
    // A second time changes nothing.
    if (isMarked) assert.deepEqual([mark.set(child.pid), mark.set(child.pid)], [true, true]);
    const input = child.stdin.getWriter();
    await input.write(new TextEncoder().encode("go\n"));
    await child.status;
    const output = child.stdout.getReader();
    const orphan = Number(new TextDecoder().decode((await output.read()).value));
    assert.equal(mark.isMissingOn(orphan), !isMarked);
    assert.equal(readMark(orphan), place);
    await input.close();
    await output.cancel();
  }
});

Deno.test("a limit that cannot be lowered marks nothing, and what is gone needs no mark", async () => {
  const child = new Deno.Command("cat", { stdin: "piped", stdout: "null" }).spawn();
  const mark = ExecutionMark.below(child.pid)!;
  // By its own choice: no longer told from what was marked.
  setLimit(RLIMIT_LOCKS, { soft: 0n, hard: 0n }, child.pid);
  assert.deepEqual([mark.isMissingOn(child.pid), mark.set(child.pid)], [false, true]);
  assert.equal(getLimit(RLIMIT_LOCKS, child.pid)?.hard, 0n);
  assert.equal(ExecutionMark.below(child.pid), null);
  await child.stdin.close();
  await child.status;
  assert.equal(ExecutionMark.below(child.pid), null);
  assert.deepEqual([mark.isMissingOn(child.pid), mark.set(child.pid)], [false, true]);
});
