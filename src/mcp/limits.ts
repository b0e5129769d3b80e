/** Bounds of the `shell` tool, each with its reason. Those that the reference has are its own. */

/** The reference's: what a command may take when the call does not say. */
export const DEFAULT_TIMEOUT_MS = 10_000;

/** With handles a command may outlive its call, so ten seconds would end what was meant to go on. */
export const DEFAULT_TIMEOUT_WITH_HANDLES_MS = 3_600_000;

/** Below the shortest time-out of known clients, which is 60 s. */
export const DEFAULT_YIELD_MS = 45_000;

/** How long a look at a command waits for news unless it is told otherwise. */
export const DEFAULT_POLL_WAIT_MS = 10_000;

/** After the first news of a look: a program that prints several lines is told once, and nobody notices the delay. */
export const OUTPUT_GATHER_MS = 75;

/** The reference's: all output of one answer. */
export const MAX_OUTPUT_BYTES = 1_048_576;

/** The reference's: what standard output has for certain when both streams are long, a third. */
export const STDOUT_SHARE_BYTES = 349_525;

/** The reference's: how long output is waited for after the shell has ended, while a child still holds the pipe. */
export const DRAIN_MS = 2000;

/** codex gives up after ten rounds, so the tenth must be the answer. */
export const MAX_PROMPT_ROUNDS = 9;

/** Prompts that come so soon after each other are asked together: both sides of a pipe take a few milliseconds. */
export const PROMPT_BATCH_MS = 25;

/** How long somebody may think about a prompt. A whole day: the call itself ends it earlier. */
export const PROMPT_PATIENCE_MS = 86_400_000;

/**
 * Between two rounds nobody is connected to the call, and over HTTP nothing shows that its client has gone. As long as a
 * session there may be idle: whoever was asked has answered by then, or has left.
 */
export const ROUND_PATIENCE_MS = 1_800_000;

/**
 * Commands of one client: those that run, with a handle or in an open call, those between two rounds, and those that have
 * ended and hold their results. Each is a shell with its sandbox, or up to 1 MiB of output. A place is taken before
 * anything is started. Results that nobody has fetched give way.
 */
export const MAX_CLIENT_COMMANDS = 64;

/**
 * Commands that run at once for those who count as one over HTTP, in all of their sessions: two clients with all that
 * they may have. They are some 400 processes, and 128 MiB of output.
 */
export const MAX_HOLDER_COMMANDS = 128;

/**
 * Calls of one client that wait for their answers: one for each command, and three looks at each. A waiting call takes
 * some kilobytes, and a client on standard input could make any number.
 */
export const MAX_OPEN_CALLS = 4 * MAX_CLIENT_COMMANDS;

/** Results that were dropped and that a look is still told about: handles alone, some 100 bytes each. */
export const MAX_DROPPED_RESULTS = 1024;

/** How long the end of a command with a handle can be asked for. */
export const FINISHED_COMMAND_MS = 600_000;

/**
 * Input that a command has been sent and has not read, if some of it waits already: what one request over HTTP can
 * bring. A single text is taken whatever its length, because it is in memory already.
 */
export const MAX_WAITING_INPUT_BYTES = 4 * 1_048_576;

/**
 * Processes and threads of one command inside its sandbox: as many as podman gives a container, and more than builds on
 * large machines need. A fork bomb of small shells is below a gigabyte then.
 */
export const MAX_PROCESSES = 2048;

/** Sandboxes that wait for the next command: agents run a few commands at once. Each is three processes, 2 MB or so. */
export const MAX_STANDBYS = 3;

/** After a command, before the next sandboxes are made: a command that follows at once does not share the processor. */
export const STANDBY_REST_MS = 5;

/** How long they wait after the latest command: an agent has thought for as long, or has gone to sleep. */
export const STANDBY_IDLE_MS = 60_000;

/** The first sign of life: long before the default time-out, and none for commands that are short. */
export const FIRST_PROGRESS_MS = 1000;

/** Progress is a sign of life: clients that show it redraw a line. */
export const PROGRESS_INTERVAL_MS = 5000;

/** Denied commands that a result names. More of them tell the model nothing new. */
export const MAX_LISTED_DENIALS = 20;

/**
 * What a result shows of a denied command. Twenty of them are 20 KiB, less than half of what codex shows of a result;
 * one alone can have arguments of 2 MiB.
 */
export const MAX_DENIED_COMMAND_CHARS = 1024;

/** What a question shows of a command: some hundred lines, more than anybody reads before an answer. */
export const MAX_ASKED_COMMAND_CHARS = 8192;

/** A session over HTTP that nobody has used for this long has lost its client, which had no connection to lose. */
export const HTTP_SESSION_IDLE_MS = 1_800_000;

/** Sessions over HTTP at once: each holds a protocol instance of some 100 KiB. */
export const MAX_HTTP_SESSIONS = 256;

/** The same for those who count as one: half of all, so that there is always room for others. */
export const MAX_HOLDER_SESSIONS = MAX_HTTP_SESSIONS / 2;

/** The body of one request over HTTP. A command is a text of some kilobytes; the protocol library's own bound. */
export const MAX_REQUEST_BODY_BYTES = 4 * 1_048_576;

/** One message on standard input: the protocol library's own bound. Longer ones are refused and not kept. */
export const MAX_LINE_BYTES = 10 * 1_048_576;
