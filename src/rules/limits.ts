/**
 * The bounds of rule files. Each holds for one file unless it says otherwise. A file that reaches one is refused with
 * an error that names the bound, so half a policy is never used.
 */

/** One file. The longest policies in use have a few thousand rules of some 80 characters: 0.3 MB. */
export const MAX_FILE_BYTES = 1 << 20;

/** Files of one set, and their bytes together: a directory named by mistake does not fill the memory. */
export const MAX_FILES = 1024;
export const MAX_SET_BYTES = 16 << 20;

/**
 * Brackets in brackets, blocks in blocks, operators in operators. Each level costs the parser and the evaluator some ten
 * frames of the runtime's stack of about 10 000.
 */
export const MAX_NESTING = 100;

/** Lists in lists when they are compared, hashed or written out. They are built by programs, not by hand. */
export const MAX_VALUE_DEPTH = 200;

/** Calls within calls: the reference's bound, so that a file runs there exactly when it runs here. */
export const MAX_CALL_DEPTH = 50;

/** Expressions and blocks within each other, across calls: each takes some four frames of the runtime's stack. */
export const MAX_EVALUATION_DEPTH = 600;

/** Expressions and statements evaluated. A thousand rules made by nested loops take some 20 000. */
export const MAX_STEPS = 2_000_000;

/** What values take, counted when they are made and never given back: 16 bytes a cell, 2 a character. */
export const MAX_VALUE_BYTES = 64 << 20;

/** Steps have very different costs, so the clock is looked at as well. A full two million steps take about 0.3 s. */
export const MAX_EVALUATION_MS = 2000;

/** Larger integers are useless in rules, and a few multiplications can make them huge. */
export const MAX_INTEGER_BITS = 4096;

/** Rules of one set, counting one for each alternative of a first word. */
export const MAX_RULES = 100_000;

/**
 * A file that changed less than this before it was read is read again at the next look, even if it looks the same: the
 * clock of a filesystem may stand still for 10 ms, and network filesystems have clocks of their own.
 */
export const UNSETTLED_MS = 2000;
