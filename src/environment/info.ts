/** What the server tells clients about its machine, collected once at start-up. */

import type { EnvironmentInfo, SandboxSetting } from "../protocol/environment.ts";
import { toFileUri } from "../path_uri.ts";
import { VERSION } from "../version.ts";
import { capabilities, type Means } from "./capability_flags.ts";
import { detectShell, passwdEntry } from "./shell.ts";

/**
 * The protocol's version first: clients compare it before they use newer methods (`capabilities/discoverV2` from
 * 0.164). Ours follows where the comparison ends.
 */
const EXECUTOR_VERSION = `0.166.0+exec-server.${VERSION}`;

/** The facts of the host that `environmentInfo` needs, so that the rest is a pure function. */
export interface HostFacts {
  env: Readonly<Record<string, string>>;
  cwd: string | null;
  hostname: string | null;
  uid: number | null;
  passwd: string | null;
  platformOs: string;
  isExecutable(path: string): boolean;
}

/** The same as long as the server runs: clients compare what they got at the handshake with later answers. */
export function environmentInfo(
  host: HostFacts,
  { setting, ...means }: Means & { readonly setting: SandboxSetting },
): EnvironmentInfo {
  const home = homeOf(host);
  const tmpdir = absolute(host.env.TMPDIR);
  return {
    shell: detectShell({ ...host, shellVariable: host.env.SHELL }),
    executorVersion: EXECUTOR_VERSION,
    cwd: host.cwd === null ? null : toFileUri(host.cwd),
    userHomeDir: home === null ? null : toFileUri(home),
    platformOs: host.platformOs,
    prependPathDirs: [],
    temporaryDirectories: tmpdir === null ? [] : [toFileUri(tmpdir)],
    tempDir: toFileUri(tmpdir ?? "/tmp"),
    capabilities: capabilities(means),
    sandbox: { setting },
  };
}

/** The user's home directory, when one is known. */
export function homeOf(host: Pick<HostFacts, "env" | "uid" | "passwd">): string | null {
  return absolute(host.env.HOME) ?? absolute(passwdEntry(host)?.home);
}

/** Reads the facts from the running system. What is not permitted or does not exist is left out. */
export function hostFacts(): HostFacts {
  return {
    env: attempt(() => Deno.env.toObject()) ?? {},
    cwd: attempt(() => Deno.cwd()),
    hostname: attempt(() => Deno.hostname()),
    uid: attempt(() => Deno.uid()),
    passwd: attempt(() => Deno.readTextFileSync("/etc/passwd")),
    platformOs: Deno.build.os === "darwin" ? "macos" : Deno.build.os,
    isExecutable: (path) => {
      const info = attempt(() => Deno.statSync(path));
      return info !== null && info.isFile && ((info.mode ?? 0) & 0o111) !== 0;
    },
  };
}

function absolute(path: string | undefined): string | null {
  return path !== undefined && path.startsWith("/") ? path : null;
}

function attempt<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null; // Missing or not permitted: the field it feeds is optional.
  }
}
