import assert from "node:assert/strict";
import { isOwnMark, MarkSeries, readMark, SERIAL_COUNT, setMark } from "../../../src/os/children/process_mark.ts";
import { RLIMIT_LOCKS, setLimit } from "../../../src/os/children/resource_limits.ts";

/** RLIM_INFINITY. */
const UNLIMITED = 0xffff_ffff_ffff_ffffn;

Deno.test("MarkSeries knows its own marks and nobody else's", () => {
  const series = new MarkSeries();
  for (const serial of [0, 1, 4711, SERIAL_COUNT - 1]) assert.equal(series.serialOf(series.mark(serial)), serial);
  const others = [new MarkSeries(Deno.pid + 1).mark(1), UNLIMITED, 0n, series.mark(SERIAL_COUNT - 1) + 1n];
  for (const mark of others) assert.equal(series.serialOf(mark), null, `${mark}`);
});

Deno.test("marks begin with the digits of their series, however large pid and serial are", () => {
  for (const pid of [1, 4_194_304]) {
    const series = new MarkSeries(pid);
    for (const serial of [0, SERIAL_COUNT - 1]) {
      const mark = `${series.mark(serial)}`;
      assert.equal(mark.length, 19);
      assert.ok(mark.startsWith(`${series.prefix}`));
      assert.ok(BigInt(mark) < 2n ** 63n);
    }
  }
});

Deno.test("isOwnMark() tells marks made by this process from others", () => {
  assert.equal(isOwnMark(new MarkSeries().mark(5)), true);
  assert.equal(isOwnMark(new MarkSeries(Deno.pid + 1).mark(5)), false);
  assert.equal(isOwnMark(UNLIMITED), false);
});

Deno.test("a mark is inherited through new sessions, until a process changes the limit", async () => {
  const mark = new MarkSeries().mark(7);
  const script = "read go; setsid -w sh -c 'echo $$; read end'";
  const child = new Deno.Command("sh", { args: ["-c", script], stdin: "piped", stdout: "piped" }).spawn();
  setMark(child.pid, mark);
  const input = child.stdin.getWriter();
  await input.write(new TextEncoder().encode("go\n"));
  const output = child.stdout.getReader();
  const descendant = Number(new TextDecoder().decode((await output.read()).value));
  assert.deepEqual([readMark(child.pid), readMark(descendant)], [mark, mark]);
  setLimit(RLIMIT_LOCKS, { soft: 100n, hard: UNLIMITED }, descendant);
  assert.equal(readMark(descendant), null);
  await input.close();
  await output.cancel();
  await child.status;
});
