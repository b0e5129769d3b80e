import assert from "node:assert/strict";
import { METHODS, NOTIFICATIONS } from "../../src/protocol/methods.ts";
import { OPTIONAL_FIELDS, OPTIONAL_NOTIFICATIONS } from "../../src/protocol/handshake.ts";
import { assertDescribed, loadPromises } from "../support/answer_check.ts";
import { type Client, RpcError } from "../support/rpc_client.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";

/** Clients of `TestServer` check what they are sent. Here everything is sent at least once. */
Deno.test("server answers every method, and sends every notification, as the table says", async () => {
  await inScratchDirectory(async (directory) => {
    await using server = await TestServer.start({
      args: ["--allow-tunnel"],
      env: { HOME: directory, CODEX_HOME: directory },
    });
    const seen = new Set<string>();
    const options = { notifications: [...OPTIONAL_NOTIFICATIONS], optionalFields: [...OPTIONAL_FIELDS] };
    await using client = await server.connect({ ...options, onChecked: (method) => seen.add(method) });
    await askTheMachine(client, directory);
    await useFiles(client, directory);
    await using other = await server.connect({ onChecked: (method) => seen.add(method) });
    await runProcesses(client, other);
    await fetchPages(client);
    await client.call("session/end", null);
    await client.closed;

    const sent = Object.values(NOTIFICATIONS).filter(({ from }) => from === "server");
    const expected = [...Object.values(METHODS), ...sent].map(({ name }) => name);
    assert.deepEqual(expected.filter((name) => !seen.has(name)), []);
  });
});

async function askTheMachine(client: Client, directory: string): Promise<void> {
  await Deno.writeTextFile(`${directory}/config.toml`, 'model = "m"\n');
  await Deno.mkdir(`${directory}/skills/s`, { recursive: true });
  await Deno.writeTextFile(`${directory}/skills/s/SKILL.md`, "---\nname: s\ndescription: d\n---\nText.\n");
  await client.call("rpc.discover", null);
  await client.call("environment/info", null);
  await client.call("environment/status", null);
  await client.call("environment/sandbox", null);
  const config = await client.call("environmentConfig/read", {
    cwd: directory,
    configPaths: [["model"]],
    requirementsPaths: [],
  });
  assert.equal(config.config.layers.length, 1);
  const { roots } = await client.call("capabilityRoots/discoverV1", { roots: [{ id: "r", path: directory }] });
  assert.equal(roots[0]!.skills.length, 1);
  const { skills } = await client.call("capabilities/discoverV2", { cwd: directory });
  assert.equal(skills.length, 1);
}

async function useFiles(client: Client, directory: string): Promise<void> {
  const at = (name: string) => `${directory}/${name}`;
  const told = notified(client, "fs/changed", "fs/missingChanged");
  await client.call("fs/createDirectory", { path: at("d") });
  await client.call("fs/watch", { watchId: 1, path: at("d") });
  assert.deepEqual(await client.call("fs/watchMissing", { watchId: 1, missing: [at("d/f")] }), { watching: true });
  await client.call("fs/writeFile", { path: at("d/f"), dataBase64: btoa("content") });
  await told;
  await client.call("fs/unwatch", { watchId: 1 });

  await client.call("fs/readFile", { path: at("d/f") });
  const fields = ["mode", "uid", "gid", "nlink", "inode", "digest"];
  const metadata = await client.call("fs/getMetadata", { path: at("d/f"), fields });
  assert.match(metadata.digest!, /^sha256:/);
  await client.call("fs/getMetadata", { path: at("d") });
  await client.call("fs/canonicalize", { path: at("d/f") });
  await client.call("fs/readDirectory", { path: at("d") });
  const bounds = { maxDepth: 9, maxDirectories: 99, maxEntries: 99, followDirectorySymlinks: false };
  await client.call("fs/walk", { path: at("d"), options: bounds });
  await client.call("fs/copy", { sourcePath: at("d"), destinationPath: at("e"), recursive: true });
  await client.call("fs/rename", { sourcePath: at("e/f"), destinationPath: at("e/g") });
  await client.call("fs/chmod", { path: at("e/g"), mode: 0o600 });
  await client.call("fs/setTimes", { path: at("e/g"), modifiedAtMs: 1_000_000 });
  await client.call("fs/symlink", { path: at("e/l"), target: "g" });
  const listed = await client.call("fs/list", { path: at("e") });
  assert.deepEqual(listed.entries.map(({ kind, target }) => [kind, target]).sort(), [["file", undefined], [
    "symlink",
    "g",
  ]]);
  await client.call("fs/open", { handleId: "h", path: at("e/g"), mode: "replace" });
  await client.call("fs/writeBlock", { handleId: "h", offset: 0, chunk: btoa("block") });
  await client.call("fs/close", { handleId: "h" });
  await client.call("fs/open", { handleId: "h", path: at("e/g") });
  await client.call("fs/readBlock", { handleId: "h", offset: 0, len: 99 });
  await client.call("fs/close", { handleId: "h" });
  await client.call("fs/remove", { path: at("e") });
  await assert.rejects(client.call("fs/readFile", { path: at("e/g") }), { code: -32004 });
}

async function runProcesses(client: Client, other: Client): Promise<void> {
  const common = { cwd: "/", env: { PATH: Deno.env.get("PATH") ?? "/bin:/usr/bin" } };
  const events = client.follow("p");
  const shared = { keepOnSessionEnd: true, name: "p" };
  const start = { processId: "p", argv: ["cat"], tty: true, output: "acknowledged" as const, ...shared, ...common };
  await client.call("process/start", start);
  const told = notified(client, "process/resized");
  const { uid } = await other.call("process/attach", { name: "p", role: "control" });
  await other.call("process/resize", { uid, rows: 10, cols: 20 });
  await told;
  await client.call("process/write", { processId: "p", chunk: btoa("hello\n") });
  await client.call("process/read", { processId: "p", waitMs: 10_000 });
  await client.call("process/list", null);
  await client.call("process/ack", { processId: "p", seq: 1 });
  await client.call("process/signal", { processId: "p", signal: "winch" });
  await client.call("process/snapshot", { processId: "p" });
  await client.call("process/closeStdin", { processId: "p" });
  await client.call("process/wait", { processId: "p" });
  await other.call("process/attach", { uid });
  await other.call("process/detach", { uid });
  for await (const _ of events) { /* Until it is closed. */ }
  await client.call("process/read", { processId: "p" });
  await client.call("process/start", { processId: "q", argv: ["sleep", "99"], tty: false, ...common });
  await client.call("process/terminate", { processId: "q", tree: true });
  await client.call("process/wait", { processId: "q" });
  await assert.rejects(
    client.call("process/start", { processId: "r", argv: ["/no/such/program"], tty: false, ...common }),
    RpcError,
  );
}

async function fetchPages(client: Client): Promise<void> {
  await using pages = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, () => new Response("page"));
  const url = `http://127.0.0.1:${pages.addr.port}/`;
  await client.call("http/request", { requestId: "a", method: "GET", url });
  const told = notified(client, "http/request/bodyDelta");
  await client.call("http/request", { requestId: "b", method: "GET", url, streamResponse: true });
  await told;

  const closed = notified(client, "net/data", "net/ended", "net/closed");
  await client.call("net/connect", { tunnelId: "t", port: pages.addr.port });
  await client.call("net/write", { tunnelId: "t", chunk: btoa("GET / HTTP/1.0\r\n\r\n") });
  await client.call("net/closeWrite", { tunnelId: "t" });
  await closed;
  await client.call("net/ack", { tunnelId: "t", bytes: 1 });
  await client.call("net/close", { tunnelId: "t" });
}

/** Resolves when each of these has come. */
function notified(client: Client, ...methods: string[]): Promise<void> {
  const missing = new Set(methods);
  return new Promise((resolve) => {
    const stop = client.onNotification(({ method }) => {
      missing.delete(method);
      if (missing.size > 0) return;
      stop();
      resolve();
    });
  });
}

Deno.test("a result with a member that its row does not have is found, and so is one that lacks a member", async () => {
  const { answers } = await loadPromises();
  const { result } = answers.get("fs/open")!;
  assertDescribed(result, { handleId: "h" }, "fs/open");
  assert.throws(() => assertDescribed(result, { handleId: "h", more: 1 }, "fs/open"), /answers more than its row says/);
  assert.throws(() => assertDescribed(result, {}, "fs/open"), /handleId: .*received undefined/);
  assert.throws(() => assertDescribed(answers.get("fs/close")!.result, { more: 1 }, "fs/close"), /Unrecognized key/);
});
