/** Landlock rulesets: made here, and applied by the child that they bind. Making one restricts nobody. */

import type { ByteString } from "../files/byte_string.ts";
import { failure } from "../descriptor.ts";
import { closeFd, O_PATH, openWithoutLinks } from "../files/file_calls.ts";
import { addressOf, allocate, lastErrno, libc } from "../libc.ts";

// The same numbers on every architecture.
const SYS_LANDLOCK_CREATE_RULESET = 444n;
const SYS_LANDLOCK_ADD_RULE = 445n;
const LANDLOCK_CREATE_RULESET_VERSION = 1n;
const LANDLOCK_RULE_PATH_BENEATH = 1n;

/** `struct landlock_ruleset_attr` and `struct landlock_path_beneath_attr`, which is packed. */
const RULESET_BYTES = 24;
const RULE_BYTES = 12;

/** The kernel's version of Landlock; 0 when it has none or does not use it. */
export function landlockVersion(): number {
  return Math.max(0, libc().syscall(SYS_LANDLOCK_CREATE_RULESET, 0n, 0n, LANDLOCK_CREATE_RULESET_VERSION, 0n));
}

/** The handled actions, as bits of the kernel's header: each is forbidden unless a rule allows it. */
export interface HandledAccess {
  readonly files: number;
  readonly network: number;
  readonly scoped: number;
}

/** A close-on-exec descriptor of a new ruleset without rules, owned by the caller. */
export function createRuleset({ files, network, scoped }: HandledAccess): number {
  const attributes = allocate(RULESET_BYTES);
  const view = new DataView(attributes.buffer);
  view.setBigUint64(0, BigInt(files), true);
  view.setBigUint64(8, BigInt(network), true);
  view.setBigUint64(16, BigInt(scoped), true);
  const size = BigInt(RULESET_BYTES);
  const fd = libc().syscall(SYS_LANDLOCK_CREATE_RULESET, addressOf(attributes), size, 0n, 0n);
  if (fd < 0) throw failure(lastErrno());
  return fd;
}

/**
 * Allows this at a path without links, and below it. Returns 0, or minus the error number when there is no such path.
 */
export function addPathRule(ruleset: number, path: ByteString, access: number): number {
  const fd = openWithoutLinks(path, O_PATH);
  if (fd < 0) return fd;
  const rule = allocate(RULE_BYTES);
  const view = new DataView(rule.buffer);
  view.setBigUint64(0, BigInt(access), true);
  view.setInt32(8, fd, true);
  const added = libc().syscall(
    SYS_LANDLOCK_ADD_RULE,
    BigInt(ruleset),
    LANDLOCK_RULE_PATH_BENEATH,
    addressOf(rule),
    0n,
  );
  const errno = added === 0 ? 0 : lastErrno();
  closeFd(fd);
  return -errno;
}
