/** How a program and its arguments are shown to the user who is asked, and to the model whose command was denied. */

import assert from "node:assert/strict";
import { Scene, textOf } from "./scene.ts";

const RULES = `prefix_rule(pattern = ["ask"], decision = "prompt")
prefix_rule(pattern = ["no"], decision = "forbidden")
`;
const ARGS = { command: "x", workdir: "/work" };

Deno.test("a question shows the beginning and the end of a long command, and then says how much is not shown", async () => {
  const scene = new Scene({ rules: RULES });
  const { peer } = await scene.client();
  const started = scene.shells.next();
  void peer.call("shell", ARGS);
  const shell = await started;
  const fake = "` in `/work`? 1 characters";
  await shell.exec(["ask", "first", "x".repeat(1_500_000), fake, "last"]);
  const { message } = peer.prompts[0]!;
  assert.ok(message.length < 8192 + 200);
  assert.match(
    message,
    /^Allow agent to run `\/usr\/bin\/ask first x+… \d+ characters not shown …x+ .* last` in `\/work`\? /,
  );
  const whole = "/usr/bin/ask first  ".length + 1_500_000 + `'${fake}' last`.length;
  assert.ok(message.endsWith(`? ${whole - 8192} characters in the middle of this command are not shown.`));
  shell.exit(0);
});

Deno.test("a result shows the beginning and the end of a long denied command, and no half of a character", async () => {
  const scene = new Scene({ rules: RULES });
  const { peer } = await scene.client();
  const started = scene.shells.next();
  const answer = peer.call("shell", ARGS);
  const shell = await started;
  for (const word of ["\u{1f600}".repeat(400_000), `x${"\u{1f600}".repeat(400_000)}`]) {
    await shell.exec(["no", word, "end"]);
  }
  shell.exit(0);
  const result = await answer;
  const commands: string[] = textOf(result).denied.map(({ command }: { command: string }) => command);
  for (const command of commands) {
    assert.ok(command.length < 1024 + 100 && command.isWellFormed(), command);
    assert.match(command, /^\/usr\/bin\/no '.*… \d+ characters not shown ….*' end$/);
  }
});

Deno.test("nothing in a command can hide a part of it on the screen, or turn it round", async () => {
  const scene = new Scene({ rules: RULES });
  const { peer } = await scene.client();
  const started = scene.shells.next();
  const answer = peer.call("shell", ARGS);
  const shell = await started;
  const words = ["rm -rf /\u001b[2K\rls", "\u202egnp.exe", "two\n\tlines é"];
  await shell.exec(["ask", ...words]);
  const shown = "'rm -rf /\\u001b[2K\\rls' '\\u202egnp.exe' 'two\n\tlines é'";
  assert.equal(peer.prompts[0]!.message, `Allow agent to run \`/usr/bin/ask ${shown}\` in \`/work\`?`);
  await shell.exec(["no", ...words]);
  shell.exit(0);
  assert.equal(textOf(await answer).denied.at(-1).command, `/usr/bin/no ${shown}`);
});

Deno.test("a program that is called under another name is shown with that name, also a long one", async () => {
  const scene = new Scene({ rules: RULES });
  const { peer } = await scene.client();
  const started = scene.shells.next();
  const answer = peer.call("shell", ARGS);
  const shell = await started;
  const file = "/usr/bin/ask";
  const own = ["ask", file, "../usr/bin/ask"];
  const others = ["busy-box", "", "-ask", "/work/ask", "a b\u001b[2K", "x".repeat(100_000)];
  for (const name of [...own, ...others]) await shell.exec([name, "x"], { file });
  const shown = peer.prompts.map(({ message }) => /run `(.*)` in `\/work`\?(.*)$/.exec(message)!.slice(1));
  assert.deepEqual(shown, [
    ...own.map(() => ["/usr/bin/ask x", ""]),
    ["exec -a busy-box /usr/bin/ask x", ""],
    ["exec -a '' /usr/bin/ask x", ""],
    ["exec -a -ask /usr/bin/ask x", ""],
    ["exec -a /work/ask /usr/bin/ask x", ""],
    ["exec -a 'a b\\u001b[2K' /usr/bin/ask x", ""],
    [
      `exec -a ${"x".repeat(128)}… 99744 characters not shown …${"x".repeat(128)} /usr/bin/ask x`,
      " 99744 characters in the middle of this command are not shown.",
    ],
  ]);
  await shell.exec(["maybe", "x"], { file: "/usr/bin/no" });
  shell.exit(0);
  assert.equal(textOf(await answer).denied.at(-1).command, "exec -a maybe /usr/bin/no x");
  const { argv } = scene.audit.at(-1) as { argv: readonly string[] };
  assert.deepEqual(argv, ["maybe", "x"]);
});
