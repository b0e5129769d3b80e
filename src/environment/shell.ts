/** Which shell this user's commands run in: from the user database, then `SHELL`, then what is installed. */

export interface Shell {
  name: string;
  path: string;
}

/** Shells that clients know how to use. Others (fish, nologin) are skipped. */
const KNOWN_SHELLS = ["bash", "zsh", "sh"];

/** Where to look when neither the user database nor the environment names a usable shell. */
const FALLBACK_PATHS = ["/bin/bash", "/usr/bin/bash", "/bin/zsh", "/bin/sh"];

export interface ShellSources {
  /** Content of /etc/passwd, or null where there is none. */
  passwd: string | null;
  uid: number | null;
  /** The `SHELL` variable. */
  shellVariable: string | undefined;
  isExecutable(path: string): boolean;
}

export function detectShell(sources: ShellSources): Shell {
  const candidates = [passwdEntry(sources)?.shell, sources.shellVariable, ...FALLBACK_PATHS];
  for (const path of candidates) {
    const shell = asKnownShell(path);
    if (shell !== null && sources.isExecutable(shell.path)) return shell;
  }
  // POSIX promises it; a client gets a clear error from the first command where even that is missing.
  return { name: "sh", path: "/bin/sh" };
}

/** Home directory and shell of a user, from the lines `name:password:uid:gid:comment:home:shell`. */
export function passwdEntry(sources: Pick<ShellSources, "passwd" | "uid">): { home: string; shell: string } | null {
  for (const line of (sources.passwd ?? "").split("\n")) {
    const fields = line.split(":");
    if (fields.length === 7 && sources.uid !== null && fields[2] === String(sources.uid)) {
      return { home: fields[5]!, shell: fields[6]! };
    }
  }
  return null;
}

function asKnownShell(path: string | undefined): Shell | null {
  if (path === undefined || !path.startsWith("/")) return null;
  const name = path.slice(path.lastIndexOf("/") + 1);
  return KNOWN_SHELLS.includes(name) ? { name, path } : null;
}
