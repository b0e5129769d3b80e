/**
 * Resource limits of our own process and of others.
 */

import { allocate, libc } from "../libc.ts";

// Numbers of x86-64, arm64 and every architecture with the generic table.
export const RLIMIT_NOFILE = 7;
/**
 * File locks. The kernel keeps, inherits and shows this limit but has not enforced it since Linux 2.4, which is why
 * `process_mark.ts` can use it.
 */
export const RLIMIT_LOCKS = 10;

export interface Limit {
  readonly soft: bigint;
  readonly hard: bigint;
}

/** A limit of this process, or of another one that we may ask about. */
export function getLimit(resource: number, pid = 0): Limit | null {
  const old = allocate(16);
  if (libc().prlimit64(pid, resource, null, old) !== 0) return null;
  const view = new DataView(old.buffer);
  return { soft: view.getBigUint64(0, true), hard: view.getBigUint64(8, true) };
}

/** False when the system refuses, which leaves the limit as it was. */
export function setLimit(resource: number, limit: Limit, pid = 0): boolean {
  const wanted = allocate(16);
  const view = new DataView(wanted.buffer);
  view.setBigUint64(0, limit.soft, true);
  view.setBigUint64(8, limit.hard, true);
  return libc().prlimit64(pid, resource, wanted, null) === 0;
}
