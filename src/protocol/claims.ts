/**
 * What requests claim, so that results are as if they ran in arrival order, and no more than that:
 *
 * - `process:ID`: `process/start` holds it while the child is being started; everything else about that process waits
 *   for it and then does not hold up others.
 * - `stdin:ID`: writes and the end of input keep their order, whatever blocks them; nothing else waits for them. A
 *   process named by its uid has the same claims as by its id, because the session knows which it is.
 * - `files`: reads overlap, writes wait for what came before and hold back what comes after. Starting a process counts
 *   as a read, so that it sees a script written just before.
 * - `handle:ID`: opening, blocks and closing of one file handle keep their order; blocks are read side by side.
 * - `watch:ID`: a watch is made once.
 * - `details`: one look at all processes of the machine at a time.
 * - `tunnel:ID`: what is written to a tunnel keeps its order, behind the opening of it and before its end.
 */

import type { Claim, ClaimMode, ClaimScope } from "./method_row.ts";
import type { ProcessRef } from "./process_ref.ts";

type Claims = readonly Claim[];

const NO_CLAIMS: Claims = [];
export const READS_FILES: Claims = [{ resource: "files", mode: "shared" }];
export const WRITES_FILES: Claims = [{ resource: "files", mode: "exclusive" }];

export const noClaims = (): Claims => NO_CLAIMS;
export const readsFiles = (): Claims => READS_FILES;
export const writesFiles = (): Claims => WRITES_FILES;

export const startsProcess = ({ processId }: { processId: string }, scope: ClaimScope): Claims => [
  { resource: `process:${scope.processKey({ processId })}`, mode: "exclusive" },
  ...READS_FILES,
];

export const behindStart = (process: ProcessRef, scope: ClaimScope): Claims => [
  { resource: `process:${scope.processKey(process)}`, mode: "pass" },
];

export const inInputOrder = (process: ProcessRef, scope: ClaimScope): Claims => {
  const key = scope.processKey(process);
  return [{ resource: `process:${key}`, mode: "pass" }, { resource: `stdin:${key}`, mode: "exclusive" }];
};

/** The claims of a request about one file handle, besides those on files. */
export const ofHandle = (mode: ClaimMode, files: Claims) => ({ handleId }: { handleId: string }): Claims => [
  { resource: `handle:${handleId}`, mode },
  ...files,
];

export const opensHandle = (params: { handleId: string; mode: "read" | "replace" | "update" }): Claims =>
  ofHandle("exclusive", params.mode === "read" ? READS_FILES : WRITES_FILES)(params);

const ONE_LOOK: Claims = [{ resource: "details", mode: "exclusive" }];

/** A list is made at once; with details it takes a look at the whole machine. */
export const listsProcesses = (params: { details?: boolean | null | undefined } | null | undefined): Claims =>
  params?.details === true ? ONE_LOOK : NO_CLAIMS;

export const ofTunnel = ({ tunnelId }: { tunnelId: string }): Claims => [
  { resource: `tunnel:${tunnelId}`, mode: "exclusive" },
];

export const makesWatch = ({ watchId }: { watchId: number }): Claims => [
  { resource: `watch:${watchId}`, mode: "exclusive" },
  ...READS_FILES,
];
