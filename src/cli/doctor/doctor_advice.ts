/**
 * Advice on what to install or change, made from the findings. Pure except for `readSurroundings`.
 *
 * There is advice only for what does not work; where everything works there is none.
 */

import type { KernelFeatureName } from "../../launch/backends/kernel_features.ts";
import { readSysctl } from "../../os/children/procfs.ts";
import type { DoorFinding } from "./doctor_door.ts";
import type { DoctorReport } from "./doctor_report.ts";

/** What else the advice depends on. */
export interface Surroundings {
  /** `ID` and `ID_LIKE` of the distribution, best first. */
  readonly distributions: readonly string[];
  /** Settings of the kernel, if it has them. */
  readonly sysctls: Readonly<Record<string, string | null>>;
}

/** Values at which ordinary users cannot create user namespaces, and what to set instead. */
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

/** What a missing feature needs. Advice on user namespaces and Landlock depends on what else works. */
const FEATURE_ADVICE: Readonly<Partial<Record<KernelFeatureName, string>>> = {
  seccompFilter: "Use a kernel with seccomp filters (CONFIG_SECCOMP_FILTER): every sandbox needs them.",
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
    return []; // If a system does not have the file, the advice names no package manager.
  }
}

export function advise(report: Omit<DoctorReport, "advice">, surroundings: Surroundings): string[] {
  return [...sandboxAdvice(report, surroundings), ...doorAdvice(report.door)];
}

/** For a server that lets anyone in. If only some can connect, the finding says enough. */
function doorAdvice({ findings }: DoctorReport["door"]): string[] {
  const isOpen = (name: DoorFinding["name"]) => findings.some((finding) => finding.name === name && !finding.isShut);
  return [
    ...(isOpen("authentication")
      ? ["Make the server ask for a token: leave out --listen, or add --ws-auth (url-token needs no file)."]
      : []),
    ...(isOpen("encryption") ? ["Use --listen wss://IP:PORT with a valid certificate, or a forwarded port."] : []),
  ];
}

function sandboxAdvice(report: Omit<DoctorReport, "advice">, surroundings: Surroundings): string[] {
  if (report.features.length === 0) {
    return [report.runtime.os === "linux" ? "Run with --allow-ffi." : "Run the server on Linux to confine requests."];
  }
  return [
    ...settingAdvice(report),
    ...bubblewrapAdvice(report, surroundings),
    ...featureAdvice(report),
    ...programSupervisionAdvice(report),
  ];
}

function settingAdvice({ setting, bubblewrap }: Omit<DoctorReport, "advice">): string[] {
  if (setting === "refuse") {
    return ["Start the server with --sandbox auto: with refuse it rejects every request that asks for a sandbox."];
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
      `Install bubblewrap${byCommand(surroundings)}, or make the one that was found, and its directory, owned ` +
        "by root and writable only by root.",
    );
  }
  const canMakeNamespaces = features.find(({ name }) => name === "userNamespaces")?.works === true;
  if (!canMakeNamespaces) advice.push(...namespaceAdvice(surroundings));
  else if (bubblewrap.problem === "broken") {
    advice.push(
      "User namespaces work, but bubblewrap does not: its own message is above. In a container the cause is often a " +
        "masked /proc (docker: --security-opt systempaths=unconfined).",
    );
  }
  return advice;
}

function namespaceAdvice({ sysctls }: Surroundings): string[] {
  const wrong = NAMESPACE_SYSCTLS.filter(({ name, forbids }) => sysctls[name] === forbids);
  if (wrong.length === 0) {
    return [
      "Let this user create user namespaces: bubblewrap needs them, and no kernel setting forbids them. In a container " +
      "the container's own seccomp filter does (docker: --security-opt seccomp=unconfined).",
    ];
  }
  return wrong.map(({ name, wanted }) => {
    const profile = name.includes("apparmor") ? ", or give bwrap an AppArmor profile that allows userns" : "";
    return `Let ordinary users create user namespaces: sysctl -w ${name}=${wanted}${profile}.`;
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

function programSupervisionAdvice({ programSupervision }: Omit<DoctorReport, "advice">): string[] {
  return programSupervision.works
    ? []
    : ["Start exec-server mcp with --bash PATH, a Bash that asks by itself: without it every command is refused here."];
}

function byCommand({ distributions }: Surroundings): string {
  const command = distributions.map((name) => INSTALL_COMMANDS[name]).find((found) => found !== undefined);
  return command === undefined ? "" : `: ${command}`;
}
