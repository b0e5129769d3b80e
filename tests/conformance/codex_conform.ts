/**
 * `exec-server conform` against the real codex 0.166: what it breaks is compared with `codex_conform.txt`, exactly. A check
 * that fails and is not listed is a fault, and so is one that is listed and passes: then the page on the protocol, which
 * tells of these differences, is wrong as well.
 *
 * Needs codex: `CODEX_DIR`, where `npm i --prefix DIR @openai/codex@0.166.0` has put it.
 */

import assert from "node:assert/strict";
import type { ConformReport } from "../../src/conform/run.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { runCli, TestServer } from "../support/test_server.ts";

const LISTED = Deno.readTextFileSync(new URL("codex_conform.txt", import.meta.url)).split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"));

const codex = codexBelow(Deno.env.get("CODEX_DIR"));

Deno.test({
  name: `codex 0.166 differs from the protocol's page as it says${
    codex === null ? " (SKIPPED: CODEX_DIR has no codex)" : ""
  }`,
  ignore: codex === null,
  fn: async () => {
    await inScratchDirectory(async (home) => {
      await using server = await TestServer.start({ command: [codex!, "exec-server"], env: { CODEX_HOME: home } });
      const { stdout, stderr } = await runCli(["conform", server.url, "--json"]);
      assert.notEqual(stdout, "", stderr);
      const report = JSON.parse(stdout) as ConformReport;
      const failed = report.results.filter(({ outcome }) => outcome === "failed");
      console.log(`codex: ${report.counts.passed} promises kept, ${failed.length} broken`);
      assert.deepEqual(failed.map(({ id }) => id).sort(), LISTED.toSorted(), JSON.stringify(failed, null, 2));
      assert.equal(report.leftBehind, null);
      // Whole areas that it does not have.
      for (const area of ["attach", "tunnels"]) {
        const outcomes = report.results.filter((result) => result.area === area).map((result) =>
          result.outcome === "skipped" ? result.reason.split(":")[0] : result.outcome
        );
        assert.deepEqual([...new Set(outcomes)], ["not offered"], area);
      }
    });
  },
});

function codexBelow(folder: string | undefined): string | null {
  if (folder === undefined) return null;
  const cpu = Deno.build.arch;
  const inside = `${folder}/node_modules/@openai/codex-linux-${cpu === "x86_64" ? "x64" : "arm64"}/vendor`;
  const file = `${inside}/${cpu}-unknown-linux-musl/bin/codex`;
  try {
    return Deno.statSync(file).isFile ? file : null;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
