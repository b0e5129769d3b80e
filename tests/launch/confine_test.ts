import assert from "node:assert/strict";
import { NO_KERNEL_MOUNTS } from "../../src/launch/kernel_mounts.ts";
import { DomainError } from "../../src/errors.ts";
import { type Enforcement, prepareLaunch, visibleCommand } from "../../src/launch/confine.ts";
import { helperEnv } from "../../src/launch/launch_plan.ts";
import type { PlaceholderFiles } from "../../src/launch/policy/placeholders.ts";
import type { MissingPath, Policy } from "../../src/launch/policy/policy.ts";
import { resolveFiles } from "../../src/launch/policy/policy_resolve.ts";
import { FakeTree } from "./fake_tree.ts";

const COMMAND = { program: "/bin/sh", argv: ["sh"], env: {}, cwd: "/" };
const READ_ONLY: Policy = {
  files: { base: "read", rules: [], missing: [], pinned: [], links: [] },
  network: "restricted",
};
const FREE: Policy = { files: "unrestricted", network: "restricted" };

const tree = new FakeTree({
  "/usr/bin/tool": { file: "" },
  "/home/u/bin/tool": { file: "" },
  "/bin": { link: "usr/bin" },
  "/ws": "directory",
  "/dev/null": { file: "" },
});

const policy = (entries: Parameters<typeof resolveFiles>[0]["entries"]): Policy => ({
  files: resolveFiles({ entries, globs: [], globScanMaxDepth: null }, [], tree),
  network: "restricted",
});

const tool = { path: "/usr/bin/bwrap", version: "0.8.0", bindsDescriptors: true };

/** Can hold everything but `/ws/.aws`, where it says nothing is needed. */
class FakePlaceholders implements PlaceholderFiles {
  readonly held = new Set<string>();

  claim({ path }: MissingPath) {
    if (path === "/ws/.aws") return "unneeded";
    this.held.add(path);
    return { release: () => void this.held.delete(path) };
  }
}

function prepare(enforcement: Enforcement, wanted: Policy, placeholders = new FakePlaceholders(), command = COMMAND) {
  return prepareLaunch(command, wanted, {
    enforcement,
    architecture: "x86_64",
    isRoot: false,
    placeholders,
    kernelMounts: NO_KERNEL_MOUNTS,
  });
}

Deno.test("prepareLaunch() plans with the backend that was chosen", () => {
  const programFor = (enforcement: Enforcement, wanted: Policy) => prepare(enforcement, wanted)?.plan.program;
  const ruleset = { handledFileAccess: 1, handledNetworkAccess: 0, scoped: 0, rules: [] };
  assert.equal(programFor({ type: "none" }, FREE), undefined);
  assert.equal(programFor({ type: "landlock", ruleset }, FREE), "/proc/self/fd/4");
  assert.equal(programFor({ type: "bubblewrap", tool }, FREE), "/usr/bin/bwrap");
  assert.equal(programFor({ type: "landlock", ruleset }, READ_ONLY), "/proc/self/fd/4");
  assert.equal(programFor({ type: "bubblewrap", tool }, READ_ONLY), "/usr/bin/bwrap");
});

Deno.test("prepareLaunch() holds what bubblewrap mounts on, mounts only that, and gives it back", () => {
  const placeholders = new FakePlaceholders();
  const wanted = policy([{ path: "/", access: "read" }, { path: "/ws", access: "write" }]);
  const { plan, release } = prepare({ type: "bubblewrap", tool }, wanted, placeholders)!;
  assert.deepEqual([...placeholders.held].sort(), ["/ws/.agents", "/ws/.codex", "/ws/.git"]);
  const args = plan.descriptors[0];
  assert.ok(args?.type === "bytes");
  const text = new TextDecoder().decode(args.bytes);
  assert.ok(text.includes("/ws/.git") && !text.includes("/ws/.aws"));
  release();
  release();
  assert.equal(placeholders.held.size, 0);
});

Deno.test("prepareLaunch() gives placeholders back when there is no plan", () => {
  const placeholders = new FakePlaceholders();
  const wanted = policy([{ path: "/", access: "read" }, { path: "/ws", access: "write" }]);
  const command = { ...COMMAND, env: { "A=B": "" } };
  assert.throws(() => prepare({ type: "bubblewrap", tool }, wanted, placeholders, command), DomainError);
  assert.equal(placeholders.held.size, 0);
});

Deno.test("visibleCommand() takes the first program that can be seen inside", () => {
  const wanted = { ...COMMAND, cwd: "/ws", candidates: ["/home/u/bin/tool", "/bin/tool", "/usr/bin/tool"] };
  const program = (wantedPolicy: Policy) => visibleCommand(wanted, wantedPolicy, tree).program;
  assert.equal(program(policy([{ path: "/", access: "read" }])), "/home/u/bin/tool");
  assert.equal(
    program(
      policy([{ path: "/usr", access: "read" }, { path: "/bin", access: "read" }, { path: "/ws", access: "write" }]),
    ),
    "/bin/tool",
  );
  assert.equal(program(policy([{ path: "/", access: "read" }, { path: "/home", access: "deny" }])), "/bin/tool");
  assert.equal(program(FREE), "/home/u/bin/tool");
});

Deno.test("visibleCommand() refuses what would fail inside, before anything is started", () => {
  const refusal = (text: RegExp) => (error: unknown) =>
    error instanceof DomainError && error.kind === "internal" && text.test(error.message);
  const onlyWs = policy([{ path: "/ws", access: "read" }]);
  assert.throws(
    () => visibleCommand({ ...COMMAND, cwd: "/ws", candidates: ["/usr/bin/tool"] }, onlyWs, tree),
    refusal(/^No such file or directory \(os error 2\)$/),
  );
  assert.throws(
    () => visibleCommand({ ...COMMAND, cwd: "/usr", candidates: ["/ws"] }, onlyWs, tree),
    refusal(/hides its working directory \/usr: No such file or directory \(os error 2\)$/),
  );
  assert.equal(visibleCommand({ ...COMMAND, cwd: "/dev", candidates: ["/ws"] }, onlyWs, tree).cwd, "/dev");
});

Deno.test("visibleCommand() answers alike for a missing directory and a missing program, and tells the log which", () => {
  const onlyWs = policy([{ path: "/ws", access: "read" }]);
  const cases: [cwd: string, candidate: string, wanted: Policy, detail: RegExp][] = [
    ["/none", "/ws", onlyWs, /working directory \/none$/],
    ["/none", "/ws", FREE, /working directory \/none$/],
    ["/ws", "/usr/bin/tool", onlyWs, /program .* in the sandbox$/],
  ];
  for (const [cwd, candidate, wanted, detail] of cases) {
    assert.throws(() => visibleCommand({ ...COMMAND, cwd, candidates: [candidate] }, wanted, tree), (error) => {
      assert.ok(error instanceof DomainError);
      assert.equal(error.message, "No such file or directory (os error 2)");
      assert.match(error.detail ?? "", detail);
      return true;
    });
  }
});

Deno.test("visibleCommand() refuses a directory that cannot be entered as the system does, unless it is hidden", () => {
  const host = new FakeTree({
    "/ws/file": { file: "" },
    "/ws/link": { link: "file" },
    "/ws/loop": { link: "loop" },
    "/ws/closed": "closed",
    "/other/file": { file: "" },
  });
  const onlyWs: Policy = {
    files: resolveFiles({ entries: [{ path: "/ws", access: "read" }], globs: [], globScanMaxDepth: null }, [], host),
    network: "restricted",
  };
  const NOT_A_DIRECTORY = "Not a directory (os error 20)";
  const CLOSED = "Permission denied (os error 13)";
  const cases: [cwd: string, message: string][] = [
    ["/ws/file", NOT_A_DIRECTORY],
    ["/ws/file/x", NOT_A_DIRECTORY],
    ["/ws/file/x/y", NOT_A_DIRECTORY],
    ["/ws/link", NOT_A_DIRECTORY],
    ["/ws/link/x", NOT_A_DIRECTORY],
    ["/ws/closed", CLOSED],
    ["/ws/closed/x", CLOSED],
    ["/ws/loop", "Too many levels of symbolic links (os error 40)"],
  ];
  for (const wanted of [onlyWs, FREE]) {
    for (const [cwd, message] of cases) {
      assert.throws(() => visibleCommand({ ...COMMAND, cwd, candidates: ["/ws"] }, wanted, host), (error) => {
        assert.ok(error instanceof DomainError);
        assert.deepEqual([error.kind, error.message], ["internal", message], cwd);
        assert.equal(error.detail, `the working directory ${cwd} cannot be entered`);
        return true;
      });
    }
  }
  for (const cwd of ["/other/file", "/other/file/x"]) {
    assert.throws(
      () => visibleCommand({ ...COMMAND, cwd, candidates: ["/ws"] }, onlyWs, host),
      /hides its working directory/,
    );
  }
});

Deno.test("helperEnv() lets a helper see where programs and temporary files are, and nothing else", () => {
  const env = { PATH: "/bin", TMPDIR: "/t", TEMP: "", HOME: "/root", SECRET: "x", LD_PRELOAD: "/evil.so" };
  assert.deepEqual(helperEnv(env), { PATH: "/bin", TMPDIR: "/t", TEMP: "" });
  assert.deepEqual(helperEnv({}), {});
});
