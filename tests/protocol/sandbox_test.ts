/**
 * What decodes as a sandbox object, and what is refused in which words.
 *
 * More than 300 lines: tables of messages.
 */

import assert from "node:assert/strict";
import { DomainError } from "../../src/errors.ts";
import { type Sandbox, SandboxParam } from "../../src/protocol/sandbox.ts";
import { decodeParams } from "../../src/protocol/decode_params.ts";

// deno-lint-ignore no-explicit-any
type Json = any;

const special = (kind: string, more: Json = {}) => ({ type: "special", value: { kind, ...more } });
const ROOT_READ = { path: special("root"), access: "read" };
const managed = (entries: Json, more: Json = {}) => ({
  type: "managed",
  file_system: { type: "restricted", entries, ...more },
  network: "restricted",
});
const object = (permissions: Json, more: Json = {}) => ({ permissions, windowsSandboxLevel: "disabled", ...more });

const decode = (value: unknown): Sandbox => decodeParams(SandboxParam, value);

function refusal(value: unknown): { kind: string; message: string } {
  try {
    decode(value);
  } catch (error) {
    if (error instanceof DomainError) return { kind: error.kind, message: error.message };
    throw error;
  }
  assert.fail(`accepted: ${JSON.stringify(value)}`);
}

Deno.test("SandboxParam decodes what a client sends for workspace-write", () => {
  const sandbox = decode({
    permissions: {
      type: "managed",
      file_system: {
        type: "restricted",
        entries: [
          ROOT_READ,
          { path: special("project_roots"), access: "write" },
          { path: { type: "path", path: "file:///tmp/ex%20tra" }, access: "write" },
          { path: special("slash_tmp"), access: "write" },
          { path: special("tmpdir"), access: "write" },
          { path: special("project_roots", { subpath: ".git" }), access: "read", missing_path_behavior: "skip" },
          { path: { type: "glob_pattern", pattern: "codex-project-roots://**/*.secret" }, access: "deny" },
        ],
        glob_scan_max_depth: 3,
      },
      network: "restricted",
    },
    cwd: "file:///tmp/ws",
    workspaceRoots: ["file:///tmp/ws", "file:///other"],
    windowsSandboxLevel: "disabled",
    windowsSandboxProxySettingsMode: "reconcile",
    useLegacyLandlock: false,
    somethingNewer: { nobody: "knows" },
  });
  assert.deepEqual(sandbox, {
    permissions: {
      type: "managed",
      fileSystem: {
        type: "restricted",
        entries: [
          { path: { type: "special", value: { kind: "root" } }, access: "read" },
          { path: { type: "special", value: { kind: "project_roots", subpath: null } }, access: "write" },
          { path: { type: "path", path: "/tmp/ex tra" }, access: "write" },
          { path: { type: "special", value: { kind: "slash_tmp" } }, access: "write" },
          { path: { type: "special", value: { kind: "tmpdir" } }, access: "write" },
          { path: { type: "special", value: { kind: "project_roots", subpath: ".git" } }, access: "read" },
          { path: { type: "glob_pattern", pattern: "codex-project-roots://**/*.secret" }, access: "deny" },
        ],
        globScanMaxDepth: 3,
      },
      network: "restricted",
    },
    isPlaced: true,
    cwd: "/tmp/ws",
    workspaceRoots: ["/tmp/ws", "/other"],
  });
});

Deno.test("SandboxParam decodes every other kind of profile, and old names", () => {
  const permissions: [Json, Json][] = [
    [{ type: "disabled", network: 5 }, { type: "disabled" }],
    [{ type: "external", network: "enabled" }, { type: "external", network: "enabled" }],
    [
      { type: "managed", file_system: { type: "unrestricted", entries: 1 }, network: "enabled" },
      { type: "managed", fileSystem: { type: "unrestricted" }, network: "enabled" },
    ],
    [
      managed([
        { path: special("current_working_directory", { subpath: null }), access: "none" },
        { path: special("unknown", { path: ":future", subpath: null }), access: "write", missing_path_behavior: null },
        { path: special("minimal"), access: "read" },
      ], { glob_scan_max_depth: null }),
      {
        type: "managed",
        fileSystem: {
          type: "restricted",
          entries: [
            { path: { type: "special", value: { kind: "project_roots", subpath: null } }, access: "deny" },
            { path: { type: "special", value: { kind: "unknown" } }, access: "write" },
            { path: { type: "special", value: { kind: "minimal" } }, access: "read" },
          ],
          globScanMaxDepth: null,
        },
        network: "restricted",
      },
    ],
  ];
  for (const [wire, decoded] of permissions) {
    assert.deepEqual(decode(object(wire)), {
      permissions: decoded,
      isPlaced: false,
      cwd: null,
      workspaceRoots: [],
    });
  }
});

Deno.test("SandboxParam takes the working directory as the root when paths are native and no roots are given", () => {
  const places: [Json, Omit<Sandbox, "permissions">][] = [
    [{ cwd: "/ws/../ws" }, { isPlaced: true, cwd: "/ws", workspaceRoots: ["/ws"] }],
    [{ cwd: "file:///ws" }, { isPlaced: true, cwd: "/ws", workspaceRoots: [] }],
    [{ cwd: "/ws", workspaceRoots: [] }, { isPlaced: true, cwd: "/ws", workspaceRoots: [] }],
    [{ cwd: "/ws", workspaceRoots: ["/a", "file:///b"] }, { isPlaced: true, cwd: "/ws", workspaceRoots: ["/a", "/b"] }],
    [{ cwd: null }, { isPlaced: false, cwd: null, workspaceRoots: [] }],
    // A path of another machine: there is nothing here that it could mean.
    [{ cwd: "file://host/x", workspaceRoots: ["file:///C:/x", "file:///b"] }, {
      isPlaced: true,
      cwd: null,
      workspaceRoots: ["/b"],
    }],
  ];
  for (const [wire, place] of places) {
    assert.deepEqual(decode(object({ type: "disabled" }, wire)), { permissions: { type: "disabled" }, ...place });
  }
});

Deno.test("SandboxParam reads the policy context instead of cwd and roots when there is one", () => {
  const outer = { cwd: "file:///b", workspaceRoots: ["file:///b"] };
  const contexts: [Json, Omit<Sandbox, "permissions">][] = [
    [null, { isPlaced: true, cwd: "/b", workspaceRoots: ["/b"] }],
    [{}, { isPlaced: true, cwd: null, workspaceRoots: [] }],
    [{ cwd: null, workspaceRoots: ["file:///a"] }, { isPlaced: true, cwd: null, workspaceRoots: ["/a"] }],
    [{ cwd: "file:///a", workspaceRoots: ["file:///a"] }, { isPlaced: true, cwd: "/a", workspaceRoots: ["/a"] }],
  ];
  for (const [policyContext, place] of contexts) {
    const { permissions: _, ...actual } = decode(object({ type: "disabled" }, { ...outer, policyContext }));
    assert.deepEqual(actual, place);
  }
});

Deno.test("SandboxParam turns named policies into profiles", () => {
  const entry = (path: Json, access: string) => ({ path, access });
  const root = entry({ type: "special", value: { kind: "root" } }, "read");
  const writable = (path: string) => entry({ type: "path", path }, "write");
  const kind = (name: string) => entry({ type: "special", value: { kind: name } }, "write");
  const policies: [Json, Json][] = [
    [{ sandboxPolicy: { type: "read-only", network_access: false }, cwd: "/ws" }, [[root], "restricted"]],
    [{ sandboxPolicy: { type: "read-only", network_access: true } }, [[root], "enabled"]],
    [
      { sandboxPolicy: { type: "workspace-write" }, cwd: "/ws" },
      [[root, writable("/ws"), kind("tmpdir"), kind("slash_tmp")], "restricted"],
    ],
    [
      {
        sandboxPolicy: {
          type: "workspace-write",
          writable_roots: ["/other", "file:///uri"],
          network_access: true,
          exclude_tmpdir_env_var: true,
          exclude_slash_tmp: true,
        },
        cwd: "file:///ws",
      },
      [[root, writable("/ws"), writable("/other"), writable("/uri")], "enabled"],
    ],
  ];
  for (const [wire, [entries, network]] of policies) {
    assert.deepEqual(decode(wire).permissions, {
      type: "managed",
      fileSystem: { type: "restricted", entries, globScanMaxDepth: null },
      network,
    });
  }
  assert.deepEqual(decode({ sandboxPolicy: { type: "danger-full-access" } }), {
    permissions: { type: "disabled" },
    isPlaced: false,
    cwd: null,
    workspaceRoots: [],
  });
});

Deno.test("SandboxParam takes named policies in every spelling of the name and the members", () => {
  const names: [string, string[]][] = [
    ["read-only", ["read_only", "readOnly", "ReadOnly"]],
    ["workspace-write", ["workspace_write", "workspaceWrite", "WorkspaceWrite"]],
    ["danger-full-access", ["danger_full_access", "dangerFullAccess", "DangerFullAccess"]],
  ];
  const of = (policy: Json) => decode({ sandboxPolicy: policy, cwd: "/ws" });
  for (const [name, others] of names) {
    for (const type of others) assert.deepEqual(of({ type }), of({ type: name }), type);
  }
  assert.deepEqual(
    of({
      type: "workspaceWrite",
      writableRoots: ["/other"],
      networkAccess: true,
      excludeTmpdirEnvVar: true,
      excludeSlashTmp: true,
    }),
    of({
      type: "workspace-write",
      writable_roots: ["/other"],
      network_access: true,
      exclude_tmpdir_env_var: true,
      exclude_slash_tmp: true,
    }),
  );
});

Deno.test("SandboxParam accepts null exactly where the reference does", () => {
  const profile = { type: "disabled" };
  const nullable = [
    "cwd",
    "policyContext",
    "windowsSandboxPrivateDesktop",
    "windowsSandboxProxySettingsMode",
    "userHomeDir",
    "temporaryDirectories",
  ];
  for (const field of nullable) decode(object(profile, { [field]: null }));
  const never = ["workspaceRoots", "windowsSandboxLevel", "useLegacyLandlock", "sandboxOverride", "permissions"];
  for (const field of never) {
    assert.equal(refusal(object(profile, { [field]: null })).kind, "invalidParams", field);
  }
});

Deno.test("SandboxParam refuses what it does not understand, and says what", () => {
  const entries = (...list: Json[]) => object(managed(list));
  const refusals: [Json, string | RegExp][] = [
    [{}, "missing field `permissions`"],
    [{ permissions: { type: "disabled" } }, "missing field `windowsSandboxLevel`"],
    [
      object({ type: "disabled" }, { windowsSandboxLevel: "x" }),
      /unknown variant `x`, expected one of `disabled`, `restricted-token`/,
    ],
    [
      object({ type: "nope" }),
      /unknown variant `nope`, expected one of `managed`, `disabled`, `external`/,
    ],
    [object({ network: { enabled: false }, file_system: { entries: [] } }), "missing field `type`"],
    [object({ type: "managed", file_system: { type: "restricted", entries: [] } }), "missing field `network`"],
    [
      object({ type: "managed", file_system: { type: "restricted" }, network: "restricted" }),
      "missing field `entries`",
    ],
    [object({ type: "managed", file_system: { entries: [] }, network: "enabled" }), "missing field `type`"],
    [object({ type: "managed", file_system: { type: "x" }, network: "enabled" }), /expected `unrestricted` or `res/],
    [object({ type: "managed", network: "enabled" }), "missing field `file_system`"],
    [object({ type: "external" }), "missing field `network`"],
    [object({ ...managed([]), network: "on" }), /unknown variant `on`, expected `restricted` or `enabled`/],
    [entries({ path: special("root"), access: "rw" }), /unknown variant `rw`/],
    [entries({ path: special("whatever"), access: "read" }), /unknown variant `whatever`/],
    [entries({ path: special("constructor"), access: "read" }), /unknown variant `constructor`/],
    [entries({ path: special("unknown"), access: "read" }), "missing field `path`"],
    [entries({ path: special("project_roots", { subpath: 1 }), access: "read" }), /expected string/],
    [entries({ path: { type: "special" }, access: "read" }), "missing field `value`"],
    [entries({ path: { type: "regex", pattern: "x" }, access: "read" }), /unknown variant `regex`/],
    [entries({ path: { type: "path", path: "relative" }, access: "read" }), /absolute/],
    [entries({ path: { type: "path", path: "file:///a%ff" }, access: "read" }), /UTF-8/],
    [entries({ path: { type: "path", path: "file:///a%00" }, access: "read" }), /NUL/],
    [entries({ path: { type: "path" }, access: "read" }), "missing field `path`"],
    [entries({ path: special("root") }), "missing field `access`"],
    [entries({ ...ROOT_READ, missing_path_behavior: "create" }), /unknown variant `create`/],
    [object(managed(null)), /expected array/],
    [object(managed([], { glob_scan_max_depth: 0 })), /at least 1/],
    [object(managed([], { glob_scan_max_depth: -1 })), /at least 1/],
    [object(managed([], { glob_scan_max_depth: 1.5 })), /int/],
    [object({ type: "disabled" }, { windowsSandboxProxySettingsMode: "x" }), /unknown variant `x`/],
    [object({ type: "disabled" }, { sandboxOverride: "x" }), /unknown variant `x`/],
    [object({ type: "disabled" }, { useLegacyLandlock: "no" }), /expected boolean/],
    [object({ type: "disabled" }, { policyContext: 5 }), /expected object/],
    [object({ type: "disabled" }, { temporaryDirectories: "x" }), /expected array/],
    [object({ type: "disabled" }, { userHomeDir: "relative" }), /absolute/],
    [object({ type: "disabled" }, { sandboxPolicy: { type: "read-only" } }), /either/],
    [{ sandboxPolicy: { type: "readonly" } }, /unknown variant `readonly`, expected one of `read-only`/],
    [{ sandboxPolicy: { type: "Read-Only" } }, /unknown variant `Read-Only`/],
    [{ sandboxPolicy: { type: "constructor" } }, /unknown variant `constructor`/],
    [{ sandboxPolicy: { type: "read-only", exclude_slash_tmp: true } }, /unknown field `exclude_slash_tmp`/],
    [{ sandboxPolicy: { type: "readOnly", readableRoots: [] } }, /unknown field `readableRoots` in .*`read-only`/],
    [{ sandboxPolicy: { type: "danger-full-access", network_access: false } }, /unknown field `network_access`/],
    [{ sandboxPolicy: { type: "read-only", __proto: 1 } }, /unknown field `__proto`/],
    [
      { sandboxPolicy: { type: "workspaceWrite", excludeSlashTmp: true, exclude_slash_tmp: false }, cwd: "/ws" },
      /`exclude_slash_tmp` in two spellings/,
    ],
    [
      { sandboxPolicy: { type: "read-only", network_access: true, networkAccess: true } },
      /`network_access` in two spellings/,
    ],
    [{ sandboxPolicy: { type: "read-only", networkAccess: "no" } }, /expected boolean/],
    [{ sandboxPolicy: { type: "read-only" }, fileSystemSandboxPolicy: {} }, /unknown field `fileSystemSandboxPolicy`/],
    ...[
      ...["sandbox_policy", "SandboxPolicy", "sandboxProfile", "sandbox_profile", "sandboxMode", "sandbox_context"],
      ...["permissionProfile", "permission_profile", "Permissions", "sandbox"],
    ].flatMap((
      word,
    ): [Json, RegExp][] => [
      [object({ type: "disabled" }, { [word]: { type: "read-only" } }), new RegExp(`^\`${word}\` is not accepted`)],
      [{ [word]: { type: "read-only" } }, new RegExp(`^\`${word}\` is not accepted`)],
    ]),
    [{ sandboxPolicy: { type: "workspace-write" } }, /requires cwd/],
    [{ sandboxPolicy: "read-only" }, /expected object/],
    [{ sandboxPolicy: {} }, "missing field `type`"],
    [1, /expected object/],
    ["read-only", /expected object/],
    [[], /expected object/],
  ];
  for (const [wire, expected] of refusals) {
    const { kind, message } = refusal(wire);
    assert.equal(kind, "invalidParams", message);
    if (typeof expected === "string") assert.equal(message, expected);
    else assert.match(message, expected, JSON.stringify(wire));
  }
});

Deno.test("SandboxParam refuses an entry for another machine's path as an invalid request", () => {
  for (const path of ["file://host/x", "file:///C:/x"]) {
    const wire = object(managed([ROOT_READ, { path: { type: "path", path }, access: "write" }]));
    assert.equal(refusal(wire).kind, "invalidRequest");
  }
});
