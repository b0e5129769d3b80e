/**
 * What to install or change, from what was found. Pure but for `readSurroundings`.
 *
 * Advice is given for what does not work, and for nothing else: on a machine where all is well there is none.
 */

import type { KernelFeatureName } from "../launch/kernel_features.ts";
import { readSysctl } from "../os/procfs.ts";
import type { DoctorReport } from "./doctor_report.ts";

/** What the advice depends on besides the report. */
export interface Surroundings {
  /** `ID` and `ID_LIKE` of the distribution, best first. */
  readonly distributions: readonly string[];
  /** Settings of the kernel, where it has them. */
  readonly sysctls: Readonly<Record<string, string | null>>;
}

/** Values at which ordinary users cannot make user namespaces, and what to set instead. */
const NAMESPACE_SYSCTLS = [
  { name: "kernel.unprivileged_userns_clone", forbids: "0", wanted: "1" },
  { name: "user.max_user_namespaces", forbids: "0", wanted: "15000" },
  { name: "kernel.apparmor_restrict_unprivileged_userns", forbids: "1", wanted: "0" },
] as const;

const INSTALL_COMMANDS: Readonly<Record<string, string>> = {
  debian: "apt-get install bubblewrap",
  ubuntu: "apt-get install bubblewrap",
  fedora: "dnf install bubblewrap",
  rhel: "dnf install bubblewrap",
  arch: "pacman -S bubblewrap",
  alpine: "apk add bubblewrap",
  suse: "zypper install bubblewrap",
};

/** What a missing feature asks for. User namespaces and Landlock depend on what else there is. */
const FEATURE_ADVICE: Readonly<Partial<Record<KernelFeatureName, string>>> = {
  seccompFilter: "Use a kernel with seccomp filters (CONFIG_SECCOMP_FILTER): no sandbox is made without them.",
  pidfd: "Use Linux 5.3 or newer: without pidfds a signal can, very rarely, reach the wrong process.",
  childSubreaper: "Let this program call prctl(PR_SET_CHILD_SUBREAPER): without it orphans can outlive the server.",
  openat2: "Use Linux 5.6 or newer, or let this program call openat2: requests that refuse links need it.",
  processMarks:
    "Lift the hard limit on file locks (ulimit -H -x unlimited): without marks, children survive a server " +
    "that is killed.",
};

export function readSurroundings(isLinux: boolean): Surroundings {
  const sysctls = NAMESPACE_SYSCTLS.map(({ name }) => [name, isLinux ? readSysctl(name) : null] as const);
  return { distributions: distributions(), sysctls: Object.fromEntries(sysctls) };
}

function distributions(): string[] {
  try {
    const text = Deno.readTextFileSync("/etc/os-release");
    const words = ["ID", "ID_LIKE"].map((name) => new RegExp(`^${name}="?([^"\n]*)`, "m").exec(text)?.[1] ?? "");
    return words.join(" ").split(" ").filter((word) => word !== "");
  } catch {
    return []; // Not every system has the file; then the advice names no package manager.
  }
}

export function advise(report: Omit<DoctorReport, "advice">, surroundings: Surroundings): string[] {
  if (report.features.length === 0) {
    return [report.runtime.os === "linux" ? "Run with --allow-ffi." : "Run the server on Linux to confine requests."];
  }
  return [...settingAdvice(report), ...bubblewrapAdvice(report, surroundings), ...featureAdvice(report)];
}

function settingAdvice({ setting, bubblewrap }: Omit<DoctorReport, "advice">): string[] {
  if (setting === "refuse") {
    return ["Start the server with --sandbox auto: refuse turns down all that is to be confined."];
  }
  if (setting === "landlock" && bubblewrap.works) {
    return ["Start the server with --sandbox auto: bubblewrap works here and can enforce more than Landlock."];
  }
  return [];
}

function bubblewrapAdvice(report: Omit<DoctorReport, "advice">, surroundings: Surroundings): string[] {
  const { bubblewrap, features } = report;
  if (bubblewrap.works) return [];
  const advice: string[] = [];
  if (bubblewrap.problem === "missing") advice.push(`Install bubblewrap${byCommand(surroundings)}.`);
  if (bubblewrap.problem === "outdated") advice.push(`Install a newer bubblewrap${byCommand(surroundings)}.`);
  if (bubblewrap.problem === "replaceable") {
    advice.push(
      `Install bubblewrap${byCommand(surroundings)}, or make the one that was found, and its directory, root's and ` +
        "writable by root alone.",
    );
  }
  const canMakeNamespaces = features.find(({ name }) => name === "userNamespaces")?.works === true;
  if (!canMakeNamespaces) advice.push(...namespaceAdvice(surroundings));
  else if (bubblewrap.problem === "broken") {
    advice.push(
      "User namespaces work, and bubblewrap does not: see its own words above. In a container it is often /proc, which " +
        "must not be masked (docker: --security-opt systempaths=unconfined).",
    );
  }
  return advice;
}

function namespaceAdvice({ sysctls }: Surroundings): string[] {
  const wrong = NAMESPACE_SYSCTLS.filter(({ name, forbids }) => sysctls[name] === forbids);
  if (wrong.length === 0) {
    return [
      "Let this user make user namespaces: bubblewrap needs them, and no setting of the kernel forbids them. In a " +
      "container its own filter does (docker: --security-opt seccomp=unconfined).",
    ];
  }
  return wrong.map(({ name, wanted }) => {
    const profile = name.includes("apparmor") ? ", or give bwrap an AppArmor profile that allows userns" : "";
    return `Let ordinary users make user namespaces: sysctl -w ${name}=${wanted}${profile}.`;
  });
}

function featureAdvice({ features, bubblewrap }: Omit<DoctorReport, "advice">): string[] {
  return features.filter(({ works }) => !works).flatMap(({ name }) => {
    if (name === "landlock" && !bubblewrap.works) {
      return ["As a fallback for simple policies, use Linux 6.12 or newer with Landlock turned on (lsm=landlock,…)."];
    }
    return FEATURE_ADVICE[name] ?? [];
  });
}

function byCommand({ distributions }: Surroundings): string {
  const command = distributions.map((name) => INSTALL_COMMANDS[name]).find((found) => found !== undefined);
  return command === undefined ? "" : `: ${command}`;
}
