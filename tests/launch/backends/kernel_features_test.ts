import assert from "node:assert/strict";
import { KERNEL_FEATURES, kernelFeatures } from "../../../src/launch/backends/kernel_features.ts";
import { fixtureCommand, outputOf } from "../../support/fixture.ts";
import { namedIfSkipped, NO_SANDBOX } from "../../support/sandbox_host.ts";

/** In a process of its own: asking makes a process the one that orphans come to. */
const SHOW_FEATURES = fixtureCommand("show_kernel_features");

Deno.test({
  name: namedIfSkipped("kernelFeatures() finds user namespaces and the filter where bubblewrap works"),
  ignore: NO_SANDBOX !== null,
  async fn() {
    const features = JSON.parse(await outputOf(SHOW_FEATURES)) as Awaited<ReturnType<typeof kernelFeatures>>;
    assert.deepEqual(features.map(({ name }) => name), [...KERNEL_FEATURES]);
    const works = features.filter(({ works }) => works).map(({ name }) => name);
    for (const name of ["userNamespaces", "seccompFilter", "pidfd", "childSubreaper", "openat2"] as const) {
      assert.ok(works.includes(name), name);
    }
  },
});

Deno.test({
  name: namedIfSkipped("kernelFeatures() misses user namespaces where none may be made, and nothing else"),
  ignore: NO_SANDBOX !== null,
  async fn() {
    const script = `echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"`;
    const own = ["bwrap", "--unshare-user", "--cap-add", "ALL", "--dev-bind", "/", "/", "--proc", "/proc"];
    const text = await outputOf([...own, "--", "/bin/sh", "-c", script, "sh", ...SHOW_FEATURES]);
    const features = JSON.parse(text) as Awaited<ReturnType<typeof kernelFeatures>>;
    assert.equal(features.find(({ name }) => name === "userNamespaces")?.works, false);
    assert.equal(features.find(({ name }) => name === "seccompFilter")?.works, true);
  },
});
