/** How `.ci/run` adds up what its suites say: the last line is the sum, and what was skipped stands above it. */

import assert from "node:assert/strict";
import { inScratchDirectory } from "../support/scratch_directory.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

/** Runs these lines of a shell as a part of `.ci/run`. */
async function runCi(lines: string, directory: string): Promise<{ code: number; lines: string[] }> {
  const { code, stdout, stderr } = await new Deno.Command("bash", {
    args: ["-uc", `set -o pipefail\n. ${ROOT}.ci/counts.sh\n${lines}`],
    cwd: directory,
    stdin: "null",
  }).output();
  assert.equal(new TextDecoder().decode(stderr), "");
  return { code, lines: new TextDecoder().decode(stdout).trimEnd().split("\n") };
}

const INTEGRATION = `running 4 tests from ./tests/integration/tls_test.ts
a session over wss (SKIPPED: TLS needs Deno 2.7 or newer, and this program has 2.6.10) ... ignored (0ms)
./tests/a_test.ts => over wss a (small) token (SKIPPED: TLS needs Deno 2.7 or newer, and this program has 2.6.10) ... ignored (0ms)
./tests/a_test.ts => no reason at all ... ignored (12µs)
steps ...
  one of them (SKIPPED: Landlock version 0 (off)) ... ignored (0ms)
steps ... ok (3ms)
SKIPPED, not installed here: perl (a socket that is handed over)

ok | 7 passed (1 step) | 0 failed | 4 ignored (2s)
`;
const OTHERS = `SKIP resume after a kill (slow; use --slow)
SKIPPED: as another user
fs             12 passed, 1 FAILED, 3 skipped
3 passed, 1 failed
`;

Deno.test(".ci/run ends with why tests inside its suites were skipped, how many of each, and the sum", () =>
  inScratchDirectory(async (directory) => {
    Deno.writeTextFileSync(`${directory}/integration`, INTEGRATION);
    Deno.writeTextFileSync(`${directory}/others`, OTHERS);
    const { code, lines } = await runCi(
      'suite "integration tests (compiled binary)" cat integration\nsuite "nothing skipped" echo "2 passed, 0 failed"\n' +
        'suite "real client" cat others\nskip "fuzz (no binary)"\nsum_up',
      directory,
    );
    assert.equal(code, 1);
    assert.deepEqual(lines.slice(lines.indexOf("=== after 0 min, 1 suites skipped")), [
      "=== after 0 min, 1 suites skipped",
      "fuzz (no binary)",
      "",
      "=== tests skipped inside suites that ran",
      "integration tests (compiled binary):",
      "    2  TLS needs Deno 2.7 or newer, and this program has 2.6.10",
      "    1  Landlock version 0 (off)",
      "    1  no reason in the name, the first is: no reason at all",
      "    1  not installed here: perl (a socket that is handed over)",
      "real client:",
      "    3  no reason given: fs",
      "    1  as another user",
      "    1  resume after a kill (slow; use --slow)",
      "",
      "12 passed, 1 failed",
    ]);
  }));

Deno.test(".ci/run has nothing to say of skipped tests where there are none, and succeeds", () =>
  inScratchDirectory(async (directory) => {
    const { code, lines } = await runCi(
      'suite "all" echo "ok | 2 passed | 0 failed"\nstep "one" true\nsum_up',
      directory,
    );
    assert.deepEqual([code, lines.slice(-3)], [0, ["=== after 0 min, 0 suites skipped", "", "3 passed, 0 failed"]]);
  }));

Deno.test(".ci/run takes a suite that prints no counts, or ends badly without a failure, for a failed one", () =>
  inScratchDirectory(async (directory) => {
    const suites = 'suite "silent" true\nsuite "killed" bash -c "echo 2 passed, 0 failed; exit 3"\nsum_up';
    const { code, lines } = await runCi(suites, directory);
    assert.deepEqual([code, lines.at(-1)], [1, "2 passed, 2 failed"]);
    assert.ok(lines.includes("FAILED (status 0, no failure counted): true"), lines.join("\n"));
  }));

Deno.test(".ci/run prints nothing behind the sum", () => {
  const text = Deno.readTextFileSync(`${ROOT}.ci/run`);
  assert.match(text, /\n\. \.ci\/counts\.sh\n/);
  assert.match(text, /\nsum_up\n$/);
});
