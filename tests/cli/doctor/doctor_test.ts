import assert from "node:assert/strict";
import { advise, type Surroundings } from "../../../src/cli/doctor/doctor_advice.ts";
import { DOCTOR_FLAGS, DOCTOR_INTRODUCTION } from "../../../src/cli/doctor/doctor_flags.ts";
import type { DoctorReport } from "../../../src/cli/doctor/doctor_report.ts";
import { doctorText } from "../../../src/cli/doctor/doctor_text.ts";
import { typicalPolicies } from "../../../src/cli/doctor/doctor_policies.ts";
import { helpText } from "../../../src/cli/help.ts";
import { KERNEL_FEATURES, type KernelFeatureName } from "../../../src/launch/backends/kernel_features.ts";
import { SandboxParam } from "../../../src/protocol/sandbox.ts";

const DEBIAN: Surroundings = { distributions: ["debian"], sysctls: {} };

/** A machine on which all is well, but for what is said. */
function machine(
  changes: Partial<DoctorReport> = {},
  missing: readonly KernelFeatureName[] = [],
): DoctorReport {
  return {
    ok: true,
    version: "1.2.3",
    runtime: { deno: "2.9.6", isCompiled: true, os: "linux", arch: "x86_64" },
    kernel: "6.12.0",
    user: { uid: 1000, gid: 1000, capabilities: "0000000000000000", noNewPrivileges: false },
    features: KERNEL_FEATURES.map((name) => ({ name, works: !missing.includes(name), purpose: "a purpose" })),
    setting: "auto",
    bubblewrap: { works: true, path: "/usr/bin/bwrap", version: "0.11.0", reason: null, problem: null },
    landlock: { works: true, path: null, version: "7", reason: null, problem: null },
    fileHelper: { works: true, reason: null },
    programSupervision: { works: true, reason: null },
    policies: [{ name: "read-only", enforcedBy: "bubblewrap", reason: null }],
    door: { refused: null, findings: [{ name: "address", isShut: true, detail: "a place" }] },
    identity: { file: "/state/identity", fingerprint: null, refused: null },
    advice: [],
    ...changes,
  };
}

const without = (problem: DoctorReport["bubblewrap"]["problem"]): Partial<DoctorReport> => ({
  bubblewrap: { works: false, path: null, version: null, reason: "because", problem },
});

Deno.test("advise() gives no advice if everything works", () => {
  assert.deepEqual(advise(machine(), DEBIAN), []);
});

Deno.test("advise() names the distribution's way to install bubblewrap, where it knows one", () => {
  const cases: [string[], string][] = [
    [["debian"], "Install bubblewrap: apt-get install bubblewrap."],
    [["mint", "ubuntu", "debian"], "Install bubblewrap: apt-get install bubblewrap."],
    [["rocky", "rhel", "centos", "fedora"], "Install bubblewrap: dnf install bubblewrap."],
    [["gentoo"], "Install bubblewrap."],
    [[], "Install bubblewrap."],
  ];
  for (const [distributions, expected] of cases) {
    assert.deepEqual(advise(machine(without("missing")), { ...DEBIAN, distributions }), [expected]);
  }
});

Deno.test("advise() names the setting that forbids user namespaces, or the container", () => {
  const blocked = machine(without("broken"), ["userNamespaces"]);
  const sysctls = { "kernel.apparmor_restrict_unprivileged_userns": "1", "user.max_user_namespaces": "100" };
  assert.deepEqual(advise(blocked, { ...DEBIAN, sysctls }), [
    "Let ordinary users create user namespaces: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or give bwrap " +
    "an AppArmor profile that allows userns.",
  ]);
  assert.match(advise(blocked, DEBIAN).join(), /container/);
  assert.match(advise(machine(without("broken")), DEBIAN).join(), /\/proc/);
});

Deno.test("advise() says what each missing feature of the kernel asks for", () => {
  for (const name of KERNEL_FEATURES) {
    const isOptional = name === "userNamespaces" || name === "landlock";
    assert.equal(advise(machine({}, [name]), DEBIAN).length, isOptional ? 0 : 1, name);
  }
  assert.match(advise(machine(without("missing"), ["landlock"]), DEBIAN).join("\n"), /Linux 6\.12/);
});

Deno.test("advise() names a setting that refuses more than the machine does", () => {
  assert.match(advise(machine({ setting: "refuse" }), DEBIAN).join(), /--sandbox auto/);
  assert.match(advise(machine({ setting: "landlock" }), DEBIAN).join(), /--sandbox auto/);
  assert.match(advise(machine({ features: [] }), DEBIAN).join(), /--allow-ffi/);
});

Deno.test("doctorText() has a line for every feature, backend and policy, and the advice", () => {
  const report = machine({
    ok: false,
    ...without("missing"),
    policies: [
      { name: "read-only", enforcedBy: "landlock", reason: null },
      { name: "workspace-write", enforcedBy: null, reason: "cannot be" },
    ],
    advice: ["Install bubblewrap."],
  }, ["openat2"]);
  const text = doctorText(report);
  assert.ok(
    text.startsWith("exec-server 1.2.3 (compiled, Deno 2.9.6, linux x86_64)\nkernel 6.12.0, user 1000, no cap"),
  );
  for (
    const line of [
      /^ {2}ok {2}user namespaces {2,}a purpose$/m,
      /^ {2}NO {2}openat2 {2,}a purpose$/m,
      /^ {2}NO {2}bubblewrap {2,}because$/m,
      /^ {2}ok {2}Landlock version 7 {2,}a test process was confined$/m,
      /^Policies under --sandbox auto$/m,
      /^ {2}ok {2}read-only {2,}Landlock and seccomp$/m,
      /^ {2}NO {2}workspace-write {2,}cannot be$/m,
      /^ {2}- Install bubblewrap\.$/m,
    ]
  ) assert.match(text, line);
  assert.ok(text.endsWith("\n") && !text.endsWith("\n\n"));
});

Deno.test("where programs cannot be decided, advice and verdict name the second way", () => {
  const report = machine({ programSupervision: { works: false, reason: "no listener" } });
  assert.match(advise(report, DEBIAN).join(), /exec-server mcp with --bash PATH/);
  assert.match(doctorText(report), /\nAll of these policies can be enforced here, but exec-server mcp .* --bash\.\n$/);
  assert.match(doctorText(machine()), /\nAll of these policies can be enforced here\.\n$/);
});

Deno.test("the doctor tells whether the processes of a command are bounded, and why not", () => {
  const bound = (changes: Partial<DoctorReport>) =>
    /^.*processes of a command \(mcp\).*$/m.exec(doctorText(machine(changes)))?.[0];
  assert.match(bound({}) ?? "", /^ {2}ok .* at most 2048 in each sandbox$/);
  const root = { uid: 0, gid: 0, capabilities: null, noNewPrivileges: false };
  assert.match(
    bound({ user: root }) ?? "",
    /^ {2}-- .* no bound .*\(the kernel exempts root\): set one for the server \(TasksMax=/,
  );
  for (const changes of [without("missing"), { programSupervision: { works: false, reason: "no listener" } }]) {
    assert.match(bound(changes) ?? "", /^ {2}-- .* no bound .*takes namespaces, and a kernel that asks/);
  }
});

Deno.test("typicalPolicies() are sandbox objects as clients send them", () => {
  for (const { name, sandbox } of typicalPolicies("/ws")) assert.ok(SandboxParam.safeParse(sandbox).success, name);
});

Deno.test("doctor's help and docs/command-line.md name each of its flags", async () => {
  const help = helpText(DOCTOR_FLAGS, DOCTOR_INTRODUCTION);
  const page = await Deno.readTextFile(new URL("../../../docs/command-line.md", import.meta.url));
  const section = page.slice(page.indexOf("## doctor"));
  for (const name of Object.keys(DOCTOR_FLAGS)) {
    assert.ok(help.includes(`--${name}`), name);
    assert.ok(section.includes(`--${name}`), name);
  }
  assert.deepEqual(help.split("\n").filter((line) => line.length > 80), []);
  assert.match(helpText().replace(/\s+/g, " "), /exec-server doctor says/);
});

Deno.test("doctorText() shows the identity of remote mode, or why there is none", () => {
  const file = "/state/identity";
  const lineOf = (identity: DoctorReport["identity"]) =>
    doctorText(machine({ identity })).split("\n").find((line) => line.includes("identity"))!;
  assert.match(lineOf({ file, fingerprint: "SHA256:abc", refused: null }), /^ {2}ok {2}identity +SHA256:abc \(\/state/);
  assert.match(
    lineOf({ file, fingerprint: null, refused: null }),
    /^ {2}-- {2}identity +none yet; --remote makes \/state/,
  );
  assert.match(lineOf({ file: null, fingerprint: null, refused: null }), /give --identity-file/);
  assert.match(lineOf({ file, fingerprint: null, refused: "is open to others" }), /^ {2}NO {2}identity +is open/);
});
