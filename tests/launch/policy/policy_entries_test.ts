import assert from "node:assert/strict";
import { DomainError } from "../../../src/errors.ts";
import { isUnconfined } from "../../../src/launch/policy/policy.ts";
import { requestedPolicy } from "../../../src/launch/policy/policy_entries.ts";
import type { Permissions, Sandbox, SandboxEntry, SpecialPath } from "../../../src/protocol/sandbox.ts";

const LINUX = { tmpdir: null } as const;

const at = (path: string, access: SandboxEntry["access"]): SandboxEntry => ({ path: { type: "path", path }, access });
const glob = (pattern: string, access: SandboxEntry["access"] = "deny"): SandboxEntry => ({
  path: { type: "glob_pattern", pattern },
  access,
});
const special = (value: SpecialPath, access: SandboxEntry["access"]): SandboxEntry => ({
  path: { type: "special", value },
  access,
});
const ROOT = { kind: "root" } as const;

function sandbox(entries: readonly SandboxEntry[], place: Partial<Sandbox> = {}): Sandbox {
  return {
    permissions: {
      type: "managed",
      fileSystem: { type: "restricted", entries, globScanMaxDepth: 3 },
      network: "restricted",
    },
    isPlaced: true,
    cwd: "/ws",
    workspaceRoots: ["/ws", "/other"],
    ...place,
  };
}

function filesOf(object: Sandbox, context: Parameters<typeof requestedPolicy>[1] = LINUX) {
  const { files } = requestedPolicy(object, context);
  assert.notEqual(files, "unrestricted");
  return files as Exclude<typeof files, "unrestricted">;
}

Deno.test("requestedPolicy() names every special place", () => {
  const files = filesOf(
    sandbox([
      special(ROOT, "read"),
      special({ kind: "project_roots", subpath: null }, "write"),
      special({ kind: "project_roots", subpath: "" }, "write"),
      special({ kind: "project_roots", subpath: ".git" }, "read"),
      special({ kind: "project_roots", subpath: "a//b/" }, "deny"),
      special({ kind: "slash_tmp" }, "write"),
      special({ kind: "tmpdir" }, "write"),
      special({ kind: "unknown" }, "write"),
      at("/extra", "write"),
    ]),
    { tmpdir: "/var//tmp/x/" },
  );
  assert.deepEqual(files.entries.map(({ path, access }) => `${access} ${path}`), [
    "read /",
    "write /ws",
    "write /other",
    "write /ws",
    "write /other",
    "read /ws/.git",
    "read /other/.git",
    "deny /ws/a/b",
    "deny /other/a/b",
    "write /tmp",
    "write /var/tmp/x",
    "write /extra",
  ]);
  assert.equal(files.globScanMaxDepth, 3);
});

Deno.test("requestedPolicy() grants nothing for a TMPDIR or subpath that names no certain place", () => {
  for (const tmpdir of [null, "", "relative/tmp"]) {
    assert.deepEqual(filesOf(sandbox([special({ kind: "tmpdir" }, "write")]), { ...LINUX, tmpdir }).entries, []);
  }
  for (const subpath of ["..", "../out", "a/../../out", "/abs", ".", "./a"]) {
    assert.deepEqual(filesOf(sandbox([special({ kind: "project_roots", subpath }, "write")])).entries, []);
  }
});

Deno.test("requestedPolicy() always makes the minimal set readable, and never hides it", () => {
  const entries = (access: SandboxEntry["access"]) => filesOf(sandbox([special({ kind: "minimal" }, access)])).entries;
  assert.ok(entries("read").some(({ path }) => path === "/usr"));
  assert.ok(entries("read").some(({ path }) => path === "/etc"));
  assert.deepEqual(entries("write"), entries("read"));
  assert.deepEqual(entries("deny"), []);
});

Deno.test("requestedPolicy() bases patterns on the cwd or on every root", () => {
  const bases = (entry: SandboxEntry) => filesOf(sandbox([entry])).globs.map(({ base }) => base);
  assert.deepEqual(bases(glob("/abs/x/*.k")), ["/abs/x"]);
  assert.deepEqual(bases(glob("sub/*.k")), ["/ws/sub"]);
  assert.deepEqual(bases(glob("codex-project-roots://**/*.k")), ["/ws", "/other"]);
  assert.deepEqual(bases(glob("codex-project-roots:///sub/*.k")), ["/ws/sub", "/other/sub"]);
  // A pattern that would grant grants nothing.
  assert.deepEqual(bases(glob("/abs/*", "read")), []);
  assert.deepEqual(bases(glob("/abs/*", "write")), []);
});

Deno.test("requestedPolicy() takes a root's own name literally in a pattern", () => {
  const object = sandbox([glob("codex-project-roots://*.k")], { workspaceRoots: ["/a[b]{c}*"] });
  const [pattern] = filesOf(object).globs;
  assert.deepEqual({ base: pattern?.base, names: pattern?.names.length }, { base: "/", names: 2 });
});

Deno.test("requestedPolicy() needs to know where it applies when that matters", () => {
  const nowhere = { isPlaced: false, cwd: null, workspaceRoots: [] };
  for (
    const entry of [
      special({ kind: "project_roots", subpath: null }, "read"),
      special({ kind: "project_roots", subpath: "x" }, "deny"),
      glob("**/*.k"),
      glob("codex-project-roots://*"),
    ]
  ) {
    assert.throws(
      () => requestedPolicy(sandbox([entry], nowhere), LINUX),
      (error) =>
        error instanceof DomainError && error.kind === "invalidParams" &&
        error.message === "file system sandbox context with dynamic permissions requires cwd",
    );
  }
  requestedPolicy(
    sandbox([special(ROOT, "read"), glob("/abs/*"), special({ kind: "tmpdir" }, "write")], nowhere),
    LINUX,
  );
  // Placed, but on another machine: there are no roots, and a relative pattern means nothing.
  const elsewhere = { isPlaced: true, cwd: null, workspaceRoots: [] };
  assert.deepEqual(
    filesOf(sandbox([special({ kind: "project_roots", subpath: null }, "write")], elsewhere)).entries,
    [],
  );
  assert.throws(() => requestedPolicy(sandbox([glob("*.k")], elsewhere), LINUX), /relative/);
});

Deno.test("requestedPolicy() refuses policies that are too large, before it makes them", () => {
  const subpath = (path: string): SandboxEntry => ({
    path: { type: "special", value: { kind: "project_roots", subpath: path } },
    access: "write",
  });
  const roots = (count: number, root: string) => ({ workspaceRoots: new Array<string>(count).fill(root) });
  const many = new Array<SandboxEntry>(50).fill(subpath("a"));
  assert.equal(filesOf(sandbox(many, roots(80, "/r"))).entries.length, 4000);
  assert.throws(() => filesOf(sandbox(many, roots(100_000, "/r"))), /^DomainError: sandbox has more than 4096 paths$/);
  assert.throws(
    () => filesOf(sandbox(many, roots(80, `/${"r".repeat(4000)}`))),
    /sandbox has more than 1 MiB of paths$/,
  );
  assert.throws(() => filesOf(sandbox([subpath("a/".repeat(1_000_000))])), /^PathTooLongError: File name too long/);
  const patterns = new Array<SandboxEntry>(200).fill(glob("x".repeat(4000)));
  assert.throws(() => filesOf(sandbox(patterns)), /^DomainError: glob pattern has too many characters/);
});

Deno.test("requestedPolicy() refuses patterns of a form it does not know", () => {
  for (const pattern of ["", "file:///tmp/*", "codex-project-roots://", "other-roots://*", "/ws/[a"]) {
    assert.throws(
      () => requestedPolicy(sandbox([glob(pattern)]), LINUX),
      (error) => error instanceof DomainError && error.kind === "invalidParams",
      pattern,
    );
  }
});

Deno.test("requestedPolicy() sees full access only in the forms that mean it", () => {
  const write = special(ROOT, "write");
  const managed = (entries: SandboxEntry[], network: "enabled" | "restricted" = "enabled"): Permissions => ({
    type: "managed",
    fileSystem: { type: "restricted", entries, globScanMaxDepth: null },
    network,
  });
  const table: [Permissions, { files: boolean; all: boolean }][] = [
    [{ type: "disabled" }, { files: true, all: true }],
    [{ type: "external", network: "enabled" }, { files: true, all: true }],
    [{ type: "external", network: "restricted" }, { files: true, all: false }],
    [{ type: "managed", fileSystem: { type: "unrestricted" }, network: "enabled" }, { files: true, all: true }],
    [{ type: "managed", fileSystem: { type: "unrestricted" }, network: "restricted" }, { files: true, all: false }],
    [managed([write]), { files: true, all: true }],
    [managed([write], "restricted"), { files: true, all: false }],
    [managed([special(ROOT, "read"), write]), { files: true, all: true }],
    [managed([at("/", "write")]), { files: true, all: true }],
    [managed([write, at("/ws", "write")]), { files: true, all: true }],
    [managed([write, at("/ws", "read")]), { files: false, all: false }],
    [managed([write, at("/ws", "deny")]), { files: false, all: false }],
    [managed([write, special(ROOT, "deny")]), { files: false, all: false }],
    [managed([write, glob("/ws/*")]), { files: false, all: false }],
    // Not understood: it might have been meant to take something away.
    [managed([write, special({ kind: "unknown" }, "deny")]), { files: false, all: false }],
    [managed([write, special({ kind: "unknown" }, "write")]), { files: false, all: false }],
    [managed([write, special({ kind: "minimal" }, "read")]), { files: false, all: false }],
    [managed([special(ROOT, "read")]), { files: false, all: false }],
    [managed([]), { files: false, all: false }],
    [managed([at("/ws", "write")]), { files: false, all: false }],
  ];
  for (const [permissions, expected] of table) {
    const { files, network } = requestedPolicy({ permissions, isPlaced: false, cwd: null, workspaceRoots: [] }, LINUX);
    const isFree = files === "unrestricted";
    assert.deepEqual(
      { files: isFree, all: isFree && isUnconfined({ files, network }) },
      expected,
      JSON.stringify(permissions),
    );
  }
});
