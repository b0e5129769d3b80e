/**
 * Every flag of `serve`, in one table: parsing, variables, help and the documents all read it.
 *
 * Only descriptions live here. What the values mean together is in `serve_options.ts`.
 */

import { LOG_LEVELS } from "../log.ts";
import { SANDBOX_SETTINGS } from "../protocol/environment.ts";
import type { FlagTable } from "./flags.ts";

/** The longest delay a runtime timer takes, some 24 days; a larger number is a slip. */
const MAX_TIMER_MS = 2_147_483_647;
/** Far beyond what a client has under way on one connection; a larger number is a slip. */
const MAX_CONCURRENT_REQUESTS = 65_536;
/** `pid_max` of 64-bit Linux: no machine runs more. */
const MAX_PROCESSES = 4_194_304;
/** Kept in memory for every process; beyond 1 GiB the number is a slip. */
const MAX_RETAINED_OUTPUT_BYTES = 1_073_741_824;
/** A clock a day off is broken, and `exp` would mean nothing. */
const MAX_CLOCK_SKEW_SECONDS = 86_400;

export const SERVE_FLAGS = {
  listen: {
    section: "Listening",
    kind: "text",
    placeholder: "URL",
    default: "ws://127.0.0.1:0",
    help: "Where to be reached: ws://IP:PORT (port 0 lets the system choose), unix:/PATH, or stdio for one " +
      "connection over standard input and output.",
  },
  "insecure-no-auth": {
    section: "Listening",
    kind: "switch",
    default: false,
    help: "Listen beyond this machine without --ws-auth. Whoever can reach the port can then run commands.",
  },
  "ping-interval-ms": {
    section: "Listening",
    kind: "integer",
    min: 1,
    max: MAX_TIMER_MS,
    default: 30_000,
    help: "How often every websocket is pinged.",
  },
  "ws-auth": {
    section: "Authentication",
    kind: "choice",
    choices: ["capability-token", "signed-bearer-token"],
    default: null,
    help: "What a websocket must present as `Authorization: Bearer`: one fixed token, or a JWT signed by HS256. " +
      "Has no effect on stdio.",
  },
  "ws-token-file": {
    section: "Authentication",
    kind: "text",
    placeholder: "PATH",
    default: null,
    help: "capability-token: file that holds the token.",
  },
  "ws-token-sha256": {
    section: "Authentication",
    kind: "text",
    placeholder: "HEX",
    default: null,
    help: "capability-token: SHA-256 digest of the token, in place of the file.",
  },
  "ws-shared-secret-file": {
    section: "Authentication",
    kind: "text",
    placeholder: "PATH",
    default: null,
    help: "signed-bearer-token: file that holds the secret, at least 32 bytes.",
  },
  "ws-issuer": {
    section: "Authentication",
    kind: "text",
    placeholder: "TEXT",
    default: null,
    whenAbsent: "any",
    help: "signed-bearer-token: what the claim iss must be.",
  },
  "ws-audience": {
    section: "Authentication",
    kind: "text",
    placeholder: "TEXT",
    default: null,
    whenAbsent: "any",
    help: "signed-bearer-token: what the claim aud must be or hold.",
  },
  "ws-max-clock-skew-seconds": {
    section: "Authentication",
    kind: "integer",
    min: 0,
    max: MAX_CLOCK_SKEW_SECONDS,
    default: 30,
    help: "signed-bearer-token: how far clocks may differ when exp and nbf are checked.",
  },
  "concurrent-requests": {
    section: "Requests and processes",
    kind: "integer",
    min: 1,
    max: MAX_CONCURRENT_REQUESTS,
    default: null,
    whenAbsent: "arrival order",
    help: "Run up to N requests of a connection at once, and N control requests besides. Without it results are as " +
      "if in arrival order, but waits and control requests hold nothing up.",
  },
  "max-processes-per-connection": {
    section: "Requests and processes",
    kind: "integer",
    min: 1,
    max: MAX_PROCESSES,
    default: null,
    whenAbsent: "unlimited",
    help: "How many processes of one connection may be open at a time.",
  },
  "retained-output-bytes-per-process": {
    section: "Requests and processes",
    kind: "integer",
    min: 1,
    max: MAX_RETAINED_OUTPUT_BYTES,
    default: 1_048_576,
    help: "How much output of one process is kept for reading again and for snapshots.",
  },
  "allow-direct-exec": {
    section: "Requests and processes",
    kind: "switch",
    default: true,
    help: "Let process/start start processes of the kind direct.",
  },
  "allow-prepared-exec": {
    section: "Requests and processes",
    kind: "switch",
    default: true,
    help: "Let process/start start processes of the kind prepared, exactly as given.",
  },
  sandbox: {
    section: "Requests and processes",
    kind: "choice",
    choices: SANDBOX_SETTINGS,
    default: "auto",
    help:
      "What confines requests that carry a sandbox object. Where it cannot, they are refused and never run without.",
  },
  "shutdown-grace-period-ms": {
    section: "Sessions and shutdown",
    kind: "integer",
    min: 0,
    max: MAX_TIMER_MS,
    default: 0,
    help: "When the server or a session ends, processes get SIGTERM and this much time before SIGKILL.",
  },
  "detached-session-ttl-ms": {
    section: "Sessions and shutdown",
    kind: "integer",
    min: 0,
    max: MAX_TIMER_MS,
    default: 30_000,
    help: "How long a session waits for its client to come back before it ends.",
  },
  "keep-processes-on-session-end": {
    section: "Sessions and shutdown",
    kind: "switch",
    default: false,
    help: "Let processes outlive their session unless their start says otherwise. They end with the server.",
  },
  log: {
    section: "Log",
    kind: "choice",
    choices: ["text", "json"],
    default: "text",
    help: "Form of the log on standard error: lines for people, or one JSON object per line.",
  },
  "log-level": {
    section: "Log",
    kind: "choice",
    choices: LOG_LEVELS,
    default: "info",
    help: "The least urgent messages to log.",
  },
  help: { section: "Other", kind: "action", short: "h", help: "Show this help." },
  version: { section: "Other", kind: "action", short: "V", help: "Show the version." },
} as const satisfies FlagTable;

export type ServeFlags = typeof SERVE_FLAGS;
