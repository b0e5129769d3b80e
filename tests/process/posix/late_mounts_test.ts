/** What the host mounts while a sandbox runs, and how it has mounted its devices, where it shares its mounts with everybody, as most systems do. */

import assert from "node:assert/strict";
import { NO_OWN_SANDBOX } from "../../launch/own_sandbox.ts";
import { NO_SANDBOX } from "../../support/sandbox_host.ts";

const FIXTURES = new URL("../../fixtures/", import.meta.url).pathname;
const CONFIG = new URL("../../../deno.json", import.meta.url).pathname;

/** In mounts of its own, which are shared among themselves: nothing of it reaches the host. */
const APART = ["-m", "--propagation", "private", "sh", "-c", 'mount --make-rshared / && exec "$@"', "sh"];

function whyNot(): string | null {
  if (NO_SANDBOX !== null) return NO_SANDBOX;
  if (Deno.uid() !== 0) return "only root can mount";
  try {
    const { success } = new Deno.Command("unshare", { args: [...APART, "true"], stderr: "null" }).outputSync();
    return success ? null : "mounts of one's own cannot be had here";
  } catch {
    return "no unshare";
  }
}

const REASON = whyNot();

async function seenInside(fixture: string, ...args: string[]): Promise<string[]> {
  const run = [
    Deno.execPath(),
    "run",
    "--quiet",
    "--no-check",
    "--allow-all",
    "--config",
    CONFIG,
    `${FIXTURES}${fixture}`,
    ...args,
  ];
  const { stdout, stderr } = await new Deno.Command("unshare", { args: [...APART, ...run] }).output();
  const text = new TextDecoder().decode(stdout);
  assert.notEqual(text, "", new TextDecoder().decode(stderr));
  return JSON.parse(text);
}

Deno.test({
  name: `what the host mounts later does not show in root's sandbox${REASON === null ? "" : ` (SKIPPED: ${REASON})`}`,
  ignore: REASON !== null,
  async fn() {
    // The proof that there is something to keep out: bubblewrap by itself lets it in, as it was mounted.
    const [outside, inside, shared] = await seenInside("late_mount.ts", "--open");
    assert.deepEqual([outside, inside], ["file 1 written", "file 1 written"]);
    assert.notEqual(shared, "0");
    // Below what is granted there is the place that was there before.
    assert.deepEqual(await seenInside("late_mount.ts"), [" 0 ", " 0 written", "0"]);
  },
});

Deno.test({
  name: `devices are protected where the host lets nobody execute them${
    REASON === null ? "" : ` (SKIPPED: ${REASON})`
  }`,
  ignore: REASON !== null,
  async fn() {
    assert.deepEqual(await seenInside("noexec_devices.ts"), ["writable\nguarded\n", ""]);
  },
});

const NO_STANDBYS = REASON ?? NO_OWN_SANDBOX;

Deno.test({
  name: `a sandbox that waited is not used after a mount${NO_STANDBYS === null ? "" : ` (SKIPPED: ${NO_STANDBYS})`}`,
  ignore: NO_STANDBYS !== null,
  async fn() {
    assert.deepEqual(await seenInside("standby_mount.ts"), ["waited ", "new ", "waited "]);
  },
});
