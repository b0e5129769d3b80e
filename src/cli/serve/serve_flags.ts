/**
 * Every flag of `serve`, in one table: parsing, variables, help and the documents all read it.
 *
 * More than 300 lines: one table. It has only descriptions. `serve_options.ts` decides what the values mean together.
 */

import { MAX_TIMER_MS } from "../../clock.ts";
import { LOG_LEVELS } from "../../log.ts";
import { SANDBOX_SETTINGS } from "../../protocol/environment.ts";
import { helpAction } from "../common_flags.ts";
import type { FlagTable } from "../flags.ts";
import { DEFAULT_LISTEN_URL } from "../../transport/listen/listen_url.ts";

/** Far more than a client has under way on one connection. A larger number is a mistake. */
const MAX_CONCURRENT_REQUESTS = 65_536;
/** `pid_max` of 64-bit Linux: no machine runs more. */
const MAX_PROCESSES = 4_194_304;
/** Kept in memory for every process; more than 1 GiB is a mistake. */
const MAX_RETAINED_OUTPUT_BYTES = 1_073_741_824;
/** Kept in memory for many processes; more than 1 TiB is a mistake. */
const MAX_KEPT_BYTES = 1_099_511_627_776;
/** A clock that is wrong by a day is broken, and `exp` would mean nothing. */
const MAX_CLOCK_SKEW_SECONDS = 86_400;

export const SERVE_FLAGS = {
  listen: {
    section: "Listening",
    kind: "text",
    placeholder: "URL",
    default: DEFAULT_LISTEN_URL,
    help:
      "Address to listen on: ws://IP:PORT or, with TLS, wss://IP:PORT (port 0 lets the system choose), unix:/PATH, " +
      "or stdio for one connection over standard input and output. Without this flag the printed URL carries a " +
      "token, as with --ws-auth url-token.",
  },
  "insecure-no-auth": {
    section: "Listening",
    kind: "switch",
    default: false,
    help: "Do not require a token where one is otherwise required: without --listen, and on an address beyond this " +
      "machine without --ws-auth. Anyone who can reach the port can then run commands.",
  },
  "allow-other-users": {
    section: "Listening",
    kind: "switch",
    default: false,
    help:
      "On a loopback address without --ws-auth, let every user of this machine connect. Otherwise only the server's own " +
      "user and root may connect.",
  },
  "allow-origin": {
    section: "Listening",
    kind: "list",
    placeholder: "ORIGIN",
    default: [],
    whenAbsent: "none",
    help: "Let web pages of this origin connect, such as https://app.example. May be given several times. Needs " +
      "--ws-auth: a page presents its token in a subprotocol.",
  },
  "tls-cert": {
    section: "Listening",
    kind: "text",
    placeholder: "PATH",
    default: null,
    help:
      "wss: PEM file with the server's certificate, followed by its intermediate certificates. Read again on SIGHUP.",
  },
  "tls-key": {
    section: "Listening",
    kind: "text",
    placeholder: "PATH",
    default: null,
    help: "wss: PEM file with the certificate's private key. Nobody else may have access to it. Read again on SIGHUP.",
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
    choices: ["capability-token", "signed-bearer-token", "url-token", "tokens"],
    default: null,
    whenAbsent: "url-token without --listen, else none",
    help:
      "What a client must send as `Authorization: Bearer`: one fixed token (capability-token), a JWT signed with HS256 " +
      "(signed-bearer-token), or one of the tokens of a file (tokens). With url-token the printed URL carries a random " +
      "token, and connecting to that URL is enough. No effect on stdio.",
  },
  tokens: {
    section: "Authentication",
    kind: "text",
    placeholder: "PATH",
    default: null,
    help:
      "tokens: file made by exec-server token, which holds the digest of a token for each client. Read again on SIGHUP: " +
      "connections whose token was revoked are then dropped.",
  },
  "tokens-id": {
    section: "Authentication",
    kind: "text",
    placeholder: "ID",
    default: null,
    whenAbsent: "the host name",
    help: "tokens: the id of this server, which a token must be for.",
  },
  "ws-token-file": {
    section: "Authentication",
    kind: "text",
    placeholder: "PATH",
    default: null,
    help: "capability-token: file that holds the token. Read again on SIGHUP.",
  },
  "ws-token-sha256": {
    section: "Authentication",
    kind: "text",
    placeholder: "HEX",
    default: null,
    help: "capability-token: SHA-256 digest of the token, instead of the file.",
  },
  "ws-shared-secret-file": {
    section: "Authentication",
    kind: "text",
    placeholder: "PATH",
    default: null,
    help: "signed-bearer-token: file that holds the secret, at least 32 bytes. Read again on SIGHUP.",
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
    help: "signed-bearer-token: what the claim aud must be or contain.",
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
    help: "Run up to N requests of a connection at once, and N control requests besides, in any order. Without this " +
      "flag results are as if requests ran in the order in which they arrived, but waits and control requests do not " +
      "delay others.",
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
    help: "How much output of one process is kept, to be read again and for snapshots.",
  },
  "closed-process-retention-ms": {
    section: "Requests and processes",
    kind: "integer",
    min: 0,
    max: MAX_TIMER_MS,
    default: 30_000,
    help: "How long a closed process can still be read. Only time while a client is connected to its session counts.",
  },
  "max-closed-processes": {
    section: "Requests and processes",
    kind: "integer",
    min: 1,
    max: MAX_PROCESSES,
    default: 4096,
    help:
      "How many closed processes are kept for reading, over all sessions. Beyond that the one that closed first is dropped.",
  },
  "max-closed-process-bytes": {
    section: "Requests and processes",
    kind: "integer",
    min: 1,
    max: MAX_KEPT_BYTES,
    default: 268_435_456,
    help: "How much memory closed processes may take together. Beyond that the one that closed first is dropped.",
  },
  "acknowledged-output-bytes": {
    section: "Requests and processes",
    kind: "integer",
    min: 1,
    max: MAX_KEPT_BYTES,
    default: 536_870_912,
    help: "How much memory output that clients have not acknowledged may take, over all processes with acknowledged " +
      "output. When it is full, no more such processes are started.",
  },
  "detached-output-bytes": {
    section: "Requests and processes",
    kind: "integer",
    min: 1,
    max: MAX_KEPT_BYTES,
    default: 67_108_864,
    help:
      "How much output that is not acknowledged one process may hold while its client is away. Then the process has to wait.",
  },
  "allow-direct-exec": {
    section: "Requests and processes",
    kind: "switch",
    default: true,
    help: "Let clients start processes with kind direct in process/start.",
  },
  "allow-prepared-exec": {
    section: "Requests and processes",
    kind: "switch",
    default: true,
    help: "Let clients start processes with kind prepared in process/start: exactly as given.",
  },
  "allow-tunnel": {
    section: "Requests and processes",
    kind: "switch",
    default: false,
    help: "Let clients connect to ports on loopback addresses of this machine (net/connect).",
  },
  sandbox: {
    section: "Requests and processes",
    kind: "choice",
    choices: SANDBOX_SETTINGS,
    default: "auto",
    help: "How requests that carry a sandbox object are confined. A request that cannot be confined is refused.",
  },
  linger: {
    section: "Requests and processes",
    kind: "switch",
    default: true,
    help:
      "Keep the main thread waiting up to 250 us for the next event, at first in a busy loop. With --no-linger the " +
      "processor is free at once, and small requests take twice as long.",
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
  "max-detach-ttl-ms": {
    section: "Sessions and shutdown",
    kind: "integer",
    min: 0,
    max: MAX_TIMER_MS,
    default: 86_400_000,
    help: "The longest time for which a client may ask its session to wait instead (detachTtlMs of initialize).",
  },
  "idle-exit": {
    section: "Sessions and shutdown",
    kind: "text",
    placeholder: "DURATION",
    default: null,
    whenAbsent: "never",
    help: "End the server after this time without use, such as 30m: no connection, no waiting session and no running " +
      "process.",
  },
  "keep-processes-on-session-end": {
    section: "Sessions and shutdown",
    kind: "switch",
    default: false,
    help: "Let processes outlive their session unless their start says otherwise. They end with the server.",
  },
  "shared-processes": {
    section: "Sessions and shutdown",
    kind: "switch",
    default: true,
    help:
      "Let every session list and use (by uid) processes that outlive their session. With --no-shared-processes a " +
      "session only sees its own.",
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
    help: "Log messages of this level and above.",
  },
  help: helpAction("Other"),
  version: { section: "Other", kind: "action", short: "V", help: "Show the version." },
} as const satisfies FlagTable;
