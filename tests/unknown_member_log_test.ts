import assert from "node:assert/strict";
import { createLogger } from "../src/log.ts";
import { unknownMembers } from "../src/protocol/profile_members.ts";
import { UnknownMemberLog } from "../src/unknown_member_log.ts";

function recorded(): { members: UnknownMemberLog; lines: { level: string; member: string; note?: string }[] } {
  const lines: { level: string; member: string; note?: string }[] = [];
  const log = createLogger({ level: "info", format: "json", write: (line) => lines.push(JSON.parse(line)) });
  return { members: new UnknownMemberLog(log), lines };
}

const entry = (more: Record<string, unknown>) => ({
  path: { type: "path", path: "/x", owner: 1 },
  access: "read",
  ...more,
});

Deno.test("UnknownMemberLog warns of each unknown member once, by its place", () => {
  const { members, lines } = recorded();
  const sandbox = {
    permissions: {
      type: "managed",
      file_system: { type: "restricted", entries: [entry({}), entry({ recursive: false })], glob_scan_max_depth: 1 },
      network: "restricted",
      network_rules: [{ deep: true }],
    },
    policyContext: { cwd: "/x", workspaceRoots: [], shell: "x" },
    windowsSandboxLevel: "disabled",
    cwd: "/x",
    somethingNewer: {},
  };
  members.tell(unknownMembers(sandbox));
  members.tell(unknownMembers(structuredClone(sandbox)));
  assert.deepEqual(lines.map(({ level, member }) => [level, member]), [
    ["warn", "permissions.file_system.entries.path.owner"],
    ["warn", "permissions.file_system.entries.recursive"],
    ["warn", "permissions.network_rules"],
    ["warn", "policyContext.shell"],
    ["warn", "somethingNewer"],
  ]);
});

Deno.test("UnknownMemberLog ignores known members, and values that are not objects", () => {
  const { members, lines } = recorded();
  for (
    const sandbox of [
      { sandboxPolicy: { type: "read-only" }, cwd: "/" },
      { permissions: { type: "external", network: "enabled" }, windowsSandboxLevel: "disabled" },
      {
        permissions: { file_system: { entries: [{ path: { value: { kind: "unknown", path: "x", subpath: "y" } } }] } },
      },
      { permissions: null, policyContext: 5 },
      null,
      "x",
      [],
    ]
  ) members.tell(unknownMembers(sandbox));
  assert.deepEqual(lines, []);
});

Deno.test("UnknownMemberLog remembers a bounded number of bounded names", () => {
  const { members, lines } = recorded();
  for (let i = 0; i < 1000; i++) members.tell(unknownMembers({ [`${i}${"x".repeat(10_000)}`]: i }));
  assert.equal(lines.length, 32);
  assert.ok(lines.every(({ member }) => member.length <= 128));
  assert.deepEqual(lines.filter(({ note }) => note !== undefined).length, 1);
  assert.match(lines.at(-1)?.note ?? "", /no more/);
});
