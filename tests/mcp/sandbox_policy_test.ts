/** The named policies of codex's MCP clients, of the reference's time and later. */

import assert from "node:assert/strict";
import { callState, SandboxStateError, updatedState } from "../../src/mcp/sandbox_state.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";

const state = (sandboxPolicy: object, tmpdir?: string) => updatedState({ sandboxPolicy, sandboxCwd: "/ws" }, tmpdir);

/** What is readable and writable, as short words. */
function grants(policy: object, tmpdir?: string): string[] {
  const permissions = state(policy, tmpdir).sandbox?.permissions;
  assert.ok(permissions?.type === "managed" && permissions.fileSystem.type === "restricted");
  return permissions.fileSystem.entries.map(({ path, access }) => {
    const place = path.type === "path" ? path.path : path.type === "special" ? path.value.kind : path.pattern;
    return `${access} ${place}`;
  });
}

Deno.test("unknown members are ignored, as in the reference, and returned", () => {
  for (const type of ["read-only", "workspace-write", "danger-full-access", "external-sandbox", "WorkspaceWrite"]) {
    const { ignored, ...meant } = state({ type, junk: 1 });
    assert.deepEqual(ignored, ["sandboxPolicy.junk"]);
    assert.deepEqual({ ...meant, ignored: [] }, state({ type }));
  }
  assert.deepEqual(state({ type: "workspace-write", networkAccess: true }).ignored, []);
  const permissionProfile = { type: "external", network: "restricted", junk: 1 };
  const profile = callState({ "codex/sandbox-state": { permissionProfile, sandboxCwd: "/ws", useMxc: false } });
  assert.deepEqual(profile?.ignored, ["permissions.junk"]);
});

Deno.test("members of a policy that say something impossible are refused", () => {
  const wrong = [
    { type: "read-only", network_access: "yes" },
    { type: "workspace-write", network_access: true, networkAccess: false },
    { type: "workspace-write", writable_roots: ["relative"] },
    { type: "read-only", access: { type: "some" } },
    { type: "read-only", access: "restricted" },
    { type: "read-only", access: null },
    { type: "read-only", access: { type: "restricted", readable_roots: ["relative"] } },
    { type: "workspace-write", read_only_access: { type: "full-access" }, readOnlyAccess: { type: "restricted" } },
  ];
  for (const policy of wrong) assert.throws(() => state(policy), SandboxStateError, JSON.stringify(policy));
});

Deno.test("a policy that restricts what is read is honoured", () => {
  assert.deepEqual(grants({ type: "read-only", access: { type: "full-access" } }), ["read root"]);
  assert.deepEqual(grants({ type: "read-only", access: { type: "restricted", readable_roots: ["/data"] } }), [
    "read minimal",
    "read /data",
    "read /ws",
  ]);
  const written = { type: "restricted", includePlatformDefaults: false, readableRoots: ["/data", "/ws/sub", "/more"] };
  const policy = { type: "workspaceWrite", readOnlyAccess: written, writableRoots: ["/more"], excludeSlashTmp: true };
  assert.deepEqual(grants(policy), ["read /data", "write /ws", "write /more", "write tmpdir"]);
  const newer = { type: "read-only", access: { type: "restricted", newer: 1 } };
  assert.deepEqual(state(newer).ignored, ["sandboxPolicy.access.newer"]);
  assert.deepEqual(state({ type: "read-only", read_only_access: 1 }).ignored, ["sandboxPolicy.read_only_access"]);
});

Deno.test("what may be read does not become read-only where it may be written, by whatever name that place is granted", () =>
  inScratchDirectory(async (directory) => {
    await Deno.mkdir(`${directory}/own/below`, { recursive: true });
    await Deno.symlink(`${directory}/own`, `${directory}/link`);
    const readable = ["/tmp/x", "/tmp", "/tmpfile", "/var/own/below", "/var/owner", `${directory}/own/below`];
    const policy = (more: object) => ({
      type: "workspace-write",
      read_only_access: { type: "restricted", include_platform_defaults: false, readable_roots: readable },
      ...more,
    });
    const inScratch = directory.startsWith("/tmp/") ? [] : [`read ${directory}/own/below`];
    const all = ["write /ws", "write tmpdir", "write slash_tmp"];
    assert.deepEqual(grants(policy({}), "/var/own"), ["read /tmpfile", "read /var/owner", ...inScratch, ...all]);
    assert.deepEqual(grants(policy({})), [
      "read /tmpfile",
      "read /var/own/below",
      "read /var/owner",
      ...inScratch,
      ...all,
    ]);
    // A temporary directory behind a link.
    assert.deepEqual(grants(policy({ exclude_slash_tmp: true }), `${directory}/link`), [
      ...readable.slice(0, -1).map((path) => `read ${path}`),
      "write /ws",
      "write tmpdir",
    ]);
    const excluded = { exclude_slash_tmp: true, exclude_tmpdir_env_var: true };
    assert.deepEqual(grants(policy(excluded), "/var/own"), [...readable.map((path) => `read ${path}`), "write /ws"]);
    const sent = { sandboxPolicy: policy({}), sandboxCwd: "/ws" };
    assert.deepEqual(
      callState({ "codex/sandbox-state": sent }, "/var/own")?.sandbox,
      updatedState(sent, "/var/own").sandbox,
    );
  }));
