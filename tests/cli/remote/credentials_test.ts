import assert from "node:assert/strict";
import { fileCredential, PipeCredential, variableCredential } from "../../../src/cli/remote/credentials.ts";
import { inScratchDirectory } from "../../support/scratch_directory.ts";

const NOW = 1_000_000;

function frame(changes: Record<string, unknown> = {}): string {
  return JSON.stringify({
    version: 1,
    environment_id: "env",
    token: "secret-token",
    expires_at: NOW + 10,
    ...changes,
  }) + "\n";
}

function pipe(pieces: string[]): { credential: PipeCredential; running: Promise<void> } {
  const credential = new PipeCredential("env", () => NOW);
  const bytes = pieces.map((piece) => new TextEncoder().encode(piece));
  return { credential, running: credential.run(ReadableStream.from(bytes)) };
}

Deno.test("each line of the pipe replaces the token, however the bytes are cut", async () => {
  const text = frame() + frame({ token: "next" });
  for (const pieces of [[text], [...text], [text.slice(0, 30), text.slice(30)]]) {
    const { credential, running } = pipe(pieces);
    await running;
    assert.equal(await credential.token(), "next");
  }
});

Deno.test("lines that are not right end it in the reference's words, and hold no token", async () => {
  const invalid = "invalid exec-server executor credential frame";
  const cases: [string[], string][] = [
    [["nonsense\n"], invalid],
    [["null\n"], invalid],
    [[frame({ version: 2 })], invalid],
    [[frame({ token: " " })], invalid],
    [[frame({ extra: 1 })], invalid],
    [[frame({ expires_at: "soon" })], invalid],
    [[frame(), "nonsense\n"], invalid],
    [["x".repeat(70_000)], invalid],
    [[frame({ expires_at: NOW })], "exec-server executor credential is expired"],
    [[frame({ environment_id: "other" })], "exec-server executor credential is for a different environment"],
    [[], "exec-server executor credential pipe closed"],
    [['{"version":1'], "exec-server executor credential pipe closed"],
  ];
  for (const [pieces, message] of cases) {
    await assert.rejects(pipe(pieces).running, { message }, pieces.join().slice(0, 100));
  }
  const { credential, running } = pipe([]);
  await Promise.all([assert.rejects(running), assert.rejects(credential.token(), /pipe closed/)]);
});

Deno.test("a variable must exist and not be empty, and a file is read each time", async () => {
  const text = (name: string, what: string) =>
    `executor registry authentication error: executor registry bearer token environment variable \`${name}\` is ${what}`;
  assert.throws(() => variableCredential("executor", "V", null), { message: text("V", "not set") });
  assert.throws(() => variableCredential("executor", "V", " \n"), { message: text("V", "empty") });
  assert.equal(await variableCredential("executor", "V", " tok \n").token(), "tok");
  await inScratchDirectory(async (directory) => {
    const credential = fileCredential("environment", `${directory}/token`);
    const missing = /bearer token file ".*" cannot be read: No such file/;
    await assert.rejects(credential.token(), { message: missing, isFinal: true });
    await Deno.writeTextFile(`${directory}/token`, "one\n");
    assert.equal(await credential.token(), "one");
    await Deno.writeTextFile(`${directory}/token`, "two\n");
    assert.equal(await credential.token(), "two");
    await Deno.writeTextFile(`${directory}/token`, "\n");
    // Whoever changes the token may write the file in two steps.
    await assert.rejects(credential.token(), { message: /is empty$/, isFinal: false });
    await Deno.remove(`${directory}/token`);
    await assert.rejects(credential.token(), { message: missing, isFinal: false });
    await Deno.writeTextFile(`${directory}/token`, "three\n");
    assert.equal(await credential.token(), "three");
  });
});
