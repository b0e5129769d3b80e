/** A devbox whose network goes away and comes back with another address, in network namespaces of its own. */

import assert from "node:assert/strict";
import { areInstalled } from "../support/installed.ts";
import { proof } from "../support/proof.ts";

proof({
  name: "a session survives a link that goes down and comes back with another address, and what was typed arrives once",
  tries: 20,
  unit: "moves",
  missing: await obstacle(),
}, async ({ tries, remark }) => {
  const { code, stdout, stderr } = await new Deno.Command("unshare", {
    args: ["-n", "-m", Deno.execPath(), "run", "--quiet", "-A", FIXTURE.pathname, String(tries)],
    stdin: "null",
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  const { outagesMs, lines } = JSON.parse(new TextDecoder().decode(stdout));
  outagesMs.sort((a: number, b: number) => a - b);
  assert.equal(outagesMs.length, tries);
  remark(
    `pinged every second; back after ${outagesMs[0]} to ${outagesMs.at(-1)} ms, the loss of the link included; ` +
      `${lines} lines typed`,
  );
});

async function obstacle(): Promise<string | null> {
  if (!areInstalled(["ip", "unshare"], "a devbox that moves")) return "ip or unshare is not installed";
  const { success } = await new Deno.Command("unshare", { args: ["-n", "-m", "true"], stdin: "null", stderr: "null" })
    .output();
  return success ? null : "no network namespace can be made";
}

const FIXTURE = new URL("../fixtures/remote/roaming.ts", import.meta.url);
