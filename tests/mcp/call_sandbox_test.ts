import assert from "node:assert/strict";
import { Scene } from "./scene.ts";

const UPDATE = "codex/sandbox-state/update";

Deno.test("tools announced as sandboxed refuse a sandbox that allows more than was announced, and nothing starts", async () => {
  const profile = (access: string, network: string) => ({
    type: "managed",
    file_system: {
      type: "restricted",
      entries: [{ path: { type: "special", value: { kind: "root" } }, access: "read" }, {
        path: { type: "path", path: "/work" },
        access,
      }],
    },
    network,
  });
  const outcome = async (sandbox: "read-only" | "workspace-write", permissionProfile: object | null) => {
    const scene = new Scene({ sandbox, isAnnotated: true });
    const { peer } = await scene.client();
    const started = scene.shells.next();
    const meta = permissionProfile === null
      ? {}
      : { "codex/sandbox-state": { permissionProfile, sandboxCwd: "file:///work" } };
    const answer = peer.call("shell", { command: "x", workdir: "/work" }, meta).then(() => "ran", (error) => error);
    const first = await Promise.race([started, answer]);
    if (!(first instanceof Error)) (first as Awaited<typeof started>).exit(0);
    const result = await answer;
    return typeof result === "string" ? result : `${result.message}`;
  };
  const network = { type: "external", network: "restricted" };
  assert.equal(await outcome("read-only", null), "ran");
  assert.equal(await outcome("read-only", profile("read", "restricted")), "ran");
  assert.equal(await outcome("workspace-write", null), "ran");
  assert.equal(await outcome("workspace-write", profile("write", "restricted")), "ran");
  for (const more of [profile("write", "restricted"), profile("read", "enabled"), network, { type: "disabled" }]) {
    assert.match(await outcome("read-only", more), /allows more than this server has announced.*change nothing/);
  }
  for (const more of [profile("write", "enabled"), { type: "disabled" }]) {
    assert.match(await outcome("workspace-write", more), /Start the server without --annotate-sandboxed/);
  }
});

Deno.test("the sandbox is the call's, else the last update's, else the flag's", async () => {
  const scene = new Scene({ sandbox: "workspace-write" });
  const { peer } = await scene.client();
  const sandboxOf = async (meta?: object) => {
    const started = scene.shells.next();
    const answer = peer.call("shell", { command: "x", workdir: "/elsewhere" }, meta);
    const shell = await started;
    shell.exit(0);
    await answer;
    return shell.options;
  };
  const written = (options: Awaited<ReturnType<typeof sandboxOf>>) => {
    const permissions = options.sandbox?.permissions;
    if (permissions?.type !== "managed" || permissions.fileSystem.type !== "restricted") return permissions?.type;
    return permissions.fileSystem.entries.map(({ path, access }) =>
      path.type === "path" ? `${access} ${path.path}` : `${access} ${JSON.stringify(path)}`
    );
  };
  const byFlag = written(await sandboxOf());
  assert.ok(byFlag?.includes("write /work"), "the server's directory, and not the call's");
  for (const guarded of ["read /work/.git", "read /work/.codex", "read /rules"]) assert.ok(byFlag?.includes(guarded));
  await peer.request(UPDATE, { sandboxPolicy: { type: "external-sandbox" }, sandboxCwd: "/work" });
  const external = await sandboxOf();
  assert.deepEqual([external.sandbox?.permissions.type, external.env["CODEX_SANDBOX_NETWORK_DISABLED"]], [
    "external",
    "1",
  ]);
  const state = { permissionProfile: { type: "disabled" }, sandboxCwd: "file:///work", useLegacyLandlock: false };
  const open = await sandboxOf({ "codex/sandbox-state": state });
  assert.deepEqual([open.sandbox, open.env["CODEX_SANDBOX_NETWORK_DISABLED"]], [null, undefined]);
});

Deno.test("what is ignored of a client's sandbox is told with the commands that run in it", async () => {
  const scene = new Scene();
  const { peer } = await scene.client();
  await peer.request(UPDATE, { sandboxPolicy: { type: "workspace-write", junk: 1 }, sandboxCwd: "/work" });
  const started = scene.shells.next();
  void peer.call("shell", { command: "x", workdir: "/work" });
  (await started).exit(0);
  assert.deepEqual(scene.ignored, ["sandboxPolicy.junk"]);
});
