/**
 * Commands that fork without end inside their sandbox. How many processes there are at a time is bounded by the kernel,
 * everybody else goes on, and all of them end with their call.
 *
 * Root is exempt from that bound: there it is the control group of the server that bounds, which is not ours to make.
 */

import assert from "node:assert/strict";
import { MAX_PROCESSES } from "../../src/mcp/limits.ts";
import { McpHttpClient } from "../support/mcp_http_client.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { serverCommand, TestServer } from "../support/test_server.ts";
import { until } from "../support/until.ts";
import { ESCALATE, NO_WATCH, SupervisedScene } from "../support/supervised_scene.ts";
import { IS_ROOT } from "./scene.ts";

const NO_BOUND = NO_WATCH ?? (IS_ROOT ? "the kernel bounds no processes of root; `unprivileged.ts` runs it" : null);

function attack(name: string, fn: () => Promise<void>, reason = NO_BOUND): void {
  const whole = `${IS_ROOT ? "root" : "unprivileged"}, fork bombs: ${name}`;
  Deno.test({ name: reason === null ? whole : `${whole} (SKIPPED: ${reason})`, ignore: reason !== null, fn });
}

/** Says how many there were at most, once there are many, and stays: the shell itself may fork no more by then. */
const BOMB = "exec 9< <(sleep 600)\n:(){ :|:& };:\n" +
  `until (( $# > ${MAX_PROCESSES} * 3 / 4 )); do set -- /proc/[0-9]*; done\n` +
  "for ((i = 0; i < 100; i++)); do set -- /proc/[0-9]*; (( $# > most )) && most=$#; done\n" +
  "echo most $most\nread -ru 9";

/** A listing is not of one moment: processes that come and go meanwhile are counted both. */
const LISTING_ERROR = MAX_PROCESSES / 2;

function assertBounded(output: string): void {
  const most = Number(/most (\d+)$/m.exec(output)?.[1]);
  assert.ok(most > 0 && most <= MAX_PROCESSES + LISTING_ERROR, `${most} processes`);
  assert.match(output, /fork: .*Resource temporarily unavailable/);
}

for (const sandbox of ["read /, write ws", "read /"]) {
  attack(`bounded, and gone with their shell (${sandbox})`, async () => {
    await using scene = await SupervisedScene.open();
    const bomb = await scene.start(BOMB, { sandbox });
    await until(() => bomb.output.stdout.includes("\n"), () => bomb.output.stderr.slice(0, 1000));
    assertBounded(bomb.output.stdout + bomb.output.stderr);
    // Its bound is its own: others start, inside and outside.
    const { stdout } = await scene.run("/bin/echo inside; sh -c '/bin/echo outside'", {
      sandbox,
      rules: { sh: ESCALATE },
    });
    assert.equal(stdout, "inside\noutside\n");
    await bomb.shell.terminate();
    const { signal } = await bomb.shell.exited;
    assert.equal(signal, "SIGKILL");
    await until(() => left(scene.ws).length === 0, () => `left: ${left(scene.ws)}`);
  });
}

attack(
  "stopped by its client, while another one goes on",
  () =>
    inScratchDirectory(async (directory) => {
      const { program, args } = serverCommand();
      const env = { CODEX_HOME: directory };
      const command = [program, ...args, "mcp", "--tools", "all"];
      await using server = await TestServer.start({ command, listen: "127.0.0.1:0", env });
      const [attacker, other] = [new McpHttpClient({ url: server.url }), new McpHttpClient({ url: server.url })];
      await Promise.all([attacker.peer.initialize(), other.peer.initialize()]);
      const ask = async (client: McpHttpClient, tool: string, words: object) =>
        JSON.parse((await client.peer.call(tool, words)).content[0].text);
      const place = { workdir: directory, login: false };
      const bombed = async (): Promise<string> => {
        const begun = await ask(attacker, "shell", { ...place, command: BOMB, yield_ms: 1 });
        let { output } = begun;
        // However long it takes on a busy machine until there are many.
        while (!/most \d+$/m.test(output)) {
          const { output: more, running } = await ask(attacker, "shell_poll", { handle: begun.handle, wait_ms: 500 });
          output += more;
          assert.equal(running, true, output.slice(0, 1000));
        }
        await ask(attacker, "shell_stop", { handle: begun.handle });
        return output;
      };
      let isOver = false;
      const bomb = bombed().finally(() => isOver = true);
      do {
        const { exit_code, output } = await ask(other, "shell", { ...place, command: "/bin/echo there" });
        assert.deepEqual([exit_code, output], [0, "there\n"]);
      } while (!isOver);
      assertBounded(await bomb);
      await until(() => left(directory).length === 0, () => `left: ${left(directory)}`);
    }),
);

attack("what leaves the sandbox is not bound by what is inside", async () => {
  await using scene = await SupervisedScene.open();
  const own = await new Deno.Command("bash", { args: ["-c", "ulimit -u"] }).output();
  const { stdout } = await scene.run("ulimit -u; bash -c 'ulimit -u'", { rules: { bash: ESCALATE } });
  assert.equal(stdout, `${MAX_PROCESSES}\n${new TextDecoder().decode(own.stdout)}`);
}, NO_WATCH);

/** Processes in a directory. */
function left(directory: string): string[] {
  const pids = Array.from(Deno.readDirSync("/proc"), ({ name }) => name).filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => {
    try {
      return Deno.readLinkSync(`/proc/${pid}/cwd`) === directory;
    } catch {
      return false; // Gone, or not ours to look at.
    }
  });
}
