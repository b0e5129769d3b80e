/**
 * Finds bubblewrap, once, in a place where nobody who may be confined can replace it, and learns what it can do.
 *
 * The client's PATH is never used. The effects are passed in; the real ones are in `real_tool_host.ts`.
 */

import { messageOf } from "../../errors.ts";
import type { SandboxProblem } from "../../protocol/environment.ts";
import type { BubblewrapTool } from "./bubblewrap.ts";
import { parentPath } from "../../text_path.ts";

/** Something that works here, or the reason why it does not. */
export type Availability<T> =
  | { readonly isAvailable: true; readonly value: T }
  | Unavailability<T>;

export interface Unavailability<T> {
  readonly isAvailable: false;
  readonly reason: string;
  /** The cause behind the reason, for advice. */
  readonly problem?: SandboxProblem;
  /** It exists and was tried, but does not work. */
  readonly found?: T;
}

export interface ToolFile {
  /** Without links. */
  readonly path: string;
  readonly isFile: boolean;
  readonly isDirectory: boolean;
  readonly uid: number;
  readonly mode: number;
}

export interface ToolHost {
  /** Null when nothing is there. */
  inspect(path: string): ToolFile | null;
  /** Runs a program with an empty environment. Rejects when it cannot be run. */
  run(program: string, args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }>;
}

/** Where distributions put it. */
const USUAL_PLACES = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/** The first version with `--perms`, without which nothing can be hidden. */
const MIN_VERSION = [0, 5, 0] as const;

const GROUP_OR_OTHERS_WRITE = 0o022;
const ANY_EXECUTE = 0o111;

export interface ToolSearch {
  /** The operator's own choice, used without further checks. */
  readonly chosenPath?: string;
  /** The server's PATH, searched after the usual places. */
  readonly searchPath?: string;
}

export async function findBubblewrap(host: ToolHost, search: ToolSearch = {}): Promise<Availability<BubblewrapTool>> {
  const path = locate(host, search);
  if (typeof path !== "string") return path;
  try {
    const version = await host.run(path, ["--version"]);
    const numbers = parseVersion(version.stdout);
    if (numbers === null) return unavailable(`${path} does not report its version`);
    const text = numbers.join(".");
    if (compareVersions(numbers, MIN_VERSION) < 0) {
      return unavailable(`${path} is version ${text}; ${MIN_VERSION.join(".")} or newer is needed`, "outdated");
    }
    // Distributions add this option to older versions, so the version does not tell.
    const help = await host.run(path, ["--help"]);
    const bindsDescriptors = `${help.stdout}${help.stderr}`.includes("--ro-bind-fd");
    return { isAvailable: true, value: { path, version: text, bindsDescriptors } };
  } catch (error) {
    return unavailable(`${path} cannot be run: ${messageOf(error)}`);
  }
}

function locate(host: ToolHost, { chosenPath, searchPath = "" }: ToolSearch): string | Unavailability<never> {
  if (chosenPath !== undefined) {
    const facts = host.inspect(chosenPath);
    if (facts?.isFile) return facts.path;
    return unavailable(`${chosenPath} is not a program`);
  }
  const onPath = searchPath.split(":").filter((directory) => directory.startsWith("/")).map((directory) =>
    `${directory}/bwrap`
  );
  const rejected: string[] = [];
  for (const candidate of new Set([...USUAL_PLACES, ...onPath])) {
    const facts = host.inspect(candidate);
    if (facts === null || !facts.isFile || (facts.mode & ANY_EXECUTE) === 0) continue;
    if (isOutOfReach(facts) && isOutOfReach(host.inspect(parentPath(facts.path)))) {
      return facts.path;
    }
    rejected.push(facts.path);
  }
  if (rejected.length > 0) {
    const reason = `${rejected.join(", ")} can be replaced by users other than root, so it is not used`;
    return unavailable(reason, "replaceable");
  }
  return unavailable("bubblewrap is not installed", "missing");
}

/**
 * Owned by root and writable only by root: a confined program cannot have put it there, whatever it was allowed to
 * write.
 */
function isOutOfReach(facts: ToolFile | null): boolean {
  return facts !== null && facts.uid === 0 && (facts.mode & GROUP_OR_OTHERS_WRITE) === 0;
}

/** `bubblewrap 0.8.0` */
export function parseVersion(text: string): readonly [number, number, number] | null {
  const match = /^bubblewrap (\d+)\.(\d+)(?:\.(\d+))?/m.exec(text);
  return match === null ? null : [Number(match[1]), Number(match[2]), Number(match[3] ?? 0)];
}

function compareVersions(a: readonly number[], b: readonly number[]): number {
  for (const [index, part] of a.entries()) {
    const difference = part - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function unavailable(reason: string, problem?: SandboxProblem): Unavailability<never> {
  return { isAvailable: false, reason, ...(problem === undefined ? {} : { problem }) };
}
