import assert from "node:assert/strict";
import { DomainError } from "../../src/errors.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import {
  callState,
  flagState,
  guardedState,
  leavesFilesOpen,
  SandboxStateError,
  updatedState,
} from "../../src/mcp/sandbox_state.ts";

/** As codex 0.166 sends it. */
const WORKSPACE = {
  permissionProfile: {
    type: "managed",
    file_system: {
      type: "restricted",
      entries: [
        { path: { type: "special", value: { kind: "root" } }, access: "read" },
        { path: { type: "path", path: "/ws" }, access: "write" },
        { path: { type: "special", value: { kind: "slash_tmp" } }, access: "write" },
        { path: { type: "path", path: "/ws/.git" }, access: "read", missing_path_behavior: "skip" },
      ],
    },
    network: "restricted",
  },
  codexLinuxSandboxExe: "/gone/codex-linux-sandbox",
  sandboxCwd: "file:///ws",
  useLegacyLandlock: false,
  useMxc: false,
};

Deno.test("codex's state is read under both of its names", () => {
  for (const key of ["codex/sandbox-state", "codex/sandbox-state-meta"]) {
    const state = callState({ [key]: WORKSPACE });
    assert.equal(state?.sandbox?.cwd, "/ws");
    assert.deepEqual([state?.isNetworkDisabled, state?.source], [true, "call"]);
  }
  assert.equal(callState({ progressToken: 1 }), null);
  assert.equal(callState(undefined), null);
});

Deno.test("the policies of the reference's time", () => {
  const state = (sandboxPolicy: object) => updatedState({ sandboxPolicy, sandboxCwd: "/ws", extra: 1 });
  assert.equal(state({ type: "danger-full-access" }).sandbox, null);
  assert.deepEqual(state({ type: "external-sandbox", network_access: "enabled" }).sandbox?.permissions, {
    type: "external",
    network: "enabled",
  });
  assert.equal(state({ type: "external-sandbox" }).isNetworkDisabled, true);
  const both = { permissionProfile: null, sandboxPolicy: { type: "read-only" }, sandboxCwd: "/ws" };
  assert.equal(updatedState(both).sandbox?.permissions.type, "managed", "a profile that is null is none");
  assert.equal(state({ type: "workspace-write", network_access: true }).isNetworkDisabled, false);
});

Deno.test("a state that does not decode is refused, and the refusal quotes it", () => {
  const wrong: unknown[] = [
    {},
    { sandboxPolicy: { type: "read-only" } },
    { sandboxPolicy: { type: "read-only" }, sandboxCwd: "relative" },
    { sandboxPolicy: { type: "bogus" }, sandboxCwd: "/ws" },
    { permissionProfile: { type: "managed" }, sandboxCwd: "/ws" },
    { permissionProfile: { type: "disabled" }, sandboxCwd: 5 },
    { permissionProfile: null, sandboxCwd: "/ws" },
    { permissionProfile: null, sandboxPolicy: null, sandboxCwd: "/ws" },
    [],
    "read-only",
  ];
  for (const params of wrong) {
    assert.throws(() => updatedState(params), (error) => error instanceof SandboxStateError && error.data === params);
  }
  assert.throws(() => updatedState(undefined), /missing params for sandbox state request/);
  assert.throws(() => callState({ "codex/sandbox-state": { sandboxCwd: "/ws" } }), SandboxStateError);
});

Deno.test("guarded paths stay read-only, whatever a sandbox grants; without guarded paths nothing is added", () => {
  const granted = updatedState({
    sandboxPolicy: { type: "workspace-write", writable_roots: ["/rules", "/rules/below", "/rules-of-others"] },
    sandboxCwd: "/ws",
  });
  const permissions = guardedState(granted, { paths: ["/rules", "/ws/audit"], tmpdir: undefined }).sandbox?.permissions;
  assert.ok(permissions?.type === "managed" && permissions.fileSystem.type === "restricted");
  const written = permissions.fileSystem.entries.filter(({ access }) => access === "write").map(({ path }) => path);
  const paths = written.flatMap((path) => path.type === "path" ? [path.path] : []);
  assert.deepEqual(paths, ["/ws", "/rules-of-others"], "what is granted there, or below, is taken back");
  const last = permissions.fileSystem.entries.slice(-2);
  assert.deepEqual(last, [
    { path: { type: "path", path: "/rules" }, access: "read" },
    { path: { type: "path", path: "/ws/audit" }, access: "read" },
  ]);
  assert.equal(flagState("read-only", "/ws").isNetworkDisabled, true);
});

Deno.test("guarded paths do not become readable unless they could be read or written before", () =>
  inScratchDirectory(async (directory) => {
    // Two links, of which the second lies where commands may write.
    await Deno.mkdir(`${directory}/ws`);
    await Deno.mkdir(`${directory}/safe`);
    await Deno.writeTextFile(`${directory}/safe/audit`, "");
    await Deno.symlink(`${directory}/ws/inner`, `${directory}/outer`);
    await Deno.symlink(`${directory}/safe`, `${directory}/ws/inner`);
    const entry = (path: string, access: string) => ({ path: { type: "path", path: `${directory}${path}` }, access });
    const isAdded = (path: string, ...entries: object[]) => {
      const file_system = { type: "restricted", entries };
      const permissionProfile = { type: "managed", file_system, network: "restricted" };
      const state = updatedState({ permissionProfile, sandboxCwd: `${directory}/ws` });
      const guarded = guardedState(state, { paths: [`${directory}${path}`], tmpdir: undefined });
      const permissions = guarded.sandbox?.permissions;
      assert.ok(permissions?.type === "managed" && permissions.fileSystem.type === "restricted");
      return permissions.fileSystem.entries.some((each) => {
        return each.access === "read" && each.path.type === "path" && each.path.path === `${directory}${path}`;
      });
    };
    const ws = entry("/ws", "write");
    assert.equal(isAdded("/safe/audit", entry("/ws", "read")), false);
    assert.equal(isAdded("/safe/audit", ws), false);
    assert.equal(isAdded("/safe/audit", entry("", "write"), entry("/safe", "deny")), false, "it is denied");
    assert.equal(isAdded("/safe/audit", entry("", "write")), true);
    assert.equal(isAdded("/ws/audit", ws), true);
    assert.equal(isAdded("/ws/audit", ws, entry("/ws", "read")), true, "the client's own order does not count here");
    assert.equal(isAdded("/outer/audit", ws), true, "a link on the way could be replaced");
  }));

Deno.test("a workspace keeps its clients' configuration: directories always, .mcp.json where there is one", () =>
  inScratchDirectory(async (directory) => {
    const names = () => {
      const permissions = flagState("workspace-write", directory).sandbox?.permissions;
      assert.ok(permissions?.type === "managed" && permissions.fileSystem.type === "restricted");
      return permissions.fileSystem.entries.flatMap(({ path, access }) =>
        access === "read" && path.type === "path" ? [path.path.slice(directory.length + 1)] : []
      );
    };
    assert.deepEqual(names(), [".git", ".codex", ".agents", ".claude", ".vscode"]);
    await Deno.writeTextFile(`${directory}/.mcp.json`, "{}");
    assert.ok(names().includes(".mcp.json"));
  }));

Deno.test("a workspace whose clients' configuration is a link is refused with what to do, wherever it leads", () =>
  inScratchDirectory(async (directory) => {
    await Deno.mkdir(`${directory}/ws`);
    await Deno.mkdir(`${directory}/real`);
    const names = [".git", ".codex", ".agents", ".aws", ".claude", ".vscode", ".mcp.json"];
    for (const name of names) {
      const path = `${directory}/ws/${name}`;
      for (const target of [`${directory}/real`, "../real", "nowhere"]) {
        await Deno.symlink(target, path);
        assert.throws(() => flagState("workspace-write", `${directory}/ws`), (error) => {
          assert.ok(error instanceof DomainError && error.kind === "invalidParams");
          const remedy = name === ".mcp.json" ? "Put the file itself there" : "Make it a directory";
          const start = `Cannot keep commands from writing ${path}: it is a symbolic link`;
          return error.message.startsWith(start) && error.message.includes(remedy);
        });
        assert.equal(flagState("read-only", `${directory}/ws`).isNetworkDisabled, true, "nothing can be written");
        await Deno.remove(path);
      }
    }
  }));

Deno.test("a special place at or below a guarded path is taken back too", () => {
  const special = (value: object) => ({ path: { type: "special", value }, access: "write" });
  const entries = [
    special({ kind: "project_roots", subpath: "rules" }),
    special({ kind: "tmpdir" }),
    special({
      kind: "slash_tmp",
    }),
  ];
  const permissionProfile = { ...WORKSPACE.permissionProfile, file_system: { type: "restricted", entries } };
  const state = updatedState({ permissionProfile, sandboxCwd: "/ws" });
  const kinds = (paths: string[], tmpdir: string) => {
    const permissions = guardedState(state, { paths, tmpdir }).sandbox?.permissions;
    assert.ok(permissions?.type === "managed" && permissions.fileSystem.type === "restricted");
    return permissions.fileSystem.entries.flatMap(({ path }) => path.type === "special" ? [path.value.kind] : []);
  };
  assert.deepEqual(kinds(["/ws/rules"], "/var/own"), ["tmpdir", "slash_tmp"]);
  assert.deepEqual(kinds(["/var/own"], "/var/own/below"), ["project_roots", "slash_tmp"]);
  assert.deepEqual(kinds(["/tmp/rules"], "/var/own"), ["project_roots", "tmpdir", "slash_tmp"], "that lies above");
});

Deno.test("a sandbox for the network only stays as it is, and is recognised as one that does not confine files", () => {
  const guarded = (permissionProfile: object) => {
    const state = updatedState({ permissionProfile, sandboxCwd: "/ws" });
    const after = guardedState(state, { paths: ["/rules"], tmpdir: undefined });
    assert.deepEqual(after, state);
    return leavesFilesOpen(after);
  };
  const unrestricted = { type: "managed", file_system: { type: "unrestricted" } };
  for (const profile of [{ type: "external" }, unrestricted]) {
    assert.equal(guarded({ ...profile, network: "restricted" }), true);
    assert.equal(guarded({ ...profile, network: "enabled" }), false, "nothing is confined");
  }
  assert.equal(guarded({ type: "disabled" }), false);
  assert.equal(leavesFilesOpen(flagState("workspace-write", "/ws")), false);
});
