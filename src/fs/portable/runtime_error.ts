/**
 * Failures of the runtime's file functions as domain errors, in the C library's words.
 *
 * The runtime names the error (`ENOENT`) inside its own text. Numbers and texts are those of Linux on every system,
 * because clients compare them.
 */

import { DomainError, internalError, invalidRequest } from "../../errors.ts";
import { OsError } from "../map_error.ts";

const NUMBERS: Readonly<Record<string, number>> = {
  EPERM: 1,
  ENOENT: 2,
  EINTR: 4,
  EIO: 5,
  ENXIO: 6,
  EBADF: 9,
  EAGAIN: 11,
  ENOMEM: 12,
  EACCES: 13,
  EBUSY: 16,
  EEXIST: 17,
  EXDEV: 18,
  ENODEV: 19,
  ENOTDIR: 20,
  EISDIR: 21,
  EINVAL: 22,
  ENFILE: 23,
  EMFILE: 24,
  ETXTBSY: 26,
  EFBIG: 27,
  ENOSPC: 28,
  ESPIPE: 29,
  EROFS: 30,
  EMLINK: 31,
  ENAMETOOLONG: 36,
  ENOLCK: 37,
  ENOSYS: 38,
  ENOTEMPTY: 39,
  ELOOP: 40,
  EOVERFLOW: 75,
  ENOTSUP: 95,
  EOPNOTSUPP: 95,
  ETIMEDOUT: 110,
  ESTALE: 116,
  EDQUOT: 122,
};

/** The domain error a failure of the runtime stands for. */
export function toDomainError(error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  const { code, message } = error as { code?: unknown; message?: unknown };
  const number = typeof code === "string" ? NUMBERS[code] : undefined;
  if (number !== undefined) return new OsError(number);
  // The path is not permitted to this program; /proc, /sys and most of /dev need --allow-all.
  if (error instanceof Deno.errors.NotCapable) return invalidRequest(`Permission denied by the runtime: ${message}`);
  return internalError(`Cannot use the file: ${message ?? error}`, error);
}

/** Waits for a call of the runtime; rejects with a domain error. */
export async function told<Value>(call: Promise<Value>): Promise<Value> {
  try {
    return await call;
  } catch (error) {
    throw toDomainError(error);
  }
}
