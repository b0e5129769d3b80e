/**
 * What a policy comes to on a disk.
 *
 * More than 300 lines: tables of policies on one imaginary disk.
 */

import assert from "node:assert/strict";
import { DomainError } from "../../../src/errors.ts";
import {
  accessTo,
  type FilePolicy,
  policyKey,
  readsEverything,
  refuseUnmanagedNetwork,
} from "../../../src/launch/policy/policy.ts";
import type { PolicyEntry } from "../../../src/launch/policy/policy_entries.ts";
import { resolveFiles } from "../../../src/launch/policy/policy_resolve.ts";
import { type FakeEntry, FakeTree } from "../fake_tree.ts";

const DISK: Readonly<Record<string, FakeEntry>> = {
  "/ws/in": { file: "" },
  "/ws/a/b/c": "directory",
  "/ws/a/b/f": { file: "" },
  "/out/w/x": "directory",
  "/out/o": { file: "" },
  "/usr/bin/tool": { file: "" },
  "/bin": { link: "usr/bin" },
  "/two": "directory",
};

/** `read /, write /ws` */
function entriesOf(text: string): PolicyEntry[] {
  return text.split(",").map((entry) => entry.trim()).filter((entry) => entry !== "").map((entry) => {
    const [access, path] = entry.split(" ");
    return { access: access as PolicyEntry["access"], path: path! };
  });
}

function resolve(text: string, disk: Readonly<Record<string, FakeEntry>> = DISK, matches: string[] = []): FilePolicy {
  return resolveFiles({ entries: entriesOf(text), globs: [], globScanMaxDepth: null }, matches, new FakeTree(disk));
}

function* permutations<T>(items: readonly T[]): Generator<T[]> {
  if (items.length === 0) yield [];
  for (const [index, item] of items.entries()) {
    for (const rest of permutations(items.toSpliced(index, 1))) yield [item, ...rest];
  }
}

function refuses(text: string, message: RegExp, disk: Readonly<Record<string, FakeEntry>>): void {
  assert.throws(() => resolve(text, disk), (error) => {
    assert.ok(error instanceof DomainError);
    assert.equal(error.kind, "invalidRequest");
    assert.match(error.message, message);
    return true;
  });
}

Deno.test("resolveFiles() grants no kernel filesystem for writing, and protects no names there", () => {
  const policy = resolve("read /, write /ws/sys/fs", { "/ws/sys": "madeUp", "/ws/sys/fs": "directory" });
  assert.deepEqual([accessTo(policy, "/ws/sys/fs"), policy.rules, policy.missing], ["read", [], []]);
});

Deno.test("resolveFiles() combines entries by the table, in whatever order they come", () => {
  const table: [string, Record<string, string>][] = [
    ["", { "/": "hidden", "/ws": "hidden" }],
    ["read /", { "/": "read", "/ws/in": "read" }],
    ["read /ws", { "/": "hidden", "/ws/in": "read", "/wsx": "hidden" }],
    // The narrower entry rules below it.
    ["read /, write /ws", { "/ws": "write", "/ws/in": "write", "/out/o": "read" }],
    ["read /, write /ws, read /ws/a", { "/ws/in": "write", "/ws/a": "read", "/ws/a/b/f": "read" }],
    ["read /, write /ws, read /ws/a, write /ws/a/b", { "/ws/a": "read", "/ws/a/b": "write", "/ws/a/b/c": "write" }],
    ["write /, read /ws", { "/": "write", "/ws/in": "read", "/out/o": "write" }],
    ["write /, read /ws, write /ws/a, deny /ws/a/b", { "/ws/in": "read", "/ws/a/x": "write", "/ws/a/b/f": "deny" }],
    // The same path twice.
    ["read /, read /ws, write /ws", { "/ws/in": "write" }],
    ["read /, read /ws, write /ws, deny /ws", { "/ws/in": "deny" }],
    ["read /, deny /", { "/": "hidden" }],
    // Below a denial.
    ["read /, deny /out, write /out/w", { "/out": "deny", "/out/o": "deny", "/out/w": "write", "/out/w/x": "write" }],
    ["read /, deny /out, read /out/w", { "/out": "deny", "/out/w": "deny", "/out/w/x": "deny" }],
    ["read /, deny /out, write /out/w, read /out/w/x", { "/out/o": "deny", "/out/w": "write", "/out/w/x": "read" }],
    ["read /, deny /out, write /out/w, deny /out/w/x", { "/out/w": "write", "/out/w/x": "deny" }],
    ["read /, deny /out, read /out/w, write /out/w/x", { "/out/w": "deny", "/out/w/x": "write" }],
    ["deny /out, read /out/w", { "/out/w": "deny" }],
    // To deny the root is to grant none of it, which leaves other grants alone.
    ["deny /, read /ws, write /two", { "/": "hidden", "/ws/in": "read", "/two": "write", "/out": "hidden" }],
    ["write /, deny /, read /ws", { "/": "hidden", "/ws/in": "read" }],
    // Missing paths grant nothing.
    ["read /, write /none", { "/none": "read", "/none/x": "read" }],
    ["read /, write /ws/none/deep", { "/ws": "read", "/ws/none": "read" }],
    ["read /none", { "/none": "hidden" }],
    // Single files.
    ["read /, write /ws/in", { "/ws/in": "write", "/ws/a": "read", "/ws": "read" }],
    ["read /ws/a/b/f", { "/ws/a/b/f": "read", "/ws/a/b": "hidden" }],
    // Links lead to one rule for one thing.
    ["read /, write /bin, read /usr/bin", { "/usr/bin/tool": "write", "/usr": "read" }],
  ];
  for (const [text, expected] of table) {
    for (const entries of permutations(entriesOf(text))) {
      const shuffled = entries.map(({ access, path }) => `${access} ${path}`).join(", ");
      const files = resolve(shuffled);
      const actual = Object.fromEntries(Object.keys(expected).map((path) => [path, accessTo(files, path)]));
      assert.deepEqual(actual, expected, shuffled);
    }
  }
});

Deno.test("resolveFiles() gives the same policy for the same entries in another order", () => {
  const text = "read /, write /ws, write /two, read /ws/a, deny /out, write /out/w";
  const keys = [...permutations(entriesOf(text))].map((entries) =>
    policyKey({
      files: resolve(entries.map(({ access, path }) => `${access} ${path}`).join(",")),
      network: "restricted",
    })
  );
  assert.equal(new Set(keys).size, 1);
});

Deno.test("resolveFiles() protects repositories and agents' directories right under writable ones", () => {
  const disk: Record<string, FakeEntry> = {
    ...DISK,
    "/ws/.git/hooks": "directory",
    "/ws/.codex": { file: "" },
    "/ws/a/.git": "directory",
  };
  const files = resolve("read /, write /ws, write /two", disk);
  assert.deepEqual(
    ["/ws/.git", "/ws/.git/hooks", "/ws/.codex", "/ws/a/.git"].map((path) => accessTo(files, path)),
    ["read", "read", "read", "write"],
  );
  assert.deepEqual(files.missing, [
    { path: "/two/.agents", placeholder: "directory", isHidden: false },
    { path: "/two/.aws", placeholder: "directory", isHidden: false },
    { path: "/two/.codex", placeholder: "directory", isHidden: false },
    { path: "/two/.git", placeholder: "directory", isHidden: false },
    { path: "/ws/.agents", placeholder: "directory", isHidden: false },
    { path: "/ws/.aws", placeholder: "directory", isHidden: false },
  ]);
  assert.deepEqual(files.pinned, []);
});

Deno.test("resolveFiles() protects the same names under a root that is the whole disk", () => {
  const files = resolve("write /, read /ws", { ...DISK, "/.codex": "directory" });
  assert.equal(accessTo(files, "/.codex/config"), "read");
  assert.deepEqual(files.missing.map(({ path }) => path), ["/.agents", "/.aws", "/.git"]);
});

Deno.test("resolveFiles() lets an entry that names a protected directory decide", () => {
  const disk: Record<string, FakeEntry> = { ...DISK, "/ws/.git": "directory", "/ws/.codex": "directory" };
  const files = resolve("read /, write /ws, write /ws/.git, deny /ws/.codex, write /ws/.agents", disk);
  assert.equal(accessTo(files, "/ws/.git/config"), "write");
  assert.equal(accessTo(files, "/ws/.codex"), "deny");
  // It does not exist, so the entry for it grants nothing, and it stays protected.
  assert.ok(files.missing.some(({ path }) => path === "/ws/.agents"));
  // The repository itself is a writable root now.
  assert.ok(files.missing.some(({ path }) => path === "/ws/.git/.git"));
});

Deno.test("resolveFiles() treats our own placeholders as missing files", () => {
  const files = resolve("read /, write /ws", { ...DISK, "/ws/.git": "placeholder" });
  assert.equal(accessTo(files, "/ws/.git"), "write");
  assert.ok(files.missing.some(({ path }) => path === "/ws/.git"));
});

Deno.test("resolveFiles() protects nothing where nothing is writable", () => {
  const disk: Record<string, FakeEntry> = { ...DISK, "/ws/.git": "directory" };
  for (const text of ["read /", "read /ws", "read /, write /ws/in", "read /, deny /ws/none, read /none"]) {
    assert.deepEqual(resolve(text, disk).missing, [], text);
  }
});

Deno.test("resolveFiles() protects the directory a .git file points to, if it could be written", () => {
  const pointer = (text: string): Record<string, FakeEntry> => ({
    ...DISK,
    "/ws/.git": { file: text },
    "/ws/gd/hooks": "directory",
    "/two/gd": "directory",
  });
  const access = (text: string, entries: string, path: string) => accessTo(resolve(entries, pointer(text)), path);
  assert.equal(access("gitdir: gd\n", "read /, write /ws", "/ws/gd/hooks"), "read");
  assert.equal(access("gitdir: /ws/gd", "read /, write /ws", "/ws/gd"), "read");
  assert.equal(access("gitdir: ../two/gd\n", "read /, write /ws, write /two", "/two/gd"), "read");
  // Granted by name, outside any grant, upwards, missing, or no pointer at all: nothing to add.
  assert.equal(access("gitdir: gd", "read /, write /ws, write /ws/gd", "/ws/gd"), "write");
  assert.equal(access("gitdir: ../two/gd", "read /, write /ws", "/two/gd"), "read");
  assert.equal(access("gitdir: ..", "read /, write /ws", "/ws/in"), "write");
  assert.equal(access("gitdir: .", "read /, write /ws", "/ws/in"), "write");
  const nested = resolve("read /, write /ws, write /ws/a/b", { ...DISK, "/ws/a/b/.git": { file: "gitdir: .." } });
  assert.equal(accessTo(nested, "/ws/a"), "write");
  assert.equal(access("gitdir: none", "read /, write /ws", "/ws/gd"), "write");
  assert.equal(access("anything", "read /, write /ws", "/ws/gd"), "write");
});

Deno.test("resolveFiles() keeps a protected path that is missing from being made, at its first missing part", () => {
  const missing = (text: string) =>
    resolve(text).missing.filter(({ path }) => !/\/\.(git|codex|agents|aws)$/.test(path));
  const later = (isHidden: boolean) => [{ path: "/ws/later", placeholder: "file", isHidden }];
  assert.deepEqual(missing("read /, write /ws, deny /ws/later"), later(true));
  assert.deepEqual(missing("read /, write /ws, read /ws/later"), later(false));
  assert.deepEqual(missing("read /, write /ws, deny /ws/later, read /ws/later"), later(true));
  assert.deepEqual(missing("read /, write /ws, read /ws/later, deny /ws/later"), later(true));
  assert.deepEqual(missing("read /, write /ws, read /ws/x/y/z, read /ws/x/q"), [
    { path: "/ws/x", placeholder: "file", isHidden: false },
  ]);
  // Where nothing can be made nothing needs to be prevented.
  assert.deepEqual(missing("read /, write /ws, deny /ws/later, read /ws"), later(true));
  assert.deepEqual(missing("read /, deny /later, deny /out/later"), []);
  assert.deepEqual(missing("read /, write /ws, read /ws/a, deny /ws/a/later"), []);
  // A directory where tools expect one.
  const files = resolve("read /, write /ws, read /ws/a/.git");
  assert.ok(files.missing.some(({ path, placeholder }) => path === "/ws/a/.git" && placeholder === "directory"));
});

Deno.test("resolveFiles() pins the directories whose renaming would move a protected path away", () => {
  assert.deepEqual(resolve("read /, write /ws, read /ws/a/b/c").pinned, ["/ws/a", "/ws/a/b"]);
  assert.deepEqual(resolve("read /, write /ws, deny /ws/a/b/f").pinned, ["/ws/a", "/ws/a/b"]);
  assert.deepEqual(resolve("read /, write /ws, deny /ws/a/b/none").pinned, ["/ws/a", "/ws/a/b"]);
  assert.deepEqual(resolve("write /, read /ws/a/b").pinned, ["/ws", "/ws/a"]);
  // Mounts of their own stay where they are.
  assert.deepEqual(resolve("read /, write /ws, write /ws/a, read /ws/a/b/c").pinned, ["/ws/a/b"]);
  assert.deepEqual(resolve("read /, write /ws, read /ws/a").pinned, []);
  assert.deepEqual(resolve("read /, write /ws, read /ws/a, deny /ws/a/b").pinned, []);
  // A pattern is about what is there now, and what is there stays covered wherever it goes.
  assert.deepEqual(resolve("read /, write /ws", DISK, ["/ws/a/b/f"]).pinned, []);
});

Deno.test("resolveFiles() hides what patterns matched, and what matching links lead to", () => {
  const disk: Record<string, FakeEntry> = {
    ...DISK,
    "/ws/l": { link: "../out/o" },
    "/ws/dangling": { link: "none" },
  };
  const files = resolve("read /, write /ws, write /ws/a", disk, ["/ws/in", "/ws/l", "/ws/dangling", "/gone", "/ws/a"]);
  assert.deepEqual(
    ["/ws/in", "/out/o", "/out", "/ws", "/ws/a/b"].map((path) => accessTo(files, path)),
    ["deny", "deny", "read", "write", "deny"],
  );
  // What is not visible needs no cover of its own.
  assert.deepEqual(resolve("read /ws", disk, ["/out/o"]).rules.map(({ path }) => path), ["/ws"]);
});

Deno.test("resolveFiles() refuses entries that lead through links the program could replace", () => {
  const disk: Record<string, FakeEntry> = {
    ...DISK,
    "/ws/l": { link: "/out" },
    "/ws/dead": { link: "none" },
    "/safe": { link: "/out" },
  };
  const reason = /symbolic link that the program could replace/;
  refuses("read /, write /ws, read /ws/l", reason, disk);
  refuses("read /, write /ws, deny /ws/l", reason, disk);
  refuses("read /, write /ws, deny /ws/l/o", reason, disk);
  refuses("read /, write /ws, write /ws/l", reason, disk);
  refuses("read /, write /ws, deny /ws/dead", reason, disk);
  refuses("read /, write /ws", reason, { ...disk, "/ws/.git": { link: "/out" } });
  refuses("read /, write /ws", reason, { ...disk, "/ws/.codex": { link: "none" } });
  refuses("write /, read /safe", reason, disk);
  // Out of the program's reach, granting nothing, or nothing new.
  assert.equal(accessTo(resolve("read /, write /ws, deny /safe", disk), "/out/o"), "deny");
  assert.equal(accessTo(resolve("read /, write /safe", disk), "/out/o"), "write");
  assert.equal(accessTo(resolve("read /, write /ws, write /ws/dead", disk), "/out"), "read");
  assert.equal(accessTo(resolve("read /, write /ws, write /ws/l, write /", disk), "/out"), "write");
});

Deno.test("resolveFiles() refuses to protect what it cannot look at", () => {
  const disk: Record<string, FakeEntry> = { ...DISK, "/ws/shut": "closed", "/closed": "closed" };
  refuses("read /, write /ws, deny /ws/shut/x", /\/ws\/shut is not a directory that can be searched/, disk);
  refuses("read /, write /ws, deny /ws/in/x", /\/ws\/in is not a directory that can be searched/, disk);
  refuses("read /, write /ws/shut", /cannot be searched/, disk);
  // Not the program's to change.
  assert.equal(accessTo(resolve("read /, write /ws, deny /closed/x", disk), "/closed"), "read");
  assert.equal(accessTo(resolve("read /, write /ws, write /closed/x", disk), "/closed"), "read");
});

Deno.test("resolveFiles() includes the links that granted names need, if nothing else is visible", () => {
  assert.deepEqual(resolve("read /usr, read /bin, read /bin/tool").links, [{ path: "/bin", target: "usr/bin" }]);
  assert.deepEqual(resolve("read /, read /bin").links, []);
  assert.deepEqual(resolve("read /usr, deny /bin").links, []);
});

Deno.test("resolveFiles() keeps only rules that have an effect, broad before narrow", () => {
  const paths = (text: string) => resolve(text).rules.map(({ access, path }) => `${access} ${path}`);
  assert.deepEqual(paths("read /, read /ws, read /out/o"), []);
  assert.deepEqual(paths("read /, deny /out, deny /out/o, read /out/w"), ["deny /out"]);
  // A writable root of its own cannot be removed, also inside another.
  assert.deepEqual(paths("read /, write /ws/a, write /ws"), ["write /ws", "write /ws/a"]);
  assert.deepEqual(paths("read /, write /ws/a/b, read /ws, deny /ws/a"), ["deny /ws/a", "write /ws/a/b"]);
});

Deno.test("readsEverything() is true only if nothing is hidden or denied", () => {
  const table: [string, boolean][] = [
    ["read /", true],
    ["read /, write /ws", true],
    ["write /, read /ws", true],
    ["read /, deny /out", false],
    ["read /ws", false],
  ];
  for (const [text, expected] of table) assert.equal(readsEverything(resolve(text)), expected, text);
});

Deno.test("policyKey() changes when a root is replaced by another directory of the same name", () => {
  const key = (disk: Record<string, FakeEntry>, text: string) =>
    policyKey({ files: resolve(text, disk), network: "restricted" });
  assert.equal(key(DISK, "read /, write /ws"), key(DISK, "write /ws, read /"));
  assert.notEqual(key(DISK, "read /, write /ws"), key(DISK, "read /, write /two"));
  const files = resolve("read /, write /ws");
  const replaced = { ...files, rules: files.rules.map((rule) => ({ ...rule, id: "another" })) };
  assert.notEqual(policyKey({ files, network: "enabled" }), policyKey({ files: replaced, network: "enabled" }));
});

Deno.test("refuseUnmanagedNetwork() lets a process run without network, and not with an open one", () => {
  refuseUnmanagedNetwork({ files: "unrestricted", network: "restricted" });
  assert.throws(
    () => refuseUnmanagedNetwork({ files: resolve("read /"), network: "enabled" }),
    (error) => error instanceof DomainError && error.kind === "invalidRequest",
  );
});
