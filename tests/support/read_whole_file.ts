import { concatBytes } from "../../src/bytes.ts";
import type { FileSystem } from "../../src/fs/file_system.ts";

/** The content of a file in one array. */
export async function readWholeFile(files: FileSystem, path: string): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  await files.readFile({ path, followSymlinks: true, offset: 0, length: null }, (piece) => {
    pieces.push(piece.slice());
  });
  return concatBytes(pieces);
}
