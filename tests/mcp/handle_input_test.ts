import assert from "node:assert/strict";
import { MAX_WAITING_INPUT_BYTES } from "../../src/mcp/limits.ts";
import { McpError } from "../support/mcp_peer.ts";
import { Scene, textOf } from "./scene.ts";

const ARGS = { command: "x", workdir: "/work", yield_ms: 1000 };

/** A command with a handle that has a standard input and does not read it. */
async function unreadCommand() {
  const scene = new Scene({ hasHandles: true });
  const { peer } = await scene.client();
  const { shell, handle } = await scene.leftRunning(peer, { ...ARGS, stdin: true });
  shell.isReading = false;
  return { scene, peer, shell, handle };
}

Deno.test("nobody waits for a command that does not read, and results say how much it has not read", async () => {
  const { scene, peer, handle } = await unreadCommand();
  const input = peer.call("shell_input", { handle, text: "x".repeat(1_000_000), wait_ms: 500 });
  await scene.passTimeUntil(input);
  assert.deepEqual([textOf(await input).running, textOf(await input).waiting_input_bytes], [true, 1_000_000]);

  const text = "x".repeat(MAX_WAITING_INPUT_BYTES - 1_000_000 + 1);
  await assert.rejects(
    peer.call("shell_input", { handle, text }),
    /1000000 bytes .* not been read yet; wait with shell_poll/,
  );
  const more = peer.call("shell_input", { handle, text: text.slice(1), wait_ms: 0 });
  await scene.passTimeUntil(more);
  assert.equal(textOf(await more).waiting_input_bytes, MAX_WAITING_INPUT_BYTES);

  const { lost_input_bytes, waiting_input_bytes } = textOf(await peer.call("shell_stop", { handle }));
  assert.deepEqual([lost_input_bytes, waiting_input_bytes], [MAX_WAITING_INPUT_BYTES, undefined]);
});

Deno.test("cancelling a shell_input ends the command that does not read it", async () => {
  const { peer, shell, handle } = await unreadCommand();
  const requestId = peer.nextId;
  peer.call("shell_input", { handle, text: "x" }).catch(() => {});
  peer.notify("notifications/cancelled", { requestId });
  await shell.exited;
  assert.equal(shell.isTerminated, true);
});

Deno.test("input for a command without a standard input is refused, with advice", async () => {
  const scene = new Scene({ hasHandles: true });
  const { peer } = await scene.client();
  const { handle } = await scene.leftRunning(peer, ARGS);
  await assert.rejects(peer.call("shell_input", { handle, text: "yes\n" }), (error: McpError) => {
    return error.code === -32_602 && /was not written, because .*: start it with stdin: true/.test(error.message);
  });
  const close = peer.call("shell_input", { handle, close: true, wait_ms: 0 });
  await scene.passTimeUntil(close);
  assert.equal(textOf(await close).running, true, "the end of an empty input is no mistake");
});
