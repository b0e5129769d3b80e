/**
 * What answers take in memory, before they are known exactly: the most they can be, or an estimate where the method asks
 * for more once it knows.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** Configuration and capabilities: a handful of files. */
export const CONFIGURATION_BYTES = 1 * MIB;

/** All retained output as base64, and a little for each chunk. What is not needed is given back at once. */
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
 * Names, entries and their text: 20000 long names take about this much. It is nearly the whole budget of a connection, so
 * that it makes one list at a time: lists take turns anyway, and two at once would be no faster. The rest is for shorter
 * answers.
 */
export const DIRECTORY_BYTES = 14 * MIB;

/** The largest result of a walk, and its entries while it is made. */
export const WALK_BYTES = 8 * MIB;

export function base64Bytes(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}
