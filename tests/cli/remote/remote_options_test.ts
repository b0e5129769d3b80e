import assert from "node:assert/strict";
import { CliError } from "../../../src/cli/cli_error.ts";
import { parseRemote } from "../../../src/cli/remote/remote_options.ts";

const BASE = ["--remote", "https://hub", "--environment-id", "e"];

function registration(argv: string[], env: Record<string, string> = {}) {
  const parsed = parseRemote(argv, env);
  assert.ok(parsed.type === "remote");
  return parsed.registration;
}

Deno.test("the flag that names the id decides the form, unless the form is named, too", () => {
  assert.equal(registration(BASE).transport, "noise");
  assert.equal(registration([...BASE, "--remote-transport", "plain"]).transport, "plain");
  const seed = ["--remote", "https://hub", "--executor-id", "x"];
  assert.equal(registration(seed).transport, "plain");
  assert.deepEqual([registration(seed).id, registration([...seed, "--remote-transport=noise"]).transport], [
    "x",
    "noise",
  ]);
});

Deno.test("the token comes from a pipe, a file, our variable or the reference's, in this order", () => {
  const env = { EXEC_SERVER_REMOTE_TOKEN: "ours", CODEX_EXEC_SERVER_REMOTE_BEARER_TOKEN: "theirs" };
  assert.deepEqual(registration([...BASE, "--remote-token-file", "/t"], env).token, { type: "file", path: "/t" });
  assert.deepEqual(registration([...BASE, "--executor-credential-stdin"], env).token, { type: "stdin" });
  const variable = (name: string, value: string | null) => ({ type: "variable", name, value });
  assert.deepEqual(registration(BASE, env).token, variable("EXEC_SERVER_REMOTE_TOKEN", "ours"));
  const theirs = { CODEX_EXEC_SERVER_REMOTE_BEARER_TOKEN: "theirs" };
  assert.deepEqual(registration(BASE, theirs).token, variable("CODEX_EXEC_SERVER_REMOTE_BEARER_TOKEN", "theirs"));
  assert.deepEqual(registration(BASE).token, variable("CODEX_EXEC_SERVER_REMOTE_BEARER_TOKEN", null));
});

Deno.test("the reference's variable for the end of standard input takes true and false", () => {
  const variable = (value: string) => ({ CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE: value });
  assert.equal(registration(BASE, variable("true")).exitOnStdinClose, true);
  assert.equal(registration(BASE, variable("false")).exitOnStdinClose, false);
  assert.equal(registration([...BASE, "--exit-on-stdin-close"]).exitOnStdinClose, true);
  assert.throws(() => registration(BASE, variable("1")), usage(/must be true or false/));
});

Deno.test("what is missing or contradicts itself is a usage error", () => {
  const cases: [string[], RegExp][] = [
    [["--remote", "https://hub"], /needs --environment-id or --executor-id/],
    [["--environment-id", "e"], /--remote URL is required/],
    [[...BASE, "--executor-id", "x"], /cannot be given together/],
    [[...BASE, "--listen", "ws://127.0.0.1:0"], /--remote and --listen cannot be given together/],
    [[...BASE, "--executor-credential-stdin", "--remote-token-file", "/t"], /cannot be given together/],
    [["--remote", "u", "--executor-id", "x", "--identity-file", "/i"], /no meaning in the plain form/],
    [[...BASE, "more"], /unexpected argument "more"/],
    [[...BASE, "--remote-transport", "direct"], /must be noise or plain/],
  ];
  for (const [argv, reason] of cases) assert.throws(() => registration(argv), usage(reason), argv.join(" "));
});

Deno.test("the flags of serve that do not open a door are taken, too", () => {
  const parsed = parseRemote([...BASE, "--sandbox", "refuse", "--log", "json"], {});
  assert.ok(parsed.type === "remote");
  assert.deepEqual([parsed.serving.sandbox, parsed.serving.log.format], ["refuse", "json"]);
});

function usage(reason: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof CliError && error.exitCode === 2 && reason.test(error.message);
}
