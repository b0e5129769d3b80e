/**
 * What answers take in memory, before they are known exactly: the most they can be, or an estimate where the method asks
 * for more once it knows.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** Configuration and capabilities: a handful of files. */
export const CONFIGURATION_BYTES = 1 * MIB;

/** All retained output as base64, and a little for each chunk. Taken back at once where there is less. */
export function outputAnswerBytes(retainedBytes: number): number {
  return base64Bytes(retainedBytes) + 128 * KIB;
}

/** As the server retains by default. */
export const OUTPUT_BYTES = 1 * MIB;

/** Files up to this length are read without asking for more: most are. */
export const SHORT_FILE_BYTES = 64 * KIB;

/** The most that one block may have. More is refused. */
export const BLOCK_BYTES = 1 * MIB;

/**
 * Names, entries and their text: 20000 long names take about so much. Nearly all there is, so that one is made at a time:
 * those who list take turns anyway, and two would be no faster. What is left is room for the answers of short ones.
 */
export const DIRECTORY_BYTES = 14 * MIB;

/** The largest result of a walk, and its entries while it is made. */
export const WALK_BYTES = 8 * MIB;

export function base64Bytes(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}
