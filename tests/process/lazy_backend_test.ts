import assert from "node:assert/strict";
import { silentLogger } from "../../src/log.ts";
import { joinChildCgroup, leaveChildCgroup } from "../../src/os/children/child_cgroup.ts";
import { LazyBackend } from "../../src/process/lazy_backend.ts";

const ownGroup = () => /^0::(.*)$/m.exec(Deno.readTextFileSync("/proc/self/cgroup"))?.[1];

async function whyNot(): Promise<string | null> {
  const group = await joinChildCgroup();
  await leaveChildCgroup();
  return group === null ? "no control groups can be made here" : null;
}

const REASON = await whyNot();

Deno.test({
  name: `LazyBackend.joinGroup() moves the program into the group of its children, and close() out of it again${
    REASON === null ? "" : ` (SKIPPED: ${REASON})`
  }`,
  ignore: REASON !== null,
  async fn() {
    const before = ownGroup();
    // Without a process, and with one that was started in the group.
    for (const argv of [null, ["/bin/true"]]) {
      const backend = new LazyBackend(silentLogger());
      backend.joinGroup();
      backend.joinGroup();
      const group = await joinChildCgroup();
      await leaveChildCgroup();
      assert.equal(ownGroup(), `${before === "/" ? "" : before}${group!.top.slice(group!.home.length)}/1`);
      if (argv !== null) {
        const io = { type: "pipe", stdin: "closed" } as const;
        await backend.spawn({ argv, arg0: null, cwd: "/", env: {}, io });
        assert.match(ownGroup()!, /\/1$/, "there is one group of the program, not one of the backend beside it");
      }
      await backend.close({ graceMs: 0 });
      assert.equal(ownGroup(), before);
      assert.throws(() => Deno.statSync(group!.top), Deno.errors.NotFound);
    }
  },
});
