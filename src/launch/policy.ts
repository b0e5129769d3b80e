/**
 * The one form all sandbox objects are brought into: what a confined process may do, in real paths of this host.
 *
 * Plain data, and the questions that can be asked of it. Every backend translates this form and nothing else, so two
 * backends cannot disagree about what an object means.
 */

import { invalidRequest } from "../errors.ts";
import type { NetworkAccess, PathAccess } from "../protocol/sandbox.ts";
import { type FollowedLink, isWithin } from "./host_tree.ts";

export interface Policy {
  /** `unrestricted`: no rule about files at all. */
  readonly files: "unrestricted" | FilePolicy;
  readonly network: NetworkAccess;
}

export interface FilePolicy {
  /** What holds where no rule says otherwise. `hidden`: not granted, and looks absent. */
  readonly base: "hidden" | "read" | "write";
  /** Exceptions to it, broad before narrow; the narrowest that covers a path decides. */
  readonly rules: readonly PathRule[];
  /** Places in writable directories where nothing may be made, because an entry for it says so. */
  readonly missing: readonly MissingPath[];
  /**
   * Directories that may be written to but not moved: below each lies a rule that a rename would move away with it,
   * leaving its place free for something else.
   */
  readonly pinned: readonly string[];
  /** Links on the way to what is granted that lie where nothing else is: without them the granted names lead nowhere. */
  readonly links: readonly FollowedLink[];
}

/** A path that exists, free of links, and what holds from there on down. */
export interface PathRule {
  readonly path: string;
  readonly access: PathAccess;
  readonly type: "file" | "directory";
  /** Which thing at this path was meant when the policy was made. */
  readonly id: string;
  /**
   * Of a denied file: a mask is lost with the name it covers, also when another name of the same file takes its place.
   * Other rules do without, or every write would make another policy.
   */
  readonly version?: string;
}

export interface MissingPath {
  readonly path: string;
  /** What to put there while the process runs: an empty directory disturbs nobody who looks for `.git`. */
  readonly placeholder: "file" | "directory";
  /** Whether what somebody else may put there meanwhile must not be read. */
  readonly isHidden: boolean;
}

export type Access = PathAccess | "hidden";

/** No part of the process is confined: it runs like one without a sandbox object. */
export function isUnconfined(policy: Policy): boolean {
  return policy.files === "unrestricted" && policy.network === "enabled";
}

/**
 * A client may insist that the network is reached only through a proxy it manages. There is no such proxy here, so all
 * that can be offered is no network; a policy that opens the network is refused.
 */
export function refuseUnmanagedNetwork(policy: Policy): void {
  if (policy.network === "restricted") return;
  throw invalidRequest("Cannot enforce a managed network: this server has no proxy, and the policy opens the network");
}

/** What holds for a path that is free of links. */
export function accessTo(files: FilePolicy, path: string): Access {
  // Broad before narrow, so the last one that covers the path is the narrowest.
  return files.rules.findLast((rule) => isWithin(path, rule.path))?.access ?? files.base;
}

/** Every file of the disk, also one that is made in this moment, may be read: a read needs no confinement. */
export function readsEverything({ base, rules, missing }: FilePolicy): boolean {
  return base !== "hidden" && rules.every((rule) => rule.access !== "deny") && missing.every((path) => !path.isHidden);
}

/**
 * A text that differs whenever the policy does, or one of the things it names has been replaced by another. Whatever is
 * kept for a policy (a helper that is bound to it) is kept under this.
 */
export function policyKey(policy: Policy): string {
  return JSON.stringify(policy);
}
