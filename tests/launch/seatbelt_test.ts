/** The profile as text: whether macOS understands it as meant has not been tried. */

import assert from "node:assert/strict";
import type { FilePolicy, PathRule, Policy } from "../../src/launch/policy.ts";
import { planSeatbelt, seatbeltProfile } from "../../src/launch/seatbelt.ts";

const rule = (access: PathRule["access"], path: string, type: PathRule["type"] = "directory"): PathRule => ({
  path,
  access,
  type,
  id: path,
});
const policy = (files: Partial<FilePolicy>, network: Policy["network"] = "restricted"): Policy => ({
  files: { base: "read", rules: [], missing: [], pinned: [], links: [], ...files },
  network,
});

/** The rules about the policy's files: between what every program needs and the devices. */
function fileRules(wanted: Policy): string[] {
  const lines = seatbeltProfile(wanted).text.trimEnd().split("\n");
  const start = lines.findLastIndex((line) => line.startsWith("(allow mach-lookup")) + 1;
  return lines.slice(start, lines.findIndex((line) => line.includes('"/dev/null"')));
}

Deno.test("seatbeltProfile() denies by default and says so first", () => {
  const { text } = seatbeltProfile(policy({}));
  assert.ok(text.startsWith("(version 1)\n(deny default)\n"));
  for (const line of text.trimEnd().split("\n")) {
    const opened = line.match(/\(/g)?.length;
    assert.equal(opened, line.match(/\)/g)?.length, line);
  }
});

Deno.test("seatbeltProfile() writes rules broad to narrow, with paths as parameters", () => {
  const wanted = policy({
    rules: [
      rule("write", "/ws"),
      rule("read", "/ws/.git"),
      rule("deny", "/out"),
      rule("deny", "/out/f", "file"),
    ],
    missing: [{ path: "/ws/.codex", placeholder: "directory", isHidden: false }],
    pinned: ["/ws/a"],
  });
  assert.deepEqual(fileRules(wanted), [
    "(allow file-read* file-map-executable)",
    '(allow file-read* file-write* file-map-executable (subpath (param "PATH_0")))',
    '(deny file-write-unlink (literal (param "PATH_0")))',
    '(allow file-read* file-map-executable (subpath (param "PATH_1")))',
    '(deny file-write* (subpath (param "PATH_1")))',
    '(deny file-read* file-write* (subpath (param "PATH_2")))',
    '(deny file-read* file-write* (literal (param "PATH_3")))',
    '(deny file-write* (subpath (param "PATH_4")))',
    '(deny file-write-unlink (literal (param "PATH_5")))',
  ]);
  assert.deepEqual(seatbeltProfile(wanted).parameters, {
    PATH_0: "/ws",
    PATH_1: "/ws/.git",
    PATH_2: "/out",
    PATH_3: "/out/f",
    PATH_4: "/ws/.codex",
    PATH_5: "/ws/a",
  });
});

Deno.test("seatbeltProfile() starts from what the policy starts from", () => {
  assert.deepEqual(fileRules(policy({ base: "write" })), ["(allow file*)"]);
  assert.deepEqual(fileRules({ files: "unrestricted", network: "restricted" }), ["(allow file*)"]);
  assert.deepEqual(fileRules(policy({ base: "hidden", links: [{ path: "/tmp", target: "private/tmp" }] })), [
    '(allow file-read* (literal "/"))',
    '(allow file-read* (literal (param "PATH_0")))',
  ]);
});

Deno.test("seatbeltProfile() allows the network only when the policy does", () => {
  assert.doesNotMatch(seatbeltProfile(policy({}, "restricted")).text, /network|socket/);
  assert.match(seatbeltProfile(policy({}, "enabled")).text, /\(allow network\*\)/);
});

Deno.test("seatbeltProfile() lets no path speak the profile's language", () => {
  const evil = '/ws") (allow default) (deny file-read* (literal "';
  const { text, parameters } = seatbeltProfile(policy({ rules: [rule("write", evil)] }));
  assert.ok(!text.includes("allow default"));
  assert.equal(parameters.PATH_0, evil);
});

Deno.test("planSeatbelt() starts the one sandbox-exec, with parameters before the command", () => {
  const command = { program: "/bin/sh", argv: ["sh", "-c", "true"], env: { A: "1" }, cwd: "/ws" };
  const wanted = policy({ rules: [rule("write", "/ws")] });
  const { text } = seatbeltProfile(wanted);
  assert.deepEqual(planSeatbelt(command, wanted), {
    program: "/usr/bin/sandbox-exec",
    argv: ["sandbox-exec", "-p", text, "-DPATH_0=/ws", "--", "/bin/sh", "-c", "true"],
    env: { A: "1" },
    cwd: "/ws",
    descriptors: [],
    blockedSignals: [],
  });
});
