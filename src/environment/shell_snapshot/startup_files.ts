/** The files a login bash reads, and whether they are still the same. Files that they read in turn are not checked. */

const SYSTEM_FILES = ["/etc/profile", "/etc/bash.bashrc", "/etc/bashrc"];
const SYSTEM_FOLDER = "/etc/profile.d";
const HOME_FILES = [".bash_profile", ".bash_login", ".profile", ".bashrc"];

/**
 * A text that changes when a start-up file is changed, appears or disappears. Never holds anybody up: a home directory
 * may be on a server that does not answer.
 */
export async function startupStamps(
  { HOME = "/", BASH_ENV = "" }: Readonly<Record<string, string>>,
): Promise<string> {
  const files = [
    ...SYSTEM_FILES,
    ...await filesIn(SYSTEM_FOLDER),
    ...HOME_FILES.map((name) => `${HOME}/${name}`),
    BASH_ENV,
  ];
  return (await Promise.all(files.map(fileStamp))).join("\n");
}

async function filesIn(folder: string): Promise<string[]> {
  try {
    return (await Array.fromAsync(Deno.readDir(folder), ({ name }) => `${folder}/${name}`)).sort();
  } catch {
    return []; // Not on this system.
  }
}

/** Identity, size and time of change. */
async function fileStamp(path: string): Promise<string> {
  try {
    const { ino, size, mtime, ctime } = await Deno.stat(path);
    return `${path} ${ino} ${size} ${mtime?.getTime()} ${ctime?.getTime()}`;
  } catch {
    return ""; // Missing or out of reach: the same as missing for a shell of this user.
  }
}
