/**
 * Whether a command can be started in a directory, said before anything is started: what would be said later depends on
 * the sandbox. A directory that goes away meanwhile, or that the sandbox hides, is still found out by the start.
 */

import { statSync } from "node:fs";
import { type DomainError, internalError } from "../errors.ts";
import { shortened } from "../log.ts";
import { printable } from "../printable.ts";
import type { Dialect } from "./client_profile.ts";

export type DirectoryFault = "missing" | "notDirectory";

/** Null: it is a directory, or what it is cannot be seen from here. */
export function directoryFault(path: string): DirectoryFault | null {
  try {
    return statSync(path).isDirectory() ? null : "notDirectory";
  } catch (error) {
    const { code } = error as { code?: unknown };
    return code === "ENOENT" ? "missing" : code === "ENOTDIR" ? "notDirectory" : null;
  }
}

/** The system's words, which are all that the reference says. */
const SYSTEM_WORDS = {
  missing: "No such file or directory (os error 2)",
  notDirectory: "Not a directory (os error 20)",
} as const;

/** The longest path that the system takes has 4096 bytes. */
const MAX_SHOWN_CHARS = 4096;

/** What a client is told. */
export function noSuchDirectory(path: string, fault: DirectoryFault, dialect: Dialect): DomainError {
  if (dialect === "reference") return internalError(SYSTEM_WORDS[fault]);
  const what = fault === "missing" ? "does not exist" : "is not a directory";
  const place = printable(shortened(path, MAX_SHOWN_CHARS));
  return internalError(`Cannot start the command: ${place} ${what}: ${SYSTEM_WORDS[fault]}`);
}
