/**
 * Flags and variables of `serve` as the options they become, or the refusal.
 *
 * More than 300 lines: tables of command lines.
 */

import assert from "node:assert/strict";
import { CliError } from "../../../src/cli/cli_error.ts";
import { parseServe, type ServeInvocation, type ServeOptions } from "../../../src/cli/serve/serve_options.ts";
import { createAuthenticator } from "../../../src/transport/door/auth.ts";

const SECRET = "0123456789abcdef0123456789abcdef";
const DIGEST_OF_TOK = "1a7674eb4ee78df7e1ac439a93c3fa8e3c945784d4dec9fd8e3011738b2f1d62";

const FILES: Record<string, string> = {
  "/token": "  s3cret-token\n",
  "/secret": `${SECRET}\n`,
  "/short": ` ${SECRET.slice(1)} \n`,
  "/empty": " \n\t",
  "/two-lines": "first\nsecond",
  "/not-ascii": "tökèn",
  "/not-utf8": "abc\ufffd" + SECRET,
};

function readTextFile(path: string): Promise<string> {
  const text = FILES[path];
  if (text === undefined) return Promise.reject(new Deno.errors.NotFound("No such file or directory (os error 2)"));
  return Promise.resolve(text);
}

function parse(argv: readonly string[], env: Record<string, string> = {}): Promise<ServeInvocation> {
  return parseServe(argv, { env, readTextFile });
}

async function optionsOf(argv: readonly string[], env: Record<string, string> = {}): Promise<ServeOptions> {
  const invocation = await parse(argv, env);
  if (invocation.type !== "serve") assert.fail(`asked for ${invocation.type}`);
  return invocation.options;
}

async function assertRefused(
  argv: readonly string[],
  expected: { exitCode: 1 | 2; message: string },
  env: Record<string, string> = {},
): Promise<void> {
  await assert.rejects(parse(argv, env), (error) => {
    assert.ok(error instanceof CliError, String(error));
    assert.deepEqual({ exitCode: error.exitCode, message: error.message }, expected);
    return true;
  }, argv.join(" "));
}

Deno.test("parseServe() without words or variables gives the documented defaults", async () => {
  const { auth, ...options } = await optionsOf([]);
  assert.equal(auth.type, "urlToken");
  assert.deepEqual(options, {
    listen: { type: "tcp", hostname: "127.0.0.1", port: 0 },
    allowOtherUsers: false,
    allowedOrigins: [],
    tls: null,
    concurrentRequests: null,
    pingIntervalMs: 30_000,
    maxProcessesPerConnection: null,
    retainedOutputBytesPerProcess: 1_048_576,
    closedProcessRetentionMs: 30_000,
    maxClosedProcesses: 4096,
    maxClosedProcessBytes: 268_435_456,
    acknowledgedOutputBytes: 536_870_912,
    detachedOutputBytes: 67_108_864,
    allowDirectExec: true,
    allowPreparedExec: true,
    allowTunnel: false,
    sandbox: "auto",
    shutdownGracePeriodMs: 0,
    detachedSessionTtlMs: 30_000,
    maxDetachTtlMs: 86_400_000,
    idleExitMs: null,
    keepProcessesOnSessionEnd: false,
    sharedProcesses: true,
    linger: true,
    log: { format: "text", level: "info" },
  });
});

Deno.test("parseServe() carries every flag to its option", async () => {
  const options = await optionsOf([
    ...["--listen", "unix:/run/x.sock", "--concurrent-requests", "4", "--ping-interval-ms=250"],
    ...["--allow-other-users"],
    ...["--max-processes-per-connection", "7", "--retained-output-bytes-per-process", "4096"],
    ...["--no-allow-direct-exec", "--no-allow-prepared-exec", "--shutdown-grace-period-ms", "2000", "--sandbox=refuse"],
    ...["--closed-process-retention-ms", "9", "--max-closed-processes", "10", "--max-closed-process-bytes", "11"],
    ...["--max-detach-ttl-ms", "14", "--allow-tunnel", "--idle-exit", "30m"],
    ...["--acknowledged-output-bytes", "12", "--detached-output-bytes", "13", "--no-shared-processes", "--no-linger"],
    ...["--detached-session-ttl-ms", "0", "--keep-processes-on-session-end", "--log", "json", "--log-level", "debug"],
  ]);
  assert.deepEqual(options, {
    listen: { type: "unix", path: "/run/x.sock" },
    auth: { type: "none" },
    allowOtherUsers: true,
    allowedOrigins: [],
    tls: null,
    concurrentRequests: 4,
    pingIntervalMs: 250,
    maxProcessesPerConnection: 7,
    retainedOutputBytesPerProcess: 4096,
    closedProcessRetentionMs: 9,
    maxClosedProcesses: 10,
    maxClosedProcessBytes: 11,
    acknowledgedOutputBytes: 12,
    detachedOutputBytes: 13,
    allowDirectExec: false,
    allowPreparedExec: false,
    allowTunnel: true,
    sandbox: "refuse",
    shutdownGracePeriodMs: 2000,
    detachedSessionTtlMs: 0,
    maxDetachTtlMs: 14,
    idleExitMs: 1_800_000,
    keepProcessesOnSessionEnd: true,
    sharedProcesses: false,
    linger: false,
    log: { format: "json", level: "debug" },
  });
});

Deno.test("parseServe() carries every variable to its option", async () => {
  const options = await optionsOf([], {
    EXEC_SERVER_LISTEN: "ws://0.0.0.0:80",
    EXEC_SERVER_INSECURE_NO_AUTH: "true",
    EXEC_SERVER_ALLOW_OTHER_USERS: "1",
    EXEC_SERVER_CONCURRENT_REQUESTS: "1",
    EXEC_SERVER_PING_INTERVAL_MS: "2",
    EXEC_SERVER_MAX_PROCESSES_PER_CONNECTION: "3",
    EXEC_SERVER_RETAINED_OUTPUT_BYTES_PER_PROCESS: "4",
    EXEC_SERVER_ALLOW_DIRECT_EXEC: "false",
    EXEC_SERVER_ALLOW_PREPARED_EXEC: "0",
    EXEC_SERVER_SANDBOX: "landlock",
    EXEC_SERVER_SHUTDOWN_GRACE_PERIOD_MS: "5",
    EXEC_SERVER_DETACHED_SESSION_TTL_MS: "6",
    EXEC_SERVER_KEEP_PROCESSES_ON_SESSION_END: "1",
    EXEC_SERVER_CLOSED_PROCESS_RETENTION_MS: "7",
    EXEC_SERVER_MAX_CLOSED_PROCESSES: "8",
    EXEC_SERVER_MAX_CLOSED_PROCESS_BYTES: "9",
    EXEC_SERVER_ACKNOWLEDGED_OUTPUT_BYTES: "10",
    EXEC_SERVER_DETACHED_OUTPUT_BYTES: "11",
    EXEC_SERVER_MAX_DETACH_TTL_MS: "12",
    EXEC_SERVER_ALLOW_TUNNEL: "1",
    EXEC_SERVER_IDLE_EXIT: "90s",
    EXEC_SERVER_SHARED_PROCESSES: "false",
    EXEC_SERVER_LOG: "json",
    EXEC_SERVER_LOG_LEVEL: "error",
  });
  assert.deepEqual(options, {
    listen: { type: "tcp", hostname: "0.0.0.0", port: 80 },
    auth: { type: "none" },
    allowOtherUsers: true,
    allowedOrigins: [],
    tls: null,
    concurrentRequests: 1,
    pingIntervalMs: 2,
    maxProcessesPerConnection: 3,
    retainedOutputBytesPerProcess: 4,
    closedProcessRetentionMs: 7,
    maxClosedProcesses: 8,
    maxClosedProcessBytes: 9,
    acknowledgedOutputBytes: 10,
    detachedOutputBytes: 11,
    allowDirectExec: false,
    allowPreparedExec: false,
    allowTunnel: true,
    sandbox: "landlock",
    shutdownGracePeriodMs: 5,
    detachedSessionTtlMs: 6,
    maxDetachTtlMs: 12,
    idleExitMs: 90_000,
    keepProcessesOnSessionEnd: true,
    sharedProcesses: false,
    linger: true,
    log: { format: "json", level: "error" },
  });
});

Deno.test("parseServe() asks for help or version when those are written", async () => {
  assert.deepEqual(await parse(["-h"]), { type: "help" });
  assert.deepEqual(await parse(["--listen", "off", "--help"]), { type: "help" });
  assert.deepEqual(await parse(["-V"]), { type: "version" });
  assert.deepEqual(await parse(["--version"]), { type: "version" });
});

Deno.test("parseServe() exits 2 for words it does not understand", async () => {
  const cases: [string[], string][] = [
    [["--concurrent-requests", "0"], '--concurrent-requests must be a whole number from 1 to 65536, not "0"'],
    [["--ws-auth", "zzz"], '--ws-auth must be capability-token, signed-bearer-token, url-token or tokens, not "zzz"'],
    [["--log", "xml"], '--log must be text or json, not "xml"'],
    [["--log-level", "trace"], '--log-level must be error, warn, info or debug, not "trace"'],
    [
      ["--ping-interval-ms", "2147483648"],
      '--ping-interval-ms must be a whole number from 1 to 2147483647, not "2147483648"',
    ],
    [["--shutdown-grace"], 'unknown flag "--shutdown-grace": did you mean --shutdown-grace-period-ms?'],
    [["--ws-token=hunter2"], 'unknown flag "--ws-token": did you mean --ws-token-file?'],
    [["extra"], 'unexpected argument "extra": see --help'],
    [["--", "--help"], 'unexpected argument "--help": see --help'],
  ];
  for (const [argv, message] of cases) await assertRefused(argv, { exitCode: 2, message });
});

Deno.test("parseServe() exits 1 for a bad listen URL, naming the flag or the variable", async () => {
  const reason = "is not accepted: use ws://IP:PORT, wss://IP:PORT, unix:/PATH or stdio";
  await assertRefused(["--listen", "off"], { exitCode: 1, message: `--listen "off" ${reason}` });
  await assertRefused([], { exitCode: 1, message: `EXEC_SERVER_LISTEN "off" ${reason}` }, {
    EXEC_SERVER_LISTEN: "off",
  });
});

Deno.test("parseServe() refuses an open listener beyond this machine unless it is asked for", async () => {
  for (const host of ["0.0.0.0", "10.0.0.1", "[::]", "[::ffff:10.0.0.1]"]) {
    const bare = host.replace(/[[\]]/g, "");
    await assertRefused(["--listen", `ws://${host}:0`], {
      exitCode: 1,
      message: `refusing to listen on ${bare} without authentication: anyone who can reach it could run commands; ` +
        "add --ws-auth, listen on 127.0.0.1, or accept the risk with --insecure-no-auth",
    });
    const accepted = [
      ["--insecure-no-auth"],
      ["--ws-auth", "capability-token", "--ws-token-file", "/token"],
    ];
    for (const extra of accepted) {
      const { listen } = await optionsOf(["--listen", `ws://${host}:0`, ...extra]);
      assert.deepEqual(listen, { type: "tcp", hostname: bare, port: 0 });
    }
  }
  for (const url of ["ws://127.9.9.9:0", "ws://[::1]:0", "unix:/x", "stdio"]) await optionsOf(["--listen", url]);
});

Deno.test("parseServe() asks for a random token if there is no address, and with url-token", async () => {
  const typeOf = async (argv: string[], env: Record<string, string> = {}) => (await optionsOf(argv, env)).auth.type;
  assert.equal(await typeOf([]), "urlToken");
  assert.equal(await typeOf(["--insecure-no-auth"]), "none");
  assert.equal(await typeOf(["--listen", "ws://127.0.0.1:0"]), "none");
  assert.equal(await typeOf([], { EXEC_SERVER_LISTEN: "ws://127.0.0.1:0" }), "none");
  assert.equal(await typeOf(["--ws-auth", "capability-token", "--ws-token-file", "/token"]), "capabilityToken");
  for (const url of ["ws://127.0.0.1:0", "ws://0.0.0.0:0", "stdio"]) {
    assert.equal(await typeOf(["--listen", url, "--ws-auth", "url-token"]), "urlToken");
  }
  await assertRefused(["--listen", "unix:/x", "--ws-auth", "url-token"], {
    exitCode: 1,
    message: "--ws-auth url-token needs an address with a port: the path of a unix socket cannot carry a token",
  });
  await assertRefused(["--ws-auth", "url-token", "--insecure-no-auth"], {
    exitCode: 1,
    message: "--insecure-no-auth and --ws-auth contradict each other",
  });
  await assertRefused(["--ws-auth", "url-token", "--ws-token-file", "/token"], {
    exitCode: 1,
    message: "--ws-token-file needs --ws-auth capability-token",
  });
});

Deno.test("parseServe() takes TLS with both files and a wss address, and the files with no other", async () => {
  const files = ["--tls-cert", "/c", "--tls-key", "/k"];
  const listen = { type: "tcp", hostname: "127.0.0.1", port: 0, isSecure: true };
  const options = await optionsOf(["--listen", "wss://127.0.0.1:0", ...files]);
  assert.deepEqual([options.listen, options.tls], [listen, { certFile: "/c", keyFile: "/k" }]);
  const missing = "--listen wss: needs --tls-cert and --tls-key";
  for (const some of [[], files.slice(0, 2), files.slice(2)]) {
    await assertRefused(["--listen", "wss://127.0.0.1:0", ...some], { exitCode: 1, message: missing });
  }
  for (const other of [[], ["--listen", "ws://127.0.0.1:0"], ["--listen", "unix:/x"], ["--listen", "stdio"]]) {
    await assertRefused([...other, ...files], { exitCode: 1, message: "--tls-cert needs --listen wss://IP:PORT" });
    await assertRefused([...other, ...files.slice(2)], {
      exitCode: 1,
      message: "--tls-key needs --listen wss://IP:PORT",
    });
  }
  // TLS proves who the server is, and not who the client is.
  await assert.rejects(optionsOf(["--listen", "wss://0.0.0.0:0", ...files]), /without authentication/);
  await optionsOf(["--listen", "wss://0.0.0.0:0", "--ws-auth", "url-token", ...files]);
});

Deno.test("parseServe() refuses auth flags that are incomplete or contradict each other", async () => {
  const capability = ["--ws-auth", "capability-token"];
  const signed = ["--ws-auth", "signed-bearer-token"];
  const cases: [string[], string][] = [
    [capability, "--ws-auth capability-token needs --ws-token-file or --ws-token-sha256"],
    [signed, "--ws-auth signed-bearer-token needs --ws-shared-secret-file"],
    [
      [...capability, "--ws-token-file", "/token", "--ws-token-sha256", DIGEST_OF_TOK],
      "--ws-token-file and --ws-token-sha256 cannot be given together",
    ],
    [["--ws-token-file", "/token"], "--ws-token-file needs --ws-auth capability-token"],
    [["--ws-token-sha256", DIGEST_OF_TOK], "--ws-token-sha256 needs --ws-auth capability-token"],
    [["--ws-shared-secret-file", "/secret"], "--ws-shared-secret-file needs --ws-auth signed-bearer-token"],
    [["--ws-issuer", "i"], "--ws-issuer needs --ws-auth signed-bearer-token"],
    [["--ws-audience", "a"], "--ws-audience needs --ws-auth signed-bearer-token"],
    [["--ws-max-clock-skew-seconds", "30"], "--ws-max-clock-skew-seconds needs --ws-auth signed-bearer-token"],
    [
      [...capability, "--ws-token-file", "/token", "--ws-issuer", "i"],
      "--ws-issuer needs --ws-auth signed-bearer-token",
    ],
    [
      [...signed, "--ws-shared-secret-file", "/secret", "--ws-token-file", "/token"],
      "--ws-token-file needs --ws-auth capability-token",
    ],
    [
      [...capability, "--ws-token-file", "/token", "--insecure-no-auth"],
      "--insecure-no-auth and --ws-auth contradict each other",
    ],
  ];
  for (const [argv, message] of cases) await assertRefused(argv, { exitCode: 1, message });
  await assertRefused(["--ws-auth", "capability-token", "--ws-token-sha256", DIGEST_OF_TOK], {
    exitCode: 1,
    message: "EXEC_SERVER_WS_TOKEN_FILE and --ws-token-sha256 cannot be given together",
  }, { EXEC_SERVER_WS_TOKEN_FILE: "/token" });
});

Deno.test("parseServe() refuses secrets it cannot use, without showing them", async () => {
  const token = (path: string) => ["--ws-auth", "capability-token", "--ws-token-file", path];
  const secret = (path: string) => ["--ws-auth", "signed-bearer-token", "--ws-shared-secret-file", path];
  const missing = "No such file or directory (os error 2)";
  const cases: [string[], string][] = [
    [token("/missing"), `cannot read --ws-token-file "/missing": ${missing}`],
    [secret("/missing"), `cannot read --ws-shared-secret-file "/missing": ${missing}`],
    [token("/empty"), '--ws-token-file "/empty": the file is empty'],
    [secret("/empty"), '--ws-shared-secret-file "/empty": the file is empty'],
    [token("/two-lines"), '--ws-token-file "/two-lines": a token must be one line of printable ASCII'],
    [token("/not-ascii"), '--ws-token-file "/not-ascii": a token must be one line of printable ASCII'],
    [secret("/not-utf8"), '--ws-shared-secret-file "/not-utf8": the file is not UTF-8 text'],
    [secret("/short"), '--ws-shared-secret-file "/short": a shared secret has at least 32 bytes, this one 31'],
    ...["abc", "g".repeat(64), "a".repeat(63), "a".repeat(65), ` ${"a".repeat(63)}`, `${"a".repeat(64)}\n`].map((
      hex,
    ): [string[], string] => [
      ["--ws-auth", "capability-token", "--ws-token-sha256", hex],
      "--ws-token-sha256: a SHA-256 digest is 64 hex digits",
    ]),
  ];
  for (const [argv, message] of cases) await assertRefused(argv, { exitCode: 1, message });
});

Deno.test("parseServe() loads a capability token from a file or a digest of either case, trimmed", async () => {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode("s3cret-token")));
  const hex = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const sources = [
    ["--ws-token-file", "/token"],
    ["--ws-token-sha256", hex],
    ["--ws-token-sha256", hex.toUpperCase()],
  ];
  for (const source of sources) {
    const { auth } = await optionsOf(["--ws-auth", "capability-token", ...source]);
    const authenticate = createAuthenticator(auth)!;
    assert.deepEqual(await authenticate("Bearer s3cret-token"), { ok: true });
    assert.deepEqual(await authenticate(`Bearer ${hex}`), { ok: false, body: "invalid websocket bearer token" });
  }
});

Deno.test("parseServe() carries the claims to check and the skew", async () => {
  const argv = ["--ws-auth", "signed-bearer-token", "--ws-shared-secret-file", "/secret"];
  const claims = async (extra: string[]) => {
    const { auth } = await optionsOf([...argv, ...extra]);
    if (auth.type !== "signedBearerToken") assert.fail(auth.type);
    return [auth.issuer, auth.audience, auth.maxClockSkewSeconds];
  };
  assert.deepEqual(await claims([]), [null, null, 30]);
  assert.deepEqual(
    await claims(["--ws-issuer", "i", "--ws-audience", "a", "--ws-max-clock-skew-seconds", "0"]),
    ["i", "a", 0],
  );
});

Deno.test("options never show a secret, whichever way they are printed", async () => {
  const shown: string[] = [];
  const { auth } = await optionsOf([]);
  if (auth.type !== "urlToken") assert.fail(auth.type);
  const token = new URL(auth.token.addTo("ws://127.0.0.1:1")).searchParams.get("token")!;
  const inspected = [Deno.inspect(auth, { depth: 20, showHidden: true }), JSON.stringify(auth), String(auth.token)];
  for (const text of inspected) assert.ok(!text.includes(token), text);
  for (
    const argv of [
      ["--ws-auth", "capability-token", "--ws-token-file", "/token"],
      ["--ws-auth", "signed-bearer-token", "--ws-shared-secret-file", "/secret"],
    ]
  ) {
    const options = await optionsOf(argv);
    shown.push(Deno.inspect(options, { depth: 20, showHidden: true }), JSON.stringify(options), String(options.auth));
  }
  for (const text of shown) {
    assert.ok(!text.includes("s3cret") && !text.includes(SECRET), text);
  }
});

Deno.test("parseServe() takes --allow-origin several times, or a list in its variable", async () => {
  const two = ["https://a.example", "http://localhost:8080"];
  const words = two.flatMap((origin) => ["--allow-origin", origin]);
  assert.deepEqual((await optionsOf(words)).allowedOrigins, two);
  const variable = { EXEC_SERVER_ALLOW_ORIGIN: two.join(", ") };
  assert.deepEqual((await optionsOf([], variable)).allowedOrigins, two);
  await assertRefused(["--allow-origin="], { exitCode: 2, message: "--allow-origin must not be empty" });
});
