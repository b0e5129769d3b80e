/**
 * Every bound of what the server tells about its machine, with its reason. Bounds that a client can meet are the
 * reference's.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

// ---------------------------------------------------------------- environmentConfig/read

/** One configuration file. Ours: the largest known are some hundred kilobytes. */
export const MAX_CONFIG_FILE_BYTES = 1 * MIB;
/**
 * What makes a document expensive: commas, dots, equals signs and opening brackets outside of strings and comments. Ours:
 * nothing else runs while one is parsed, and this many take some 0.1 s. A megabyte of trusted projects has as many.
 */
export const MAX_TOML_MARKS = 32_768;
/** Dots in one key, and brackets in brackets. Real ones have four. */
export const MAX_TOML_DOTS = 64;
export const MAX_TOML_DEPTH = 64;
/** Digits in a row, hexadecimal ones too: numbers have 20 at most, and to read or write one of a million takes 0.3 s. */
export const MAX_TOML_NUMBER_LENGTH = 1_024;
/** All documents of one answer, parsed. Ours: a project can have a thousand of them, one per directory. */
export const MAX_CONFIG_BYTES = 32 * MIB;
/** Parsed documents that are kept for the next request: the most expensive one, or hundreds of real ones. */
export const MAX_KEPT_CONFIG_BYTES = 16 * MIB;
/**
 * What all layers of one answer have when they are written, in characters. Ours: headers repeat the names of the tables
 * around, so half a megabyte can be written as a hundred. A character takes three bytes of a message at most, which may
 * have 64 MiB.
 */
export const MAX_CONFIG_ANSWER_LENGTH = 16 * MIB;

/**
 * Texts that are parsed in a millisecond or two, in characters: they need not queue for it. Longer ones do, in
 * `long_steps.ts`.
 */
export const SHORT_TEXT_LENGTH = 2 * KIB;
export const SHORT_YAML_LENGTH = 512;

// ---------------------------------------------------------------- capabilityRoots/discoverV1

export const MAX_CAPABILITY_ROOTS = 128;
/** Roots looked at together, so that one slow root does not hold up the rest, and all of them not the disk. */
export const MAX_CONCURRENT_ROOTS = 8;

/** How far below a root is looked for skills and manifests. */
export const CAPABILITY_WALK_LIMITS = { maxDepth: 6, maxDirectories: 2_000, maxEntries: 20_000 } as const;

export const MAX_CAPABILITY_FILE_BYTES = 1 * MIB;
/** All files of one root. */
export const MAX_CAPABILITY_BUNDLE_BYTES = 16 * MIB;
/**
 * All files of one answer. Ours: 128 full roots would be 2 GiB, while one message may have 64 MiB. What no longer fits is
 * left out of its root with a warning.
 */
export const MAX_CAPABILITY_ANSWER_BYTES = 32 * MIB;
/** All paths and warnings of one answer, in characters. Ours: there can be 20000 long paths below each root. */
export const MAX_CAPABILITY_NAMES_BYTES = 16 * MIB;

// ---------------------------------------------------------------- capabilities/discoverV2

/** Plugins and roots of skills. */
export const MAX_CAPABILITY_LOCATIONS = 512;
/** Plugins and skills in one answer. */
export const MAX_CAPABILITIES = 2_048;
export const MAX_INVENTORY_BYTES = 4 * MIB;
export const MAX_INVENTORY_WARNINGS = 64;

/** Directories and names in a plugin cache: two levels of it. */
export const PLUGIN_CACHE_WALK_LIMITS = { maxDepth: 1, maxDirectories: 2_000, maxEntries: 20_000 } as const;
/** What an installer records about a plugin. */
export const MAX_INSTALL_METADATA_BYTES = 16 * KIB;
export const MAX_REMOTE_PLUGIN_ID_BYTES = 1 * KIB;

/** In characters. */
export const MAX_SKILL_NAME_LENGTH = 64;
/** Plugin, colon and skill. */
export const MAX_QUALIFIED_SKILL_NAME_LENGTH = 2 * MAX_SKILL_NAME_LENGTH + 1;
/** Lengths of what a skill says about a tool that it needs: its type and transport, and everything else. */
export const MAX_TOOL_WORD_LENGTH = 64;
export const MAX_TOOL_TEXT_LENGTH = 1_024;
/** A YAML document, such as the header of a skill, in characters. Ours: real ones have a few thousand. */
export const MAX_YAML_LENGTH = 64 * KIB;
/**
 * The tokens of such a document: texts, blanks, brackets, colons, line ends. Ours: nothing else runs while one is
 * parsed, and this many take some 10 ms. A line `key: value` has six.
 */
export const MAX_YAML_LEXEMES = 4_096;
/** Nested brackets and braces: each level costs the library more than the one before. Real ones have two. */
export const MAX_YAML_DEPTH = 64;
/**
 * Aliases followed in one document: real ones have none, and a few lines of them can stand for gigabytes. For each the
 * library looks through the whole document.
 */
export const MAX_YAML_ALIASES = 16;

// ---------------------------------------------------------------- shellSnapshot

/**
 * Kept states of one session: agents work in one or two directories per thread, some of them in dozens of threads. An
 * ordinary state has some ten kilobytes.
 */
export const MAX_SHELL_SNAPSHOTS = 64;
/**
 * What restores one state. It travels in the environment of every command, where the kernel allows two megabytes in all;
 * the largest version managers define some 200 KiB of functions.
 */
export const MAX_SHELL_STATE_BYTES = 512 * KIB;
/**
 * What the states of all sessions take in memory, at two bytes a character: 128 of the largest, thousands of ordinary
 * ones. While a state is captured it counts as one of the largest.
 */
export const MAX_SHELL_STATES_BYTES = 128 * MIB;
/** What remembering a state takes besides it and the stamps of its files: its key, and what holds it. */
export const SHELL_STATE_OVERHEAD_BYTES = KIB;
/** One variable of it: the kernel allows 128 KiB, name and all. */
export const MAX_SHELL_STATE_VARIABLE_BYTES = 120 * KIB;
/** A script with what restores the state in front of it, which is one word to the kernel: 128 KiB, end and all. */
export const MAX_SHELL_SCRIPT_BYTES = 128 * KIB - 1;
/** State, script and variables: what the kernel takes with the usual stack of 8 MiB is two megabytes, pointers included. */
export const MAX_SHELL_COMMAND_BYTES = 1536 * KIB;
/** What a capturing shell may write: its state before and after, and whatever a profile says. */
export const MAX_SHELL_CAPTURE_BYTES = 4 * MIB;
/** How long a profile may take, once per state. A slower one waits for something, and is run as it is. */
export const SHELL_CAPTURE_TIMEOUT_MS = 10_000;
/**
 * How long a start waits for the state. Requests about its process and writes of files wait behind it; a slower profile
 * is run as it is until its state is ready.
 */
export const SHELL_CAPTURE_PATIENCE_MS = 5_000;
/** How long to wait before a failed capture is tried again. */
export const SHELL_CAPTURE_RETRY_MS = 60_000;
/** Captures for one scope, shell and directory: a client whose environment changes each time never gains by them. */
export const MAX_CAPTURES_PER_PLACE = 8;
