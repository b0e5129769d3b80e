/** A doctor's report as text for people. */

import type { KernelFeatureName } from "../../launch/backends/kernel_features.ts";
import { MAX_PROCESSES } from "../../mcp/limits.ts";
import type { SandboxBackendReport } from "../../protocol/environment.ts";
import type { DoorFinding, DoorReport } from "./doctor_door.ts";
import type { IdentityReport } from "./doctor_identity.ts";
import type { DoctorReport, PolicyReport, UserReport } from "./doctor_report.ts";

const FEATURE_TITLES: Readonly<Record<KernelFeatureName, string>> = {
  userNamespaces: "user namespaces",
  seccompFilter: "seccomp filter",
  landlock: "Landlock",
  pidfd: "pidfd",
  childSubreaper: "child subreaper",
  openat2: "openat2",
  processMarks: "process marks",
};

const ENFORCEMENTS: Readonly<Record<NonNullable<PolicyReport["enforcedBy"]>, string>> = {
  bubblewrap: "bubblewrap and seccomp",
  landlock: "Landlock and seccomp",
  none: "nothing to enforce",
};

const DOOR_TITLES: Readonly<Record<DoorFinding["name"], string>> = {
  address: "address",
  encryption: "encryption",
  authentication: "authentication",
  otherUsers: "other users of this machine",
  webPages: "web pages",
  confinedProcesses: "confined processes",
};

/** Width of the first column, the title of a line. */
const TITLE_WIDTH = 40;

/** Ends with a newline. */
export function doctorText(report: DoctorReport): string {
  const { version, runtime, kernel, user, features, setting, bubblewrap, landlock, fileHelper, policies } = report;
  const { programSupervision } = report;
  const kind = runtime.isCompiled ? "compiled, " : "";
  const sections = [
    [
      `exec-server ${version} (${kind}Deno ${runtime.deno}, ${runtime.os} ${runtime.arch})`,
      `kernel ${kernel}, ${describeUser(user)}`,
    ],
    features.length === 0
      ? []
      : ["Kernel", ...features.map(({ name, works, purpose }) => line(works, FEATURE_TITLES[name], purpose))],
    [
      "Confinement",
      line(bubblewrap.works, titled("bubblewrap", bubblewrap), describeBackend(bubblewrap)),
      line(landlock.works, titled("Landlock version", landlock), describeBackend(landlock)),
      line(
        fileHelper.works,
        "confined file helper",
        fileHelper.reason ?? "reads and writes only where it may",
      ),
      line(
        programSupervision.works,
        "deciding programs (mcp)",
        programSupervision.reason ?? "a test program was denied",
      ),
      processBound(report),
    ],
    [
      `Policies under --sandbox ${setting}`,
      ...policies.map(({ name, enforcedBy, reason }) => {
        return line(enforcedBy !== null, name, enforcedBy === null ? reason ?? "refused" : ENFORCEMENTS[enforcedBy]);
      }),
    ],
    ["Who can connect to a server with these flags", ...doorLines(report.door)],
    ["Remote mode", identityLine(report.identity)],
    report.advice.length === 0 ? [] : ["What to change", ...report.advice.map((advice) => `  - ${advice}`)],
    [verdict(report)],
  ];
  return sections.filter((section) => section.length > 0).map((section) => `${section.join("\n")}\n`).join("\n");
}

/** Sandboxes without their own bound are not wrong: the server's limits hold for all of them together. */
function processBound({ user, bubblewrap, programSupervision }: DoctorReport): string {
  const reason = user.uid === 0
    ? "the kernel exempts root"
    : !programSupervision.works || !bubblewrap.works
    ? "it takes namespaces, and a kernel that asks about programs"
    : null;
  const detail = reason === null
    ? `at most ${MAX_PROCESSES} in each sandbox`
    : `no bound for each sandbox (${reason}): set one for the server (TasksMax=, --pids-limit)`;
  return `  ${reason === null ? "ok" : "--"}  ${"processes of a command (mcp)".padEnd(TITLE_WIDTH)}${detail}`;
}

/** An open door is not wrong in itself: it may be intended. */
function doorLines({ refused, findings }: DoorReport): string[] {
  if (refused !== null) return [line(false, "the server would not start", refused)];
  return findings.map(({ name, isShut, detail }) =>
    `  ${isShut ? "ok" : "--"}  ${DOOR_TITLES[name].padEnd(TITLE_WIDTH)}${detail}`
  );
}

/** Having no identity is not wrong: most servers are reached directly. */
function identityLine({ file, fingerprint, refused }: IdentityReport): string {
  if (refused !== null) return line(false, "identity", refused);
  if (fingerprint !== null) return line(true, "identity", `${fingerprint} (${file})`);
  const detail = file === null ? "HOME is not set: give --identity-file" : `none yet; --remote makes ${file}`;
  return `  --  ${"identity".padEnd(TITLE_WIDTH)}${detail}`;
}

function verdict({ ok, door, programSupervision }: DoctorReport): string {
  if (ok && !programSupervision.works) {
    return "All of these policies can be enforced here, but exec-server mcp cannot decide programs without --bash.";
  }
  if (ok) return "All of these policies can be enforced here.";
  if (door.refused !== null) return "A server with these flags does not start.";
  return "Requests with a refused policy do not run here.";
}

function line(works: boolean, title: string, detail: string): string {
  return `  ${works ? "ok" : "NO"}  ${title.padEnd(TITLE_WIDTH)}${detail}`;
}

function titled(name: string, { version }: SandboxBackendReport): string {
  return version === null ? name.replace(" version", "") : `${name} ${version}`;
}

function describeBackend({ works, path, reason }: SandboxBackendReport): string {
  if (!works) return reason ?? "does not work";
  return `${path === null ? "" : `${path}; `}a test process was confined`;
}

function describeUser({ uid, capabilities, noNewPrivileges }: UserReport): string {
  const rights = capabilities === null
    ? []
    : [/^0+$/.test(capabilities) ? "no capabilities" : `capabilities ${capabilities}`];
  const limits = noNewPrivileges === true ? ["no new privileges"] : [];
  return [uid === 0 ? "user 0 (root)" : `user ${uid}`, ...rights, ...limits].join(", ");
}
