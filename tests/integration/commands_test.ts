/** The commands that use a server, as people type them: each in a home of its own, with a server that it starts itself. */

import assert from "node:assert/strict";
import { assertLines } from "../support/answer_check.ts";
import { CommandHome } from "../support/command_home.ts";
import { NO_SANDBOX } from "../support/sandbox_host.ts";
import { TestServer } from "../support/test_server.ts";

Deno.test("exec starts the user's own server, once, and the commands of all run there", async () => {
  await using home = await CommandHome.make();
  const all = await Promise.all([1, 2, 3].map((n) => home.run(["exec", "--", "echo", String(n)])));
  assert.deepEqual(all.map(({ code, stdout, stderr }) => [code, stdout, stderr]), [
    [0, "1\n", ""],
    [0, "2\n", ""],
    [0, "3\n", ""],
  ]);
  assert.equal((await home.servers()).length, 1);
  assert.equal((await Deno.stat(home.stateDirectory)).mode! & 0o777, 0o700);
  // What was said to the server that they have started is checked, too.
  for (const method of ["initialize", "process/start", "process/closed"]) assert.ok(home.checkedMethods.has(method));
});

Deno.test("exec passes input, output, directory, variables and exit codes as they are", async () => {
  await using home = await CommandHome.make();
  const bytes = crypto.getRandomValues(new Uint8Array(60_000));
  const echoed = await home.run(["exec", "-i", "cat"], { input: bytes });
  assert.equal(echoed.code, 0);
  assert.deepEqual(echoed.bytes, bytes);

  const where = await home.run(["exec", "pwd", "-P"]);
  assert.equal(where.stdout.trim(), await Deno.realPath(home.path));
  assert.equal((await home.run(["exec", "-C", "/", "pwd"])).stdout, "/\n");

  const env = { LC_ALL: "C", SECRET_THING: "x", PASSED: "p" };
  const seen = await home.run(["exec", "-e", "A=1,2", "-e", "PASSED", "env"], { env });
  const lines = seen.stdout.split("\n");
  for (const line of ["A=1,2", "PASSED=p", "LC_ALL=C", "TERM=xterm"]) assert.ok(lines.includes(line), seen.stdout);
  assert.doesNotMatch(seen.stdout, /SECRET_THING|EXEC_SERVER|^PWD=/m);

  const both = await home.run(["exec", "sh", "-c", "echo out; echo err >&2; exit 7"]);
  assert.deepEqual([both.code, both.stdout, both.stderr], [7, "out\n", "err\n"]);
});

Deno.test("ssh gets no variable that holds a token of a server, neither to connect nor to install", async () => {
  await using home = await CommandHome.make();
  const bin = `${home.path}/bin`;
  await Deno.mkdir(bin);
  await Deno.writeTextFile(`${bin}/ssh`, `#!/bin/sh\nenv >> '${home.path}/seen'\nexit 255\n`, { mode: 0o755 });
  const env = {
    PATH: `${bin}:${Deno.env.get("PATH")}`,
    EXEC_SERVER_TOKEN: "t1",
    EXEC_SERVER_MY_SECRET: "t2",
    CODEX_EXEC_SERVER_AUTH_TOKEN: "t3",
    SSH_AUTH_SOCK: "/kept",
  };
  for (const install of [[], ["--install"]]) {
    const { code } = await home.run(["exec", "--url", "ssh://devbox", ...install, "true"], { env });
    assert.notEqual(code, 0);
  }
  const seen = await Deno.readTextFile(`${home.path}/seen`);
  // From its source there is no program that could be installed.
  const times = Deno.env.get("EXEC_SERVER_BINARY") === undefined ? 1 : 2;
  assert.equal(seen.match(/^SSH_AUTH_SOCK=\/kept$/gm)?.length, times, seen);
  assert.doesNotMatch(seen, /TOKEN|SECRET/);
});

Deno.test("exec takes variables from a file, and -e wins over them", async () => {
  await using home = await CommandHome.make();
  await Deno.writeTextFile(`${home.path}/variables`, "# a comment\nA=1\n\nB=two words=2\n");
  const words = ["exec", "--env-file", "variables", "-e", "A=mine", "--", "sh", "-c", 'echo "$A,$B"'];
  const seen = await home.run(words);
  assert.deepEqual([seen.stdout, seen.stderr, seen.code], ["mine,two words=2\n", "", 0]);
  await Deno.writeTextFile(`${home.path}/broken`, "A=1\nB\n");
  const broken = await home.run(["exec", "--env-file", "broken", "--", "true"]);
  assert.deepEqual([broken.stdout, broken.code], ["", 125]);
  assert.match(broken.stderr, /^exec-server: cannot read --env-file "broken": line 2 is not NAME=VALUE$/m);
  const missing = await home.run(["exec", "--env-file", "nowhere", "--", "true"]);
  assert.deepEqual([missing.stdout, missing.code], ["", 125]);
  assert.match(missing.stderr, /^exec-server: cannot read --env-file "nowhere": No such file or directory/);
});

Deno.test({
  name: `exec --sandbox confines the command${NO_SANDBOX === null ? "" : ` (SKIPPED: ${NO_SANDBOX})`}`,
  ignore: NO_SANDBOX !== null,
  async fn() {
    await using home = await CommandHome.make();
    const write = (policy: string, file: string) =>
      home.run(["exec", "--sandbox", policy, "--", "sh", "-c", `echo kept > ${file} && cat ${file}`]);
    assert.equal((await write("workspace-write", "inside")).stdout, "kept\n");
    for (const [policy, file] of [["read-only", "other"], ["workspace-write", "/var/exec-server-outside"]] as const) {
      const { code, stdout, stderr } = await write(policy, file);
      assert.deepEqual([code, stdout], [2, ""], stderr);
      assert.match(stderr, /Read-only file system/);
    }
    assert.match((await write("nonsense", "other")).stderr, /--sandbox must be read-only or workspace-write/);
  },
});

Deno.test("exec ends with the exit codes that scripts know", async () => {
  await using home = await CommandHome.make();
  const codes: [string[], number, RegExp][] = [
    [["exec", "sh", "-c", "kill -TERM $$"], 143, /^$/],
    [["exec", "--timeout", "100ms", "sleep", "60"], 124, /longer than --timeout/],
    [["exec", "no-such-program"], 127, /^exec-server: cannot run "no-such-program": No such file/],
    [["exec", "/etc/passwd"], 126, /Permission denied/],
    [["exec", "-C", "/no/such/dir", "true"], 125, /cannot run in "\/no\/such\/dir"/],
    [["exec"], 125, /no command to run/],
    [["exec", "--name", "x", "true"], 125, /--name needs --detach/],
    [["exec", "--url", "ws://127.0.0.1:1", "true"], 255, /cannot connect to ws:\/\/127\.0\.0\.1:1/],
    [["exec", "@nowhere", "true"], 125, /cannot go to @nowhere/],
  ];
  for (const [args, code, message] of codes) {
    const result = await home.run(args);
    assert.equal(result.code, code, `${args.join(" ")}: ${result.stderr}`);
    assert.match(result.stderr, message);
  }
});

Deno.test("exec --detach leaves the command running under its name", async () => {
  await using home = await CommandHome.make();
  const started = await home.run(["exec", "--detach", "--name", "web", "--", "sleep", "600"]);
  assert.match(started.stdout, /^[0-9a-z]+\n$/, started.stderr);
  const again = await home.run(["exec", "--detach", "--name", "web", "--", "sleep", "600"]);
  assert.equal(again.code, 125);
  assert.match(again.stderr, /process name web is in use/);
});

Deno.test("exec goes to the server that --url, the variable or a named place says, with its token", async () => {
  await using home = await CommandHome.make();
  await Deno.writeTextFile(`${home.path}/token`, "0123456789abcdef0123456789abcdef\n");
  await using server = await TestServer.start({
    args: ["--ws-auth", "capability-token", "--ws-token-file", `${home.path}/token`],
  });
  assert.equal((await home.run(["exec", "--url", server.url, "true"])).code, 255);
  const withToken = ["exec", "--url", server.url, "--token-file", `${home.path}/token`, "pwd"];
  const result = await home.run(withToken);
  // The home of the server's user: it is another machine for all we know.
  assert.equal(result.stdout.trim(), Deno.env.get("HOME"), result.stderr);
  await Deno.mkdir(`${home.path}/.config/exec-server`, { recursive: true });
  await Deno.writeTextFile(
    `${home.path}/.config/exec-server/config.toml`,
    `[places.there]\nurl = "${server.url}"\ntoken-file = "~/token"\n`,
  );
  assert.equal((await home.run(["exec", "@there", "--", "echo", "hi"])).stdout, "hi\n");
  assert.deepEqual(await home.servers(), []);
});

Deno.test("dial leads standard input and output to a server, and answers what was asked before the input ended", async () => {
  await using home = await CommandHome.make();
  const input = '{"id":1,"method":"initialize","params":{"clientName":"t"}}\n{"method":"initialized"}\n' +
    '{"id":2,"method":"environment/status"}\n';
  const { code, stdout, stderr } = await home.run(["dial"], { input });
  assert.equal(code, 0, stderr);
  assert.deepEqual(stdout.trim().split("\n").map((line) => JSON.parse(line).id), [1, 2]);
  await assertLines(input, stdout);
  assert.equal((await home.run(["dial", "ws://127.0.0.1:1"], { input })).code, 255);
});

Deno.test("--trace-file has every message of a command and its server, and no token", async () => {
  await using home = await CommandHome.make();
  const token = "0123456789abcdef0123456789abcdef";
  await Deno.writeTextFile(`${home.path}/token`, token);
  await using server = await TestServer.start({
    args: ["--ws-auth", "capability-token", "--ws-token-file", `${home.path}/token`],
  });
  const where = ["--url", server.url, "--token-file", `${home.path}/token`];
  for (const word of ["one", "two"]) {
    const { code, stderr } = await home.run(["exec", "--trace-file", "trace", ...where, "echo", word]);
    assert.equal(code, 0, stderr);
  }
  assert.equal((await Deno.stat(`${home.path}/trace`)).mode! & 0o777, 0o600);
  const trace = await Deno.readTextFile(`${home.path}/trace`);
  assert.ok(!trace.includes(token));
  const lines = trace.trimEnd().split("\n").map((line) => /^(\d+\.1) ([<>]) (\{.*\})$/.exec(line)!);
  assert.equal(new Set(lines.map(([, connection]) => connection)).size, 2);
  const sent = lines.filter(([, , direction]) => direction === ">").map(([, , , message]) =>
    JSON.parse(message!).method
  );
  assert.deepEqual(sent.filter((method) => /^init|start$/.test(method)), [
    ...["initialize", "initialized", "process/start"],
    ...["initialize", "initialized", "process/start"],
  ]);
  const got = lines.filter(([, , direction]) => direction === "<").map(([, , , message]) => JSON.parse(message!));
  const output = got.filter(({ method }) => method === "process/output").map(({ params }) => atob(params.chunk));
  assert.deepEqual(output, ["one\n", "two\n"]);

  const refused = await home.run(["exec", "--trace-file", "/no/such/trace", ...where, "true"]);
  assert.deepEqual([refused.code, refused.stdout], [125, ""]);
  assert.match(
    refused.stderr,
    /^exec-server: cannot write --trace-file "\/no\/such\/trace": No such file or directory/,
  );
});
