/** Tokens of a file: made, listed and revoked by the commands, asked for at the port of a server. */

import assert from "node:assert/strict";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { inScratchDirectory, modeOf } from "../support/scratch_directory.ts";
import { runCli, TestServer } from "../support/test_server.ts";

const POLICY_VIOLATION = 1008;

async function createToken(file: string, name: string, words: readonly string[] = []): Promise<string> {
  const { code, stdout, stderr } = await runCli([
    ...["token", "create", "--tokens", file, "--name", name],
    ...(words.includes("--roles") ? [] : ["--roles", "client"]),
    ...(words.includes("--ids") ? [] : ["--ids", "*"]),
    ...words,
  ]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^est_[\w-]{43}\n$/);
  return stdout.trim();
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

Deno.test("token create, list and revoke keep a private file of digests, and concurrent changes all stay", async () => {
  await inScratchDirectory(async (directory) => {
    const file = `${directory}/tokens.json`;
    const names = ["a", "b", "c", "d"];
    const tokens = await Promise.all(names.map((name) => createToken(file, name)));
    assert.equal(new Set(tokens).size, names.length);
    assert.equal(modeOf(file), 0o600);
    const text = await Deno.readTextFile(file);
    for (const token of tokens) assert.ok(!text.includes(token));

    const again = await runCli(["token", "create", "--tokens", file, "--name", "a", "--roles", "client", "--ids", "*"]);
    assert.deepEqual([again.code, again.stdout], [1, ""]);
    assert.match(again.stderr, /there is a token "a" already/);

    assert.equal((await runCli(["token", "revoke", "b", "--tokens", file])).code, 0);
    const { stdout } = await runCli(["token", "list", "--json"], { EXEC_SERVER_TOKENS: file });
    // deno-lint-ignore no-explicit-any
    assert.deepEqual(JSON.parse(stdout).map(({ name }: any) => name).sort(), ["a", "c", "d"]);
    assert.match((await runCli(["token", "list", "--tokens", file])).stdout, /^NAME +ROLES +IDS +EXPIRES\n/);
    const missing = await runCli(["token", "revoke", "b", "--tokens", file]);
    assert.deepEqual([missing.code, /there is no token "b"/.test(missing.stderr)], [1, true]);
  });
});

Deno.test("token says what is missing or wrong, with status 2", async () => {
  const complete = ["--tokens", "/nonexistent", "--name", "a", "--roles", "client", "--ids", "*"];
  const cases: [string[], RegExp][] = [
    [[], /write exec-server token create, list or revoke/],
    [["drop"], /unknown word "drop"/],
    [["create"], /--tokens PATH is missing/],
    [["create", ...complete.slice(0, 4)], /--roles ROLES is missing/],
    [["create", ...complete.slice(0, 6)], /--ids IDS, such as --ids "\*" for all is missing/],
    [["create", ...complete.with(5, "root")], /--roles "root": the roles are executor, client, viewer/],
    [["create", ...complete.with(7, "a/b")], /--ids "a\/b": a pattern is an id/],
    [["create", ...complete, "--expires", "later"], /--expires "later": write 90d/],
    [["revoke", "--tokens", "/nonexistent"], /the name of the token is missing/],
  ];
  await Promise.all(cases.map(async ([words, expected]) => {
    const { code, stderr } = await runCli(["token", ...words]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, expected);
  }));
});

Deno.test("--ws-auth tokens lets in each client with its own token, and revoking one drops its connections alone", async () => {
  await inScratchDirectory(async (directory) => {
    const file = `${directory}/tokens.json`;
    const [alice, bob] = [await createToken(file, "alice"), await createToken(file, "bob", ["--ids", "this-*"])];
    const foreign = [
      await createToken(file, "elsewhere", ["--ids", "another"]),
      await createToken(file, "devbox", ["--roles", "executor,viewer"]),
    ];
    await using server = await TestServer.start({
      args: ["--log", "json", "--ws-auth", "tokens", "--tokens", file, "--tokens-id", "this-box"],
    });
    for (const token of ["est_guess", ...foreign]) {
      await assert.rejects(RawWebSocket.connect(server.url, bearer(token)), /401/);
    }
    await assert.rejects(RawWebSocket.connect(server.url), /401/);
    using ofAlice = await RawWebSocket.connect(server.url, bearer(alice));
    using ofBob = await RawWebSocket.connect(server.url, bearer(bob));
    await ofAlice.handshake();
    await ofBob.handshake();

    await runCli(["token", "revoke", "alice", "--tokens", file]);
    server.kill("SIGHUP");
    const frame = await ofAlice.readFrame();
    assert.deepEqual([frame?.opcode, new DataView(frame!.payload.buffer).getUint16(0)], [0x8, POLICY_VIOLATION]);
    assert.equal(new TextDecoder().decode(frame!.payload.subarray(2)), "the token was revoked");
    await assert.rejects(RawWebSocket.connect(server.url, bearer(alice)), /401/);

    // A broken file changes nothing.
    await Deno.writeTextFile(file, "{");
    server.kill("SIGHUP");
    await server.logged("the old one stays in force");
    await ofBob.sendText('{"id":1,"method":"environment/info"}');
    assert.equal((await ofBob.readMessage()).id, 1);

    await server[Symbol.asyncDispose]();
    const log = await server.log;
    assert.match(log, /"message":"connected".*"token":"bob"/);
    assert.match(log, /"message":"the tokens were read again","tokens":3,"dropped":1/);
    assert.match(log, /the token is not for the role client at \\"this-box\\"/);
    for (const token of [alice, bob, ...foreign]) assert.ok(!log.includes(token));
  });
});

Deno.test("--ws-auth tokens refuses to start without a file it can use", async () => {
  await inScratchDirectory(async (directory) => {
    const file = `${directory}/tokens.json`;
    await Deno.writeTextFile(file, '{"version":1,"tokens":[{"name":"a"}]}');
    const words = ["--listen", "ws://127.0.0.1:0", "--ws-auth", "tokens"];
    const cases: [string[], RegExp][] = [
      [[], /--ws-auth tokens needs --tokens/],
      [["--tokens", `${directory}/none`], /cannot read --tokens/],
      [["--tokens", file], /is not a file of tokens: tokens\.0/],
      [["--tokens", file, "--tokens-id", "a/b"], /--tokens-id "a\/b": an id has/],
    ];
    for (const [more, expected] of cases) {
      const { code, stderr } = await runCli([...words, ...more]);
      assert.equal(code, 1);
      assert.match(stderr, expected);
    }
  });
});
