/**
 * A procfs of the host in another place than `/proc`, as it is in the root directory of every chroot.
 *
 * Only root can mount one, and not where others would notice: there are sandboxes that are refused for its sake. So tests
 * that mount run as another program, in mounts of their own. Who else is to attack a procfs is told where it is.
 */

import assert from "node:assert/strict";

/** Where somebody else has mounted one. */
export const GIVEN_PROCFS = "ATTACK_PROCFS";
const GIVEN = Deno.env.get(GIVEN_PROCFS);

/** Set for a program that has mounts of its own. */
const APART = "ATTACK_APART";
const IS_APART = Deno.env.get(APART) !== undefined;

/** The command line of a program in mounts of its own: nothing of what it mounts reaches the host. */
export const IN_OWN_MOUNTS = ["unshare", "-m", "--propagation", "private"];

/** Why there is none to be had; null when there is. */
export const NO_FOREIGN_PROCFS: string | null = GIVEN !== undefined ? null : whyNot();

/**
 * Whether the tests of a file are to be registered in this program. If not they are run in another, as one test that is
 * registered instead.
 */
export function mayMountHere(url: string): boolean {
  if (IS_APART || Deno.uid() !== 0 || !run(...IN_OWN_MOUNTS, "true")) return true;
  const { pathname } = new URL(url);
  Deno.test(`root, in mounts of its own: ${pathname.slice(pathname.lastIndexOf("/") + 1)}`, async () => {
    const [program, ...args] = [...IN_OWN_MOUNTS, Deno.execPath(), "test", "--no-check", "--allow-all", pathname];
    const env = { [APART]: "1", NO_COLOR: "1" };
    const { success, stdout, stderr } = await new Deno.Command(program!, { args, env }).output();
    const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    assert.ok(success && / [1-9]\d* passed/.test(text), text);
  });
  return false;
}

function whyNot(): string | null {
  if (Deno.uid() !== 0) return "only root can mount a procfs";
  if (!IS_APART) return "mounts of one's own cannot be had here";
  const directory = Deno.makeTempDirSync({ prefix: "procfs-" });
  try {
    if (!run("mount", "-t", "proc", "proc", directory)) return "no procfs can be mounted here";
    run("umount", directory);
    return null;
  } finally {
    Deno.removeSync(directory);
  }
}

function run(...[program, ...args]: string[]): boolean {
  try {
    return new Deno.Command(program!, { args, stdout: "null", stderr: "null" }).outputSync().success;
  } catch {
    return false; // No such program.
  }
}

export class ForeignProcfs implements Disposable {
  readonly path: string;
  readonly #isOurs: boolean;

  /** Mounts it in a new directory at this path, unless one is given. */
  constructor(path: string) {
    this.#isOurs = GIVEN === undefined;
    this.path = GIVEN ?? path;
    if (!this.#isOurs) return;
    Deno.mkdirSync(path);
    if (!run("mount", "-t", "proc", "proc", path)) throw new Error(`cannot mount a procfs on ${path}`);
  }

  [Symbol.dispose](): void {
    // Lazily: a sandbox that is just ending may still have it.
    if (this.#isOurs && !run("umount", "-l", this.path)) throw new Error(`cannot unmount ${this.path}`);
  }
}
