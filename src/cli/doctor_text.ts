/** A doctor's report as text for people. */

import type { KernelFeatureName } from "../launch/kernel_features.ts";
import type { SandboxBackendReport } from "../protocol/environment.ts";
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
  seccomp: "seccomp",
  seatbelt: "seatbelt",
  none: "nothing to enforce",
};

/** What a line is about stands in a column of this width. */
const TITLE_WIDTH = 40;

/** Ends with a newline. */
export function doctorText(report: DoctorReport): string {
  const { version, runtime, kernel, user, features, setting, bubblewrap, landlock, fileHelper, policies } = report;
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
        fileHelper.reason ?? "reads where it may, and writes nowhere else",
      ),
    ],
    [
      `Policies under --sandbox ${setting}`,
      ...policies.map(({ name, enforcedBy, reason }) => {
        return line(enforcedBy !== null, name, enforcedBy === null ? reason ?? "refused" : ENFORCEMENTS[enforcedBy]);
      }),
    ],
    report.advice.length === 0 ? [] : ["What to change", ...report.advice.map((advice) => `  - ${advice}`)],
    [report.ok ? "All of these policies can be enforced here." : "Requests with a refused policy do not run here."],
  ];
  return sections.filter((section) => section.length > 0).map((section) => `${section.join("\n")}\n`).join("\n");
}

function line(works: boolean, title: string, detail: string): string {
  return `  ${works ? "ok" : "NO"}  ${title.padEnd(TITLE_WIDTH)}${detail}`;
}

function titled(name: string, { version }: SandboxBackendReport): string {
  return version === null ? name.replace(" version", "") : `${name} ${version}`;
}

function describeBackend({ works, path, reason }: SandboxBackendReport): string {
  if (!works) return reason ?? "does not work";
  return `${path === null ? "" : `${path}; `}a canary was confined`;
}

function describeUser({ uid, capabilities, noNewPrivileges }: UserReport): string {
  const rights = capabilities === null
    ? []
    : [/^0+$/.test(capabilities) ? "no capabilities" : `capabilities ${capabilities}`];
  const limits = noNewPrivileges === true ? ["no new privileges"] : [];
  return [uid === 0 ? "user 0 (root)" : `user ${uid}`, ...rights, ...limits].join(", ");
}
