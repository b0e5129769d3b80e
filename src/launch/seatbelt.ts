/**
 * A policy as a profile for macOS's `sandbox-exec`. Generated and tested as text; it has not been run on a Mac.
 *
 * Rules follow each other broad to narrow, and the last one that matches an operation decides. Paths are parameters and
 * never part of the profile's text, so no path can say anything in the profile's language.
 */

import type { ConfinedCommand, LaunchPlan } from "./launch_plan.ts";
import type { FilePolicy, PathRule, Policy } from "./policy.ts";

export interface SeatbeltProfile {
  readonly text: string;
  /** Values of the parameters in the text. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Never looked up: a program of this name elsewhere would run unconfined. */
const SANDBOX_EXEC = "/usr/bin/sandbox-exec";

/** What a program needs apart from files: to run, to know the machine, to have a terminal. */
const BASE_RULES = [
  "(version 1)",
  "(deny default)",
  "(allow process-exec process-fork)",
  "(allow signal (target same-sandbox))",
  "(allow process-info* (target same-sandbox))",
  "(allow sysctl-read)",
  "(allow pseudo-tty)",
  "(allow ipc-posix-sem)",
  '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo")' +
  ' (global-name "com.apple.system.notification_center") (global-name "com.apple.SystemConfiguration.configd"))',
];

/** Where programs read and write without changing anything. */
const DEVICE_RULES = [
  '(allow file-read* file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))',
  '(allow file-read* (literal "/dev/random") (literal "/dev/urandom") (literal "/dev/dtracehelper"))',
  '(allow file-ioctl (literal "/dev/tty") (literal "/dev/dtracehelper"))',
];

const NETWORK_RULES = ["(allow network*)", "(allow system-socket)"];

export function seatbeltProfile({ files, network }: Policy): SeatbeltProfile {
  const parameters: Record<string, string> = {};
  const parameter = (path: string): string => {
    const name = `PATH_${Object.keys(parameters).length}`;
    parameters[name] = path;
    return `(param "${name}")`;
  };
  const fileRules = files === "unrestricted" ? ["(allow file*)"] : rulesFor(files, parameter);
  const networkRules = network === "enabled" ? NETWORK_RULES : [];
  return { text: [...BASE_RULES, ...fileRules, ...DEVICE_RULES, ...networkRules].join("\n") + "\n", parameters };
}

function rulesFor(files: FilePolicy, parameter: (path: string) => string): string[] {
  const rules: string[] = [];
  if (files.base === "hidden") {
    // The root itself must be readable for any path to be followed, and so must what links say.
    rules.push('(allow file-read* (literal "/"))');
    for (const { path } of files.links) rules.push(`(allow file-read* (literal ${parameter(path)}))`);
  } else {
    rules.push(files.base === "write" ? "(allow file*)" : "(allow file-read* file-map-executable)");
  }
  for (const rule of files.rules) rules.push(...pathRules(rule, parameter));
  for (const { path } of files.missing) rules.push(`(deny file-write* (subpath ${parameter(path)}))`);
  for (const path of files.pinned) rules.push(`(deny file-write-unlink (literal ${parameter(path)}))`);
  return rules;
}

function pathRules({ path, access, type }: PathRule, parameter: (path: string) => string): string[] {
  const name = parameter(path);
  const below = type === "directory" ? `(subpath ${name})` : `(literal ${name})`;
  switch (access) {
    case "read":
      return [`(allow file-read* file-map-executable ${below})`, `(deny file-write* ${below})`];
    case "write":
      // The root itself stays where it is; only what lies below may go.
      return [
        `(allow file-read* file-write* file-map-executable ${below})`,
        `(deny file-write-unlink (literal ${name}))`,
      ];
    case "deny":
      return [`(deny file-read* file-write* ${below})`];
  }
}

/** `sandbox-exec` takes no separate name for the program, so `argv[0]` is the program's path. */
export function planSeatbelt(command: ConfinedCommand, policy: Policy): LaunchPlan {
  const { text, parameters } = seatbeltProfile(policy);
  const definitions = Object.entries(parameters).map(([name, path]) => `-D${name}=${path}`);
  return {
    program: SANDBOX_EXEC,
    argv: ["sandbox-exec", "-p", text, ...definitions, "--", command.program, ...command.argv.slice(1)],
    env: command.env,
    cwd: command.cwd,
    descriptors: [],
    blockedSignals: [],
  };
}
