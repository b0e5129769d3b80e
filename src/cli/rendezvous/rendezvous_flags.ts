/** The flags of `rendezvous`, and what its help says first. */

import {
  DEFAULT_MAX_CLIENTS_PER_EXECUTOR,
  DEFAULT_MAX_CONNECTIONS_PER_ADDRESS,
  DEFAULT_MAX_CONNECTIONS_PER_TOKEN,
  DEFAULT_REQUESTS_PER_SECOND,
} from "../../remote/rendezvous/limits.ts";
import { DEFAULT_LISTEN_URL } from "../../transport/listen/listen_url.ts";
import type { FlagTable } from "../flags.ts";
import { SERVE_FLAGS } from "../serve/serve_flags.ts";

export const RENDEZVOUS_INTRODUCTION = `Usage: exec-server rendezvous --tokens PATH [--listen URL] [flags]

The server where executors that dial out (--remote) and their clients meet:
registry and rendezvous in one. Everyone needs a token of the file (exec-server
token).
Once it listens, it prints one line on standard output, its URL. The log, with
lines for everyone who connects and leaves, goes to standard error. On SIGHUP
the tokens, the certificate and its key are read again.`;

/** More than one machine has ports for. A larger number is a mistake. */
const MAX_COUNT = 1_000_000;

export const RENDEZVOUS_FLAGS = {
  listen: {
    section: "Listening",
    kind: "text",
    placeholder: "URL",
    default: DEFAULT_LISTEN_URL,
    help:
      "Address to listen on: wss://IP:PORT with TLS; ws://IP:PORT on this machine, or behind a proxy that has TLS; " +
      "unix:/PATH for such a proxy. Port 0 lets the system choose. A socket that systemd hands over is used if it " +
      "listens at this address.",
  },
  "tls-cert": SERVE_FLAGS["tls-cert"],
  "tls-key": SERVE_FLAGS["tls-key"],
  "public-url": {
    section: "Listening",
    kind: "text",
    placeholder: "URL",
    default: null,
    whenAbsent: "the address they used",
    help: "Where executors and clients reach it, such as https://rendezvous.example.com: needed behind a proxy that " +
      "changes Host or ends TLS.",
  },
  "behind-proxy": {
    section: "Listening",
    kind: "switch",
    default: false,
    help:
      "Trust a proxy in front that has TLS, and says in X-Forwarded-For who connects. Needed for ws:// beyond this machine.",
  },
  tokens: {
    section: "Authentication",
    kind: "text",
    placeholder: "PATH",
    default: null,
    help: "File made by exec-server token. Read again on SIGHUP: connections whose token was revoked are then dropped.",
  },
  "max-clients-per-executor": {
    section: "Limits",
    kind: "integer",
    min: 1,
    max: MAX_COUNT,
    default: DEFAULT_MAX_CLIENTS_PER_EXECUTOR,
    help: "How many clients may be connected to one executor at once.",
  },
  "max-connections-per-token": {
    section: "Limits",
    kind: "integer",
    min: 1,
    max: MAX_COUNT,
    default: DEFAULT_MAX_CONNECTIONS_PER_TOKEN,
    help: "How many websockets of one token there may be at once.",
  },
  "max-connections-per-address": {
    section: "Limits",
    kind: "integer",
    min: 1,
    max: MAX_COUNT,
    default: DEFAULT_MAX_CONNECTIONS_PER_ADDRESS,
    help: "How many websockets of one address there may be at once.",
  },
  "requests-per-second": {
    section: "Limits",
    kind: "integer",
    min: 1,
    max: MAX_COUNT,
    default: DEFAULT_REQUESTS_PER_SECOND,
    help:
      "How many requests of one address are answered per second. Others are delayed, and refused if that would take 8 s.",
  },
  log: SERVE_FLAGS.log,
  "log-level": SERVE_FLAGS["log-level"],
  help: SERVE_FLAGS.help,
} as const satisfies FlagTable;
