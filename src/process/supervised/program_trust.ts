/**
 * Whether a program may run outside of the sandbox: only one that nobody inside can have written or put in its place.
 *
 * Every directory and link on the way counts, and the file itself. A place that the sandbox may write, or that is
 * writable for a group or for everybody, is not trusted. A directory such as /tmp, where everybody may add names but
 * nobody may take away another's, is trusted as far as the name on the way is root's or our own. Where a sandbox confines
 * no files, everything that is our own can be written too. The interpreter of a script is a program as well. To let a
 * program from another place run outside, name its exact path in a rule.
 */

import { dirname, join } from "node:path/posix";
import type { Policy } from "../../launch/policy/policy.ts";
import { byteStringOf, lossyText } from "../../os/files/byte_string.ts";
import { isWithin } from "../../text_path.ts";
import { interpreterLine, MAX_INTERPRETERS, START_BYTES } from "./interpreted_script.ts";
import type { WritablePlaces } from "./writable_places.ts";

/** As many as the kernel follows. */
const MAX_LINKS = 40;

/** What the kernel makes up for each process: the same path is another file for everybody. */
const UNSHARED_PLACES = ["/proc", "/dev"];

const GROUP_AND_OTHERS_WRITE = 0o022;
const STICKY = 0o1000;

export interface TrustQuestion {
  /** Absolute, without `.` and `..`. */
  readonly file: string;
  /** Undefined where nothing is confined: then inside and outside are the same. */
  readonly policy: Policy | undefined;
  /** Places that other sandboxes were allowed to write. */
  readonly writable: WritablePlaces;
  /** A rule names this very path. */
  readonly pathIsNamed: boolean;
  /** What other users could have written is not asked. Default: it is. */
  readonly leavesOutOthers?: boolean;
}

/** Why it may not, in words for the caller; null when it may. */
export async function whyNotTrusted(question: TrustQuestion): Promise<string | null> {
  const advice = "a rule for this exact path would allow it";
  const reason = await whyPathNotTrusted(question, advice);
  // A rule that names a script means what it says, and so its interpreter.
  if (reason !== null || question.policy === undefined || question.pathIsNamed) return reason;
  let { file } = question;
  for (let depth = 0; depth <= MAX_INTERPRETERS; depth++) {
    const interpreter = await interpreterOf(file);
    if (interpreter === null) return null;
    const scriptAdvice = "a rule for the exact path of the script would allow it";
    const why = interpreter.startsWith("/")
      ? await whyPathNotTrusted({ ...question, file: interpreter }, scriptAdvice)
      : `it is another file in each directory; ${scriptAdvice}`;
    if (why !== null) return `its interpreter ${interpreter}: ${why}`;
    file = interpreter;
  }
  return null;
}

/**
 * The directories of a search path in which nobody inside can put a program; null when there are none. A relative or
 * empty entry begins in the caller's directory, and what is not there now could be made.
 */
export async function trustedSearchPath(
  path: string,
  confinement: Pick<TrustQuestion, "policy" | "writable">,
): Promise<string | null> {
  if (confinement.policy === undefined) return path;
  const areTrusted = await Promise.all(
    path.split(":").map(async (entry) => {
      const question = { ...confinement, file: entry, pathIsNamed: false, leavesOutOthers: true };
      return entry.startsWith("/") && await whyPathNotTrusted(question, "") === null;
    }),
  );
  const trusted = path.split(":").filter((_, index) => areTrusted[index]);
  return trusted.length === 0 ? null : trusted.join(":");
}

/** Null when the file is no script. Text is enough: a name that is no UTF-8 is not there. */
async function interpreterOf(file: string): Promise<string | null> {
  const start = new Uint8Array(START_BYTES);
  try {
    // Opening a pipe might wait for ever.
    if (!(await Deno.stat(file)).isFile) return null;
    using opened = await Deno.open(file);
    await opened.read(start);
  } catch {
    // What we cannot read, no interpreter that we start can.
    return null;
  }
  const [interpreter] = interpreterLine(byteStringOf(start)) ?? [];
  return interpreter === undefined ? null : lossyText(interpreter);
}

async function whyPathNotTrusted(question: TrustQuestion, advice: string): Promise<string | null> {
  const { file, policy, writable, pathIsNamed, leavesOutOthers = false } = question;
  if (UNSHARED_PLACES.some((place) => isWithin(file, place))) return `${file} is another file outside of the sandbox`;
  if (policy === undefined) return null;
  let rest = file;
  let at = "/";
  for (let links = 0; rest !== "";) {
    const [, name = "", after = ""] = /^\/*([^/]*)(.*)$/s.exec(rest)!;
    rest = after;
    if (name === "" || name === ".") continue;
    if (name === "..") {
      at = dirname(at);
      continue;
    }
    const next = join(at, name);
    const stat = await statOf(next);
    if (stat === null) return `${file} is not there outside of the sandbox`;
    const reason = await whyWritable(at, { policy, writable, leavesOutOthers, entry: stat });
    if (reason !== null && !pathIsNamed) return `${reason}; ${advice}`;
    if (!stat.isSymlink) {
      at = next;
      continue;
    }
    if (++links > MAX_LINKS) return `${file} is behind too many links`;
    const target = await Deno.readLink(next);
    rest = `${target}/${rest}`;
    if (target.startsWith("/")) at = "/";
  }
  if (UNSHARED_PLACES.some((place) => isWithin(at, place))) return `${file} is another file outside of the sandbox`;
  const reason = await whyWritable(at, { policy, writable, leavesOutOthers });
  return reason === null || pathIsNamed ? null : `${reason}; ${advice}`;
}

interface WaysToWrite {
  readonly policy: Policy;
  readonly writable: WritablePlaces;
  readonly leavesOutOthers: boolean;
  /** What stands below a directory on the way. */
  readonly entry?: Deno.FileInfo;
}

async function whyWritable(path: string, ways: WaysToWrite): Promise<string | null> {
  const { policy, writable, leavesOutOthers, entry } = ways;
  const stat = await statOf(path);
  if (stat === null) return `${path} is not there outside of the sandbox`;
  const areOursFree = writable.includeAllOfOurs(policy);
  if (writable.include(path, policy) || (areOursFree && isOurs(stat))) {
    return `${path} can be written from inside the sandbox`;
  }
  const mode = stat.mode ?? 0;
  if (leavesOutOthers || (mode & GROUP_AND_OTHERS_WRITE) === 0) return null;
  if ((mode & STICKY) !== 0 && stat.isDirectory && entry !== undefined && staysThere(entry, areOursFree)) return null;
  return `${path} can be written by others`;
}

/** Its owner can always allow itself to write. To root everything belongs. */
function isOurs({ uid }: Deno.FileInfo): boolean {
  return uid === Deno.uid() || Deno.uid() === 0;
}

/** Whether nobody inside can move it out of a directory such as /tmp: only its owner can. */
function staysThere(entry: Deno.FileInfo, areOursFree: boolean): boolean {
  return entry.uid === 0 || (entry.uid === Deno.uid() && !areOursFree);
}

async function statOf(path: string): Promise<Deno.FileInfo | null> {
  try {
    return await Deno.lstat(path);
  } catch {
    return null;
  }
}
