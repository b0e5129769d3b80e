import assert from "node:assert/strict";
import { MIN_LANDLOCK_ABI } from "../../src/launch/backends/landlock.ts";
import { landlockVersion } from "../../src/os/children/landlock.ts";
import type { DoctorReport } from "../../src/cli/doctor/doctor_report.ts";
import { VERSION } from "../../src/version.ts";
import { NO_SANDBOX } from "../support/sandbox_host.ts";
import { runCli, serverCommand } from "../support/test_server.ts";
import { missingTls, tlsFlags } from "../support/test_tls.ts";

const POLICIES = [
  "read-only",
  "workspace-write",
  "workspace-write with network",
  "workspace-write with denied files",
  "workspace only, nothing else readable",
  "read-only but for a single file",
  "all files, no network",
  "full-access",
];

/** A test on a machine changed by bubblewrap: without it, skipped under a name that says so. */
function onChangedMachine(name: string, fn: () => Promise<void>): void {
  const ignore = NO_SANDBOX !== null;
  Deno.test({ name: ignore ? `${name} (SKIPPED: ${NO_SANDBOX})` : name, ignore, fn });
}

/** The program under test where bubblewrap's own file is a device, and `script` has run before it. */
async function doctorWith(script: string, options: readonly string[]): Promise<{ code: number; report: DoctorReport }> {
  const { program, args } = serverCommand();
  const output = await new Deno.Command("bwrap", {
    args: [
      ...["--dev-bind", "/", "/", ...options, "--"],
      ...["/bin/sh", "-c", `${script}; exec "$@"`, "sh", program, ...args, "doctor", "--json"],
    ],
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  const text = decoder.decode(output.stdout);
  assert.notEqual(text, "", decoder.decode(output.stderr));
  return { code: output.code, report: JSON.parse(text) };
}

const WITHOUT_BUBBLEWRAP = ["--dev-bind", "/dev/null", realBubblewrap()];

function realBubblewrap(): string {
  for (const directory of (Deno.env.get("PATH") ?? "").split(":")) {
    try {
      return Deno.realPathSync(`${directory}/bwrap`);
    } catch {
      // Not here: look on.
    }
  }
  return "/usr/bin/bwrap"; // Nowhere: the tests that need it are skipped.
}

function enforcedBy({ policies }: DoctorReport): Record<string, string | null> {
  return Object.fromEntries(policies.map(({ name, enforcedBy }) => [name, enforcedBy]));
}

Deno.test("doctor --json has every fact in its place, and agrees with its exit status", async () => {
  const { code, stdout, stderr } = await runCli(["doctor", "--json"]);
  const report = JSON.parse(stdout) as DoctorReport;
  assert.equal(stderr, "");
  assert.equal(code, report.ok ? 0 : 1);
  assert.deepEqual(Object.keys(report), [
    "ok",
    "version",
    "runtime",
    "kernel",
    "user",
    "features",
    "setting",
    "bubblewrap",
    "landlock",
    "fileHelper",
    "programSupervision",
    "policies",
    "door",
    "identity",
    "advice",
  ]);
  assert.deepEqual([report.version, report.setting], [VERSION, "auto"]);
  assert.equal(report.user.uid, Deno.uid());
  assert.deepEqual(report.policies.map(({ name }) => name), POLICIES);
  assert.equal(report.runtime.isCompiled, Deno.env.has("EXEC_SERVER_BINARY"));
  for (const { enforcedBy, reason } of report.policies) assert.equal(reason === null, enforcedBy !== null);
});

onChangedMachine("doctor finds that bubblewrap enforces every policy where it works", async () => {
  const { code, stdout } = await runCli(["doctor", "--json"]);
  const report = JSON.parse(stdout) as DoctorReport;
  assert.equal(code, 0, stdout);
  assert.ok(report.bubblewrap.works && report.bubblewrap.path?.startsWith("/"), stdout);
  assert.match(report.bubblewrap.version ?? "", /^\d+\.\d+\.\d+$/);
  assert.deepEqual(report.fileHelper, { works: true, reason: null });
  assert.deepEqual(report.advice, []);
  const own = {
    "all files, no network": landlockVersion() >= MIN_LANDLOCK_ABI ? "landlock" : "bubblewrap",
    "full-access": "none",
  };
  assert.deepEqual(enforcedBy(report), { ...Object.fromEntries(POLICIES.map((name) => [name, "bubblewrap"])), ...own });
});

onChangedMachine("doctor without bubblewrap names what is refused and what to install", async () => {
  const { code, report } = await doctorWith("PATH=", WITHOUT_BUBBLEWRAP);
  assert.equal(code, 1);
  const { works, path, version, problem } = report.bubblewrap;
  assert.deepEqual([works, path, version, problem], [false, null, null, "missing"]);
  const refused = report.policies.find(({ name }) => name === "workspace-write");
  assert.match(refused?.reason ?? "", /^Cannot enforce the sandbox: bubblewrap is not installed; /);
  assert.match(report.advice.join("\n"), /^Install bubblewrap/);
});

onChangedMachine("doctor does not count a bubblewrap that others could replace", async () => {
  const directory = await Deno.realPath(await Deno.makeTempDir());
  try {
    await Deno.copyFile(realBubblewrap(), `${directory}/bwrap`);
    await Deno.chmod(`${directory}/bwrap`, 0o777);
    const { code, report } = await doctorWith(`PATH=${directory}`, WITHOUT_BUBBLEWRAP);
    assert.equal(code, 1);
    assert.equal(report.bubblewrap.problem, "replaceable");
    assert.ok(report.bubblewrap.reason?.includes(`${directory}/bwrap`), report.bubblewrap.reason ?? "");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

onChangedMachine("doctor says which setting keeps user namespaces from working", async () => {
  // The limit holds inside the namespace that sets it, and below.
  const own = ["--unshare-user", "--cap-add", "ALL", "--proc", "/proc"];
  const { code, report } = await doctorWith("echo 0 > /proc/sys/user/max_user_namespaces", own);
  assert.equal(code, 1);
  assert.equal(report.features.find(({ name }) => name === "userNamespaces")?.works, false);
  const { works, version, problem, path } = report.bubblewrap;
  assert.deepEqual([works, problem, path], [false, "broken", realBubblewrap()]);
  assert.match(version ?? "", /^\d/);
  assert.deepEqual(report.advice, [
    "Let ordinary users create user namespaces: sysctl -w user.max_user_namespaces=15000.",
  ]);
});

Deno.test("doctor --sandbox refuse shows every confining policy as refused, and exits 1", async () => {
  const { code, stdout } = await runCli(["doctor", "--sandbox", "refuse"]);
  assert.equal(code, 1);
  assert.match(stdout, /^ {2}NO {2}read-only .*--sandbox refuse/m);
  assert.match(stdout, /^ {2}ok {2}full-access /m);
  assert.match(stdout, /--sandbox auto/);
  const variable = await runCli(["doctor", "--json"], { EXEC_SERVER_SANDBOX: "refuse" });
  assert.deepEqual([variable.code, JSON.parse(variable.stdout).setting], [1, "refuse"]);
});

Deno.test("doctor leaves nothing behind in the temporary directory", async () => {
  const TMPDIR = await Deno.realPath(await Deno.makeTempDir());
  try {
    await runCli(["doctor"], { TMPDIR });
    assert.deepEqual([...Deno.readDirSync(TMPDIR)], []);
  } finally {
    await Deno.remove(TMPDIR, { recursive: true });
  }
});

Deno.test("doctor shows its help, and refuses words it does not know with status 2", async () => {
  const help = await runCli(["doctor", "--help"]);
  assert.equal(help.code, 0);
  assert.match(help.stdout, /^Usage: exec-server doctor/);
  const cases: [string[], RegExp][] = [
    [["--jsn"], /unknown flag "--jsn": did you mean --json\?/],
    [["--sandbox", "maybe"], /--sandbox must be auto, bubblewrap, landlock or refuse/],
    [["--json=yes"], /--json takes no value/],
    [["now"], /unexpected argument "now"/],
    [["--log", "json"], /unknown flag "--log"/],
    [["--ws-auth", "maybe"], /--ws-auth must be/],
  ];
  for (const [args, message] of cases) {
    const { code, stdout, stderr } = await runCli(["doctor", ...args]);
    assert.deepEqual([code, stdout], [2, ""], stderr);
    assert.match(stderr, message);
  }
});

Deno.test("doctor lists what the door looks like for a set of flags", async () => {
  const SHUT = {
    address: true,
    encryption: true,
    authentication: true,
    otherUsers: true,
    webPages: true,
    confinedProcesses: true,
  };
  const open = { authentication: false, confinedProcesses: false };
  const cases: [string[], Partial<typeof SHUT>][] = [
    [[], {}],
    [["--listen", "stdio"], {}],
    [["--listen", "unix:/run/x.sock"], { confinedProcesses: false }],
    [["--listen", "ws://127.0.0.1:9000"], open],
    [["--insecure-no-auth"], open],
    [["--listen", "ws://127.0.0.1:9000", "--ws-auth", "url-token"], {}],
    [["--listen", "ws://127.0.0.1:9000", "--allow-other-users"], { ...open, otherUsers: false }],
    [["--listen", "ws://0.0.0.0:9000", "--ws-auth", "url-token"], { address: false, encryption: false }],
    [
      ["--listen", "ws://0.0.0.0:9000", "--insecure-no-auth"],
      { ...open, address: false, encryption: false, otherUsers: false },
    ],
  ];
  await Promise.all(cases.map(async ([flags, differences]) => {
    const { stdout } = await runCli(["doctor", "--json", ...flags]);
    const { door, advice } = JSON.parse(stdout) as DoctorReport;
    assert.equal(door.refused, null);
    const found = Object.fromEntries(door.findings.map(({ name, isShut }) => [name, isShut]));
    assert.deepEqual(found, { ...SHUT, ...differences }, flags.join(" "));
    assert.equal(advice.some((text) => text.includes("--ws-auth")), found.authentication === false, flags.join(" "));
  }));
});

Deno.test("doctor looks at the certificate, says what would keep the server from starting, and shows no secret", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const tls = ["--listen", "wss://127.0.0.1:0", "--ws-auth", "url-token", ...tlsFlags(directory)];
    const noTls = await missingTls();
    const text = await runCli(["doctor", ...tls]);
    if (noTls === null) assert.match(text.stdout, /^ {2}ok {2}encryption +TLS, certificate valid to .*2126/m);
    else assert.match(text.stdout, /would not start +TLS needs Deno/);
    assert.doesNotMatch(text.stdout, /token=/);

    await Deno.chmod(`${directory}/server.key`, 0o644);
    const refused = await runCli(["doctor", ...tls]);
    assert.equal(refused.code, 1);
    assert.match(refused.stdout, /^ {2}NO {2}the server would not start +/m);
    if (noTls === null) assert.match(refused.stdout, /--tls-key ".*" is open to others \(mode 644\)/);
    const beyond = await runCli(["doctor", "--json"], { EXEC_SERVER_LISTEN: "ws://0.0.0.0:1" });
    const { ok, door } = JSON.parse(beyond.stdout) as DoctorReport;
    assert.deepEqual([beyond.code, ok, door.findings], [1, false, []]);
    assert.match(door.refused!, /without authentication/);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
