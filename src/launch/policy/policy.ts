/**
 * The one form that all sandbox objects are turned into: what a confined process may do, in real paths of this host.
 *
 * Plain data, and questions about it. Every backend translates this form and nothing else, so two backends cannot
 * disagree about what an object means.
 */

import { invalidRequest } from "../../errors.ts";
import type { NetworkAccess, PathAccess } from "../../protocol/sandbox.ts";
import { type FollowedLink } from "./host_tree.ts";
import { isWithin } from "../../text_path.ts";

export interface Policy {
  /** `unrestricted`: no rule about files at all. */
  readonly files: "unrestricted" | FilePolicy;
  readonly network: NetworkAccess;
}

export interface FilePolicy {
  /** What applies where no rule says otherwise. `hidden`: not granted, and looks absent. */
  readonly base: "hidden" | "read" | "write";
  /** Exceptions to it, broad before narrow. The narrowest one that covers a path decides. */
  readonly rules: readonly PathRule[];
  /** Paths in writable directories where nothing may be created, because an entry says so. */
  readonly missing: readonly MissingPath[];
  /**
   * Directories that may be written but not moved: below each lies a rule whose path a rename would move away, leaving
   * its place free for something else.
   */
  readonly pinned: readonly string[];
  /**
   * Links on the way to granted paths, in places where nothing else is visible. Without them the granted names lead
   * nowhere.
   */
  readonly links: readonly FollowedLink[];
}

/** An existing path without links, and what applies from there down. */
export interface PathRule {
  readonly path: string;
  readonly access: PathAccess;
  readonly type: "file" | "directory";
  /** The file or directory at this path that was meant when the policy was made. */
  readonly id: string;
  /**
   * For a denied file: the mount that hides it is lost with the name it covers, even if another name of the same file
   * takes its place. Other rules do not need this, and with it every write would make another policy.
   */
  readonly version?: string;
}

export interface MissingPath {
  readonly path: string;
  /** What to put there while the process runs. An empty directory does not disturb programs that look for `.git`. */
  readonly placeholder: "file" | "directory";
  /** Whether anything that another program puts there meanwhile must stay unreadable. */
  readonly isHidden: boolean;
}

export type Access = PathAccess | "hidden";

/**
 * No rule about files, as a policy for file operations. No list of entries turns into it: one that makes the whole disk
 * writable still protects names in the root directory.
 */
export const ALL_FILES: FilePolicy = { base: "write", rules: [], missing: [], pinned: [], links: [] };

/** The policy of a helper for file operations: it never has a network. */
export function helperPolicy(files: FilePolicy): Policy {
  return { files: files === ALL_FILES ? "unrestricted" : files, network: "restricted" };
}

/** Nothing is confined: it runs like a process without a sandbox object. */
export function isUnconfined(policy: Policy): boolean {
  return policy.files === "unrestricted" && policy.network === "enabled";
}

/**
 * A client may insist that the network is reached only through a proxy it manages. There is no such proxy here, so the
 * only offer is no network; a policy that allows the network is refused.
 */
export function refuseUnmanagedNetwork(policy: Policy): void {
  if (policy.network === "restricted") return;
  throw invalidRequest("Cannot enforce a managed network: this server has no proxy, and the policy allows the network");
}

/** What applies to a path without links. */
export function accessTo(files: FilePolicy, path: string): Access {
  // Broad before narrow, so the last one that covers the path is the narrowest.
  return files.rules.findLast((rule) => isWithin(path, rule.path))?.access ?? files.base;
}

/** Every file of the disk may be read, even one that is created just now: a read needs no confinement. */
export function readsEverything({ base, rules, missing }: FilePolicy): boolean {
  return base !== "hidden" && rules.every((rule) => rule.access !== "deny") && missing.every((path) => !path.isHidden);
}

/**
 * A text that changes whenever the policy does, or a file or directory it names was replaced. Whatever is kept for a
 * policy (such as a helper) is kept under this key.
 */
export function policyKey(policy: Policy): string {
  return JSON.stringify(policy);
}
