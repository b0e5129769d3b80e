import assert from "node:assert/strict";
import { ChildCgroup } from "../../../src/os/children/child_cgroup.ts";

const own = (pid: number | "self" = "self") => /^0::(.*)$/m.exec(Deno.readTextFileSync(`/proc/${pid}/cgroup`))?.[1];

async function whyNot(): Promise<string | null> {
  if (Deno.build.os !== "linux") return `no control groups on ${Deno.build.os}`;
  const group = await ChildCgroup.make();
  group?.leave();
  return group === null ? "no control groups can be made here" : null;
}

const REASON = await whyNot();

Deno.test({
  name: `ChildCgroup holds children, makes them stand still and leaves nothing behind${
    REASON === null ? "" : ` (SKIPPED: ${REASON})`
  }`,
  ignore: REASON !== null,
  async fn() {
    const before = own();
    const group = await ChildCgroup.make();
    assert.ok(group !== null);
    assert.match(own()!, new RegExp(`/exec-server-${Deno.pid}-\\w+/1$`));
    const child = new Deno.Command("cat", { stdin: "piped", stdout: "piped" }).spawn();
    assert.equal(own(child.pid), own());

    let frozen = "";
    const has = await group.standStill(() => {
      frozen = Deno.readTextFileSync(`${group.top}/1/cgroup.events`);
      // We are not where they are.
      assert.match(own()!, /\/2$/);
    });
    assert.equal(has, true);
    assert.match(frozen, /^frozen 1$/m);
    assert.match(Deno.readTextFileSync(`${group.top}/1/cgroup.events`), /^frozen 0$/m);
    // A second time, with children in two groups and one that was killed while it stood still.
    const other = new Deno.Command("sleep", { args: ["600"] }).spawn();
    assert.match(own(other.pid)!, /\/2$/);
    await group.standStill(() => other.kill("SIGKILL"));
    assert.equal((await other.status).signal, "SIGKILL");
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode("goes on"));
    await writer.close();
    assert.equal(new TextDecoder().decode((await child.output()).stdout), "goes on");

    group.leave();
    assert.equal(own(), before);
    assert.throws(() => Deno.statSync(group.top), Deno.errors.NotFound);
  },
});

Deno.test({
  name: `ChildCgroup.tidyUp() removes what a killed server left behind, and nobody waits for it before${
    REASON === null ? "" : ` (SKIPPED: ${REASON})`
  }`,
  ignore: REASON !== null,
  async fn() {
    const first = await ChildCgroup.make();
    assert.ok(first !== null);
    const left = `${first.home}/exec-server-0-left`;
    Deno.mkdirSync(`${left}/1`, { recursive: true });
    first.leave();
    const second = await ChildCgroup.make();
    assert.ok(Deno.statSync(left).isDirectory);
    second?.tidyUp();
    second?.leave();
    assert.throws(() => Deno.statSync(left), Deno.errors.NotFound);
  },
});

Deno.test({
  name: `ChildCgroup.tidyUp() leaves the groups of living servers alone, which are empty at first${
    REASON === null ? "" : ` (SKIPPED: ${REASON})`
  }`,
  ignore: REASON !== null,
  async fn() {
    const first = await ChildCgroup.make();
    assert.ok(first !== null);
    first.leave();
    const fresh = `${first.home}/exec-server-${Deno.ppid}-fresh`;
    Deno.mkdirSync(`${fresh}/1`, { recursive: true });
    try {
      const second = await ChildCgroup.make();
      second?.tidyUp();
      second?.leave();
      assert.ok(Deno.statSync(`${fresh}/1`).isDirectory);
    } finally {
      Deno.removeSync(`${fresh}/1`);
      Deno.removeSync(fresh);
    }
  },
});
