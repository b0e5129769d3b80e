import assert from "node:assert/strict";
import { CommandInput } from "../../src/mcp/command_input.ts";

/** Takes so many bytes, in whole pieces, and then no more. */
function pipe(room: number) {
  const taken: string[] = [];
  const waiting: ((outcome: "written" | "closed") => void)[] = [];
  return {
    taken,
    /** Nobody reads any more. */
    hangUp: () => waiting.splice(0).forEach((settle) => settle("closed")),
    write(bytes: Uint8Array): Promise<"written" | "closed"> {
      const { promise, resolve } = Promise.withResolvers<"written" | "closed">();
      if (bytes.length > room) waiting.push(resolve);
      else {
        room -= bytes.length;
        taken.push(new TextDecoder().decode(bytes));
        resolve("written");
      }
      return promise;
    },
    closeStdin: () => void taken.push("the end"),
  };
}

/** Until everything that has been settled is known. */
const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

Deno.test("input that is written before the shell has started reaches it, in order", async () => {
  const input = new CommandInput(true);
  const shell = pipe(100);
  input.write("one ");
  input.write("two ");
  input.close();
  assert.equal(input.waitingBytes, 8);
  input.begins(shell);
  await turn();
  assert.deepEqual([shell.taken, input.waitingBytes, input.lostBytes], [["one ", "two ", "the end"], 0, 0]);
});

Deno.test("the number of unread bytes is exact, and they are lost when the command closes its input or ends", async () => {
  const input = new CommandInput(true);
  const shell = pipe(8192);
  input.begins(shell);
  input.write("x".repeat(10_000));
  await turn();
  assert.deepEqual([input.waitingBytes, input.lostBytes], [10_000 - 8192, 0]);
  shell.hangUp();
  await turn();
  assert.deepEqual([input.waitingBytes, input.lostBytes], [0, 10_000 - 8192]);
  input.write("y");
  input.ends();
  assert.deepEqual([input.waitingBytes, input.lostBytes], [0, 10_000 - 8192 + 1]);
  input.write("late");
  assert.equal(input.lostBytes, 10_000 - 8192 + 5);
});

Deno.test("input for a command that could not be started is lost, and nothing else happens", async () => {
  const input = new CommandInput(true);
  input.write("x");
  input.close();
  input.ends();
  await turn();
  assert.deepEqual([input.waitingBytes, input.lostBytes], [0, 1]);
  assert.throws(() => new CommandInput(false).write("x"), /start it with stdin: true/);
});
