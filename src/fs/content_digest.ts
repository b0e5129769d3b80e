/** SHA-256 of a file's content, in the form `sha256:<hex>`. */

import type { Hash } from "node:crypto";
import type { ContentDigest } from "../protocol/fs.ts";
import { readPieces } from "./content.ts";
import type { IoContext } from "./io_context.ts";
import { MAX_READ_FILE_BYTES } from "./limits.ts";
import { tooLarge } from "./map_error.ts";

/** Hashed at a time. Takes a quarter of a millisecond. */
const DIGEST_PIECE_BYTES = 192 * 1024;

/** Buffer for small content whose size is not known. */
const SMALL_PIECE_BYTES = 48 * 1024;

/** Digests an open file from its beginning to its end. */
export async function digestOf(
  io: IoContext,
  file: { fd: number; size: number },
  signal?: AbortSignal,
): Promise<ContentDigest> {
  const hash = await newHash();
  const total = await readPieces(io, file.fd, (piece) => hash.update(piece), {
    offset: 0,
    maxBytes: MAX_READ_FILE_BYTES + 1,
    pieceBytes: file.size <= SMALL_PIECE_BYTES ? SMALL_PIECE_BYTES : DIGEST_PIECE_BYTES,
    signal,
  });
  if (total > MAX_READ_FILE_BYTES) throw tooLarge();
  return `sha256:${hash.digest("hex")}`;
}

/** Loaded when the first digest is wanted. Only this module can hash piece by piece, and loading it takes 40 ms. */
async function newHash(): Promise<Hash> {
  const { createHash } = await import("node:crypto");
  return createHash("sha256");
}
