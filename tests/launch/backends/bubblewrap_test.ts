/**
 * A policy as bubblewrap's arguments, compared whole.
 *
 * More than 300 lines: whole lists of arguments.
 */

import assert from "node:assert/strict";
import { type BubblewrapTool, parseFirstProcess, planBubblewrap } from "../../../src/launch/backends/bubblewrap.ts";
import { type KernelMount, type KernelMounts, NO_KERNEL_MOUNTS } from "../../../src/launch/kernel_mounts.ts";
import type { ConfinedCommand, LaunchPlan, PlannedMount } from "../../../src/launch/launch_plan.ts";
import type { FilePolicy, PathRule, Policy } from "../../../src/launch/policy/policy.ts";
import { seccompProgram } from "../../../src/launch/stub/seccomp.ts";

const TOOL: BubblewrapTool = { path: "/usr/bin/bwrap", version: "0.8.0", bindsDescriptors: false };
const COMMAND: ConfinedCommand = { program: "/bin/prog", argv: ["zed", "-x", "a b"], env: { A: "1" }, cwd: "/ws" };

const rule = (access: PathRule["access"], path: string, type: PathRule["type"] = "directory"): PathRule => ({
  path,
  access,
  type,
  id: path,
});
const files = (base: FilePolicy["base"], rules: PathRule[] = [], more: Partial<FilePolicy> = {}): FilePolicy => ({
  base,
  rules,
  missing: [],
  pinned: [],
  links: [],
  ...more,
});

function plan(
  policy: FilePolicy,
  network: Policy["network"] = "restricted",
  tool = TOOL,
  command = COMMAND,
  kernelMounts = NO_KERNEL_MOUNTS,
) {
  return planBubblewrap(command, { files: policy, network }, {
    tool,
    architecture: "x86_64",
    isRoot: false,
    kernelMounts,
  });
}

function argumentsOf(...args: Parameters<typeof plan>): string[] {
  const [descriptor] = plan(...args).descriptors;
  assert.ok(descriptor?.type === "bytes" && descriptor.fd === 3);
  const text = new TextDecoder().decode(descriptor.bytes);
  assert.ok(text.endsWith("\0"));
  return text.slice(0, -1).split("\0");
}

/** The arguments about mounts: between the namespaces and the stub. */
function mounts(...args: Parameters<typeof plan>): string {
  const all = argumentsOf(...args);
  return all.slice(all.findLastIndex((arg) => arg.startsWith("--unshare")) + 1, all.lastIndexOf("--perms")).join(" ");
}

Deno.test("planBubblewrap() starts the stub through bubblewrap, and tells the process list nothing", () => {
  const { descriptors, view, ...rest } = plan(files("read"));
  assert.deepEqual(view, { base: "read", devices: "own", mounts: [] });
  assert.deepEqual(rest, {
    program: "/usr/bin/bwrap",
    argv: ["bwrap", "--args", "3", "--", "/dev/.launch", "/bin/prog", "zed", "-x", "a b"],
    env: {},
    cwd: "/",
    blockedSignals: [1, 2, 3, 10, 12, 14, 15, 20, 21, 22],
  });
  assert.deepEqual(descriptors.map(({ fd, type }) => `${fd} ${type}`), [
    "3 bytes",
    "4 bytes",
    "5 report",
    "6 bytes",
    "7 info",
  ]);
});

Deno.test("planBubblewrap() keeps a command's output from bubblewrap, where its end is told", () => {
  const { descriptors } = planBubblewrap(COMMAND, { files: files("read"), network: "restricted" }, {
    tool: TOOL,
    architecture: "x86_64",
    isRoot: false,
    kernelMounts: NO_KERNEL_MOUNTS,
    tellsEnd: true,
  });
  assert.deepEqual(descriptors.slice(5), [
    { fd: 8, type: "end" },
    { fd: 9, type: "output", stream: "stdout" },
    { fd: 10, type: "output", stream: "stderr" },
  ]);
});

Deno.test("planBubblewrap() gives all arguments in this order", () => {
  assert.deepEqual(argumentsOf(files("read", [rule("write", "/ws")])), [
    "--die-with-parent",
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-net",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--bind",
    "/ws",
    "/ws",
    "--perms",
    "0555",
    "--file",
    "6",
    "/dev/.launch",
    "--cap-drop",
    "ALL",
    "--seccomp",
    "4",
    "--info-fd",
    "7",
    "--setenv",
    "A",
    "1",
    "--chdir",
    "/ws",
  ]);
});

Deno.test("planBubblewrap() leaves root's stub the capabilities to cut off its mounts; other users' stubs get none", () => {
  const argsFor = (isRoot: boolean) => {
    const options = { tool: TOOL, architecture: "x86_64", isRoot } as const;
    const [args] = planBubblewrap(COMMAND, { files: files("read"), network: "enabled" }, {
      ...options,
      kernelMounts: NO_KERNEL_MOUNTS,
    }).descriptors;
    assert.ok(args?.type === "bytes");
    return new TextDecoder().decode(args.bytes).replaceAll("\0", " ");
  };
  assert.match(argsFor(true), / --cap-drop ALL --cap-add CAP_SYS_ADMIN --cap-add CAP_SETPCAP --seccomp /);
  assert.match(argsFor(false), / --cap-drop ALL --seccomp /);
});

Deno.test("planBubblewrap() makes the kernel's settings read-only for root, directly after its own /proc", () => {
  const options = { tool: TOOL, architecture: "x86_64", isRoot: true } as const;
  const { descriptors } = planBubblewrap(COMMAND, { files: files("read"), network: "restricted" }, {
    ...options,
    kernelMounts: NO_KERNEL_MOUNTS,
  });
  const [args] = descriptors;
  assert.ok(args?.type === "bytes");
  assert.match(new TextDecoder().decode(args.bytes), /\0--proc\0\/proc\0--ro-bind-try\0\/proc\/sys\0\/proc\/sys\0/);
});

Deno.test("planBubblewrap() keeps the host's network only when the policy has it", () => {
  assert.ok(argumentsOf(files("read"), "restricted").includes("--unshare-net"));
  assert.ok(!argumentsOf(files("read"), "enabled").includes("--unshare-net"));
  for (const network of ["restricted", "enabled"] as const) {
    const filter = plan(files("read"), network).descriptors.find(({ fd }) => fd === 4);
    assert.ok(filter?.type === "bytes");
    assert.deepEqual(filter.bytes, seccompProgram({ architecture: "x86_64", network }));
  }
});

Deno.test("planBubblewrap() leaves the network to the stub's filter when denials are to be told, and still refuses it", () => {
  const watched = (network: Policy["network"]) =>
    planBubblewrap(COMMAND, { files: files("read"), network }, {
      kernelMounts: NO_KERNEL_MOUNTS,
      tool: TOOL,
      architecture: "x86_64",
      isRoot: false,
      reportsDenials: true,
    });
  const bytesAt = ({ descriptors }: LaunchPlan, at: number) => {
    const descriptor = descriptors.find(({ fd }) => fd === at);
    assert.ok(descriptor?.type === "bytes");
    return descriptor.bytes;
  };
  // The sandbox's first process never runs the stub: what binds it must refuse the network as well.
  const filter = seccompProgram({ architecture: "x86_64", network: "restricted", networkRefusal: "notify" });
  assert.deepEqual(bytesAt(watched("restricted"), 4), filter);
  assert.notDeepEqual(bytesAt(watched("restricted"), 6), bytesAt(plan(files("read")), 6));
  // There is nothing to tell of a network that is open.
  assert.deepEqual(watched("enabled"), plan(files("read"), "enabled"));
});

Deno.test("planBubblewrap() mounts broad before narrow, and closes what it made last", () => {
  const own = "--dev /dev --proc /proc";
  const table: [FilePolicy, string][] = [
    [files("read"), `--ro-bind / / ${own}`],
    [files("write", [rule("read", "/ws")]), `--bind / / ${own} --ro-bind /ws /ws`],
    [
      files("read", [rule("write", "/ws"), rule("read", "/ws/.git"), rule("write", "/ws/.git/x")]),
      `--ro-bind / / ${own} --bind /ws /ws --ro-bind /ws/.git /ws/.git --bind /ws/.git/x /ws/.git/x`,
    ],
    [files("read", [rule("deny", "/out")]), `--ro-bind / / ${own} --perms 0000 --tmpfs /out --remount-ro /out`],
    [
      files("read", [rule("deny", "/out"), rule("write", "/out/w")]),
      `--ro-bind / / ${own} --perms 0111 --tmpfs /out --bind /out/w /out/w --remount-ro /out`,
    ],
    [files("read", [rule("deny", "/out/o", "file")]), `--ro-bind / / ${own} --ro-bind /dev/null /out/o`],
    [
      files("hidden", [rule("read", "/usr"), rule("write", "/ws")], { links: [{ path: "/bin", target: "usr/bin" }] }),
      `--tmpfs / ${own} --ro-bind /usr /usr --bind /ws /ws --symlink usr/bin /bin --remount-ro /`,
    ],
    [
      files("read", [rule("write", "/ws"), rule("read", "/ws/a/b")], {
        pinned: ["/ws/a"],
        missing: [{ path: "/ws/.git", placeholder: "directory", isHidden: false }],
      }),
      `--ro-bind / / ${own} --bind /ws /ws --bind /ws/a /ws/a --ro-bind /ws/.git /ws/.git --ro-bind /ws/a/b /ws/a/b`,
    ],
    [
      files("read", [rule("write", "/ws")], {
        missing: [
          { path: "/ws/.git", placeholder: "directory", isHidden: true },
          { path: "/ws/later", placeholder: "file", isHidden: true },
        ],
      }),
      `--ro-bind / / ${own} --bind /ws /ws --perms 0000 --tmpfs /ws/.git --perms 0000 --ro-bind-data 8 /ws/later ` +
      "--remount-ro /ws/.git",
    ],
    // The sandbox's own /dev and /proc: no entry replaces them, nothing of the host's /proc is let in.
    [
      files("hidden", [
        rule("write", "/dev"),
        rule("read", "/proc"),
        rule("read", "/proc/1"),
        rule("deny", "/proc/kallsyms", "file"),
        rule("write", "/dev/kvm", "file"),
      ]),
      `--tmpfs / ${own} --ro-bind /dev/null /proc/kallsyms --dev-bind /dev/kvm /dev/kvm --remount-ro /`,
    ],
  ];
  for (const [policy, expected] of table) assert.equal(mounts(policy), expected);
});

Deno.test("planBubblewrap() binds opened directories where it can, so that nothing can be swapped in", () => {
  const policy = files("read", [rule("write", "/ws"), rule("read", "/ws/a/b"), rule("deny", "/out")], {
    pinned: ["/ws/a"],
  });
  const tool = { ...TOOL, bindsDescriptors: true };
  assert.equal(
    mounts(policy, "restricted", tool),
    "--ro-bind / / --dev /dev --proc /proc --bind-fd 8 /ws --perms 0000 --tmpfs /out --bind-fd 10 /ws/a " +
      "--ro-bind-fd 9 /ws/a/b --remount-ro /out",
  );
  assert.deepEqual(plan(policy, "restricted", tool).descriptors.slice(5), [
    { fd: 8, type: "path", path: "/ws" },
    { fd: 9, type: "path", path: "/ws/a/b" },
    { fd: 10, type: "path", path: "/ws/a" },
  ]);
});

Deno.test("planBubblewrap() describes the expected result of its mounts", () => {
  const policy = files("read", [rule("write", "/ws"), rule("deny", "/ws/key", "file"), rule("deny", "/out")], {
    pinned: ["/ws/a"],
    missing: [
      { path: "/ws/.git", placeholder: "directory", isHidden: false },
      { path: "/ws/a/later", placeholder: "file", isHidden: true },
    ],
    links: [{ path: "/bin", target: "usr/bin" }],
  });
  const mount = (path: string, shows: PlannedMount["shows"], isWritable: boolean, id: string | null) => ({
    path,
    shows,
    isWritable,
    id,
    isInHostDirectory: true,
  });
  assert.deepEqual(plan(policy).view, {
    base: "read",
    devices: "own",
    mounts: [
      mount("/ws", "itself", true, "/ws"),
      mount("/out", "empty", false, "/out"),
      mount("/ws/key", "null", false, "/ws/key"),
      mount("/ws/a", "itself", true, null),
      mount("/ws/.git", "itself", false, null),
      mount("/ws/a/later", "empty", false, null),
    ],
  });
});

Deno.test("planBubblewrap() knows which of its mounts lie in directories that are not the host's", () => {
  const inHost = (policy: FilePolicy) =>
    plan(policy).view!.mounts.map(({ path, isInHostDirectory }) => `${path} ${isInHostDirectory}`);
  assert.deepEqual(inHost(files("hidden", [rule("write", "/a/b"), rule("read", "/a/b/c")])), [
    "/a/b false",
    "/a/b/c true",
  ]);
  assert.deepEqual(
    inHost(files("read", [rule("deny", "/a"), rule("read", "/a/b"), rule("write", "/dev/kvm", "file")])),
    [
      "/a true",
      "/a/b false",
      "/dev/kvm false",
    ],
  );
});

Deno.test("planBubblewrap() refuses what bubblewrap would fail over", () => {
  for (const name of ["", "A=B"]) {
    assert.throws(
      () => plan(files("read"), "enabled", TOOL, { ...COMMAND, env: { [name]: "x" } }),
      /not a valid name of an env/,
    );
  }
  const many = Array.from({ length: 3000 }, (_, index) => rule("deny", `/out/${index}`, "file"));
  assert.throws(() => plan(files("read", many)), /arguments, and at most 9000/);
});

Deno.test("parseFirstProcess() reads the pid that bubblewrap tells", () => {
  const parse = (text: string) => parseFirstProcess(new TextEncoder().encode(text));
  assert.equal(parse('{\n    "child-pid": 4711,\n    "net-namespace": 4026532211\n}\n'), 4711);
  assert.equal(parse(""), null);
});

/** A host that has these, each with a kind: `proc /ws/chroot/proc`. Those that end with `!` cannot be reached. */
function kernelMountsOf(...lines: string[]): KernelMounts {
  const mounts = lines.map((line): KernelMount => {
    const [type, path] = line.split(" ");
    return { path: path!.replace("!", ""), kind: type === "proc" ? "procfs" : "other" };
  });
  return {
    list: () => mounts,
    shapeOf: ({ path }) => lines.some((line) => line.endsWith(`${path}!`)) ? null : "directory",
    kindAt: (path) =>
      mounts.findLast((mount) => path === mount.path || path.startsWith(`${mount.path}/`))?.kind ?? null,
  };
}

const HIDDEN_PROC = "--perms 0000 --tmpfs";

Deno.test("planBubblewrap() makes the kernel's filesystems read-only, and shows only its own procfs", () => {
  const steps = (policy: FilePolicy, ...host: string[]) =>
    mounts(policy, "restricted", TOOL, COMMAND, kernelMountsOf("proc /proc", "sysfs /sys", ...host))
      .replace(/^.*--proc \/proc ?/, "");
  // All of it lies where nothing is granted.
  assert.equal(steps(files("read")), "");
  // A root directory for another system in a workspace.
  const chroot = ["proc /ws/c/proc", "sysfs /ws/c/sys", "cgroup2 /ws/c/sys/fs/cgroup", "devtmpfs /ws/c/dev"];
  assert.equal(
    steps(files("read", [rule("write", "/ws")]), ...chroot),
    `--bind /ws /ws ${HIDDEN_PROC} /ws/c/proc --ro-bind /ws/c/sys /ws/c/sys --ro-bind /ws/c/dev /ws/c/dev ` +
      "--remount-ro /ws/c/proc",
  );
  // Where it is only read a procfs is hidden all the same, and where nothing shows there is nothing to hide.
  assert.equal(steps(files("read"), ...chroot), `${HIDDEN_PROC} /ws/c/proc --remount-ro /ws/c/proc`);
  assert.equal(steps(files("hidden"), ...chroot), "--remount-ro /");
  assert.equal(steps(files("read", [rule("deny", "/ws")]), ...chroot), "--perms 0000 --tmpfs /ws --remount-ro /ws");
  // The whole disk.
  assert.equal(steps(files("write")), "--ro-bind /sys /sys");
  // What nobody inside could reach would end bubblewrap.
  assert.equal(steps(files("read"), "proc /ws/c/proc!"), "");
});

Deno.test("planBubblewrap() lets in nothing of another procfs, whatever is granted", () => {
  const host = kernelMountsOf("proc /proc", "proc /ws/c/proc");
  const text = mounts(
    files("hidden", [rule("read", "/ws"), rule("read", "/ws/c/proc/1")]),
    "restricted",
    TOOL,
    COMMAND,
    host,
  );
  assert.match(text, /--tmpfs \/ws\/c\/proc/);
  assert.doesNotMatch(text, /\/ws\/c\/proc\/1/);
});

Deno.test("planBubblewrap() leaves the files of a policy that confines none, with the host's devices", () => {
  const options = { tool: TOOL, architecture: "x86_64", isRoot: false } as const;
  const { argv, descriptors, view } = planBubblewrap(COMMAND, { files: "unrestricted", network: "restricted" }, {
    ...options,
    kernelMounts: kernelMountsOf("proc /proc", "sysfs /sys", "devtmpfs /dev"),
  });
  assert.ok(descriptors[0]?.type === "bytes");
  const text = new TextDecoder().decode(descriptors[0].bytes).replaceAll("\0", " ");
  assert.match(
    text,
    /--unshare-net --dev-bind \/ \/ --proc \/proc --ro-bind \/sys \/sys --cap-drop ALL --cap-add CAP_SYS_ADMIN/,
  );
  // There is no directory of the sandbox's own to put the stub into.
  assert.deepEqual(argv.slice(3, 5), ["--", "/proc/self/fd/6"]);
  assert.deepEqual([view?.base, view?.devices], ["write", "host"]);
});
