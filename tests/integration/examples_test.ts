import assert from "node:assert/strict";
import { assertLines } from "../support/answer_check.ts";
import { CheckedRelay } from "../support/checked_relay.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { serverCommand, TestServer } from "../support/test_server.ts";

const EXAMPLES = new URL("../../examples/", import.meta.url).pathname;
const MAX_LINES = 150;

/** Debian's, which sees Debian's packages; another one may come first in PATH. */
const PYTHON = "/usr/bin/python3";

/** What each of them asks for and is told. */
const USED = ["initialize", "process/start", "process/write", "process/read", "process/output", "fs/readFile"];

const TOLD = ["from a file", "got a line", "after the cut", "exit code 0", "the file: from a file", ""];

for (
  const { name, program, args, missing } of [
    {
      name: "client.py",
      program: PYTHON,
      args: [`${EXAMPLES}client.py`],
      missing: await succeeds(PYTHON, ["-c", "import websockets"]) ? null : "python3-websockets",
    },
    {
      name: "client.ts",
      program: Deno.execPath(),
      args: ["run", "--quiet", "--no-check", "--allow-net", `${EXAMPLES}client.ts`],
      missing: null,
    },
  ]
) {
  Deno.test({
    name: `examples/${name} runs, follows, writes, comes back after a cut and misses nothing${skipped(missing)}`,
    ignore: missing !== null,
    fn: async () => {
      await using server = await TestServer.start({ listen: null });
      await using relay = await CheckedRelay.to(server.url);
      const { code, stdout, stderr } = await run(program, [...args, relay.urlFor(server.url)]);
      assert.deepEqual([stdout.split("\n"), code, stderr], [TOLD, 0, ""]);
      for (const method of USED) assert.ok(relay.checked.has(method), `${method} was held against the document`);
    },
  });
}

/** Keeps what goes in and out of the server whose words follow the directory for it. */
const RECORDING = 'kept=$1; shift; tee "$kept/sent" | "$@" | tee "$kept/received"';

const noJq = await succeeds("jq", ["--version"]) ? null : "jq";
Deno.test({
  name: `examples/client.sh runs, follows, writes, and reads it all again by a cursor${skipped(noJq)}`,
  ignore: noJq !== null,
  fn: () =>
    inScratchDirectory(async (directory) => {
      const { program, args } = serverCommand();
      const recorded = ["bash", "-c", RECORDING, "bash", directory, program, ...args];
      const { code, stdout, stderr } = await run(`${EXAMPLES}client.sh`, recorded);
      const [connected, ...rest] = stdout.split("\n");
      assert.match(connected!, /^connected to a server of version \d/);
      assert.deepEqual([rest, code, stderr], [
        [
          "the file: from a file",
          "from a file",
          "got a line",
          "exit code 0",
          "again: from a file",
          "again: got a line",
          "a missing program: code -32603",
          "",
        ],
        0,
        "",
      ]);
      const checked = new Set<string>();
      const [sent, received] = await Promise.all(
        ["sent", "received"].map((name) => Deno.readTextFile(`${directory}/${name}`)),
      );
      await assertLines(sent!, received!, (method) => checked.add(method));
      for (const method of USED) assert.ok(checked.has(method), `${method} was held against the document`);
    }),
});

Deno.test("every example client can be read in one sitting", () => {
  for (const name of ["client.py", "client.sh", "client.ts"]) {
    const lines = Deno.readTextFileSync(`${EXAMPLES}${name}`).trimEnd().split("\n").length;
    assert.ok(lines < MAX_LINES, `${name} has ${lines} lines`);
  }
});

function skipped(missing: string | null): string {
  return missing === null ? "" : ` (SKIPPED: ${missing} is not installed)`;
}

async function succeeds(program: string, args: string[]): Promise<boolean> {
  try {
    return (await new Deno.Command(program, { args, stdout: "null", stderr: "null" }).output()).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function run(program: string, args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const { code, stdout, stderr } = await new Deno.Command(program, { args, stdin: "null" }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}
