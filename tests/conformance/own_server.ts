import assert from "node:assert/strict";
import type { ConformReport } from "../../src/conform/run.ts";
import { childrenOf } from "../support/proc.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { runCli, TestServer } from "../support/test_server.ts";

const TOKEN = "the-token-of-this-test";

Deno.test("this server keeps every promise that `conform` checks, and the checks leave nothing behind", async () => {
  await inScratchDirectory(async (directory) => {
    const [tokenFile, temporary] = [`${directory}/token`, `${directory}/tmp`];
    await Deno.mkdir(temporary);
    await Deno.writeTextFile(tokenFile, `${TOKEN}\n`, { mode: 0o600 });
    await using server = await TestServer.start({
      args: ["--ws-auth", "capability-token", "--ws-token-file", tokenFile, "--log-level", "error", "--allow-tunnel"],
      env: { TMPDIR: temporary },
    });
    const { code, stdout, stderr } = await runCli(["conform", server.url, "--token-file", tokenFile, "--json"]);
    const report = JSON.parse(stdout) as ConformReport;
    assert.deepEqual(report.results.filter(({ outcome }) => outcome !== "passed"), []);
    assert.deepEqual([code, stderr, report.leftBehind], [0, "", null]);
    assert.ok(report.counts.passed > 115, `${report.counts.passed} checks`);
    assert.ok(report.notTested.length > 0);
    assert.ok(!stdout.includes(TOKEN));

    // Helpers and the guard stay as long as the server; what clients asked for does not.
    const left = [...Deno.readDirSync(temporary)].map(({ name }) => name).filter((name) => name.includes("conform"));
    const running = childrenOf(server.pid).map(({ commandLine }) => commandLine);
    assert.deepEqual([left, running.filter((line) => /^(sh|sleep|cat|head|seq|perl|python3)\b/.test(line))], [[], []]);
  });
});

Deno.test("`conform` says what a server does not offer", async () => {
  await using server = await TestServer.start({ args: ["--no-shared-processes"] });
  const { code, stdout } = await runCli(["conform", server.url, "--json"]);
  const { results } = JSON.parse(stdout) as ConformReport;
  const skipped = results.flatMap((result) => result.outcome === "skipped" ? [[result.area, result.reason]] : []);
  assert.deepEqual([code, skipped.filter(([area]) => area !== "door")], [0, [
    ...results.filter(({ area }) => area === "attach").map(() => [
      "attach",
      "not offered: sessions of this server cannot use each other's processes",
    ]),
    ...results.filter(({ area }) => area === "tunnels").map(() => [
      "tunnels",
      "not offered: the server does not show the flag netConnect",
    ]),
  ]]);
});

Deno.test("`conform` finds a broken promise, and names it", async () => {
  await using server = await TestServer.start();
  await using liar = lyingServer(
    server.url,
    (text) => text.replaceAll('"code":-32004', '"code":-32603').replaceAll('"role":"view"', '"role":"control"'),
  );
  const { code, stdout } = await runCli(["conform", liar.url]);
  assert.equal(code, 1);
  assert.match(
    stdout,
    /\n {2}NO {2}missing: A file that does not exist is -32004\.\n {8}fs\/readFile should be refused with -32004: /,
  );
  assert.match(stdout, /\n {2}NO {2}state: process\/attach answers .*\n {8}the state should be .*"role":"view"/);
  assert.match(stdout, /\n\d+ promises kept, [1-9]\d* broken, /);
  assert.match(stdout, /\nNot checked by conform:\n {2}- limits/);
});

Deno.test("`conform` says what is wrong with its command line, and with a server that is not there", async () => {
  for (
    const [args, status, message] of [
      [["conform"], 2, /the URL of the server is missing/],
      [["conform", "http://127.0.0.1:1"], 2, /begins with ws:\/\/ or wss:\/\//],
      [["conform", "ws://127.0.0.1:1", "more"], 2, /unexpected argument "more"/],
      [["conform", "ws://127.0.0.1:1", "--token-file", "/nonexistent"], 1, /cannot read the token file/],
      [["conform", "ws://127.0.0.1:1/?token=secret"], 1, /cannot be reached, or refuses/],
    ] as const
  ) {
    const { code, stdout, stderr } = await runCli(args);
    assert.deepEqual([code, stdout], [status, ""], args.join(" "));
    assert.match(stderr, message);
    assert.ok(!stderr.includes("secret"));
  }
});

/** Hands everything on, and changes what comes back. */
function lyingServer(target: string, change: (text: string) => string): AsyncDisposable & { readonly url: string } {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    if (request.headers.get("upgrade") !== "websocket") return new Response(null, { status: 404 });
    const inner = new WebSocket(target);
    await new Promise((resolve) => inner.onopen = resolve);
    const { socket, response } = Deno.upgradeWebSocket(request);
    socket.onmessage = ({ data }) => inner.readyState === WebSocket.OPEN && inner.send(data);
    inner.onmessage = ({ data }) => socket.readyState === WebSocket.OPEN && socket.send(change(data));
    socket.onclose = () => inner.close();
    inner.onclose = () => socket.readyState === WebSocket.OPEN && socket.close();
    return response;
  });
  return { url: `ws://127.0.0.1:${server.addr.port}`, [Symbol.asyncDispose]: () => server.shutdown() };
}
