/** Where a command does its work: what a place can be, and the flags that say it. */

import { helpAction } from "../../common_flags.ts";
import type { FlagTable, FlagValues } from "../../flags.ts";

/** How to reach a server. Nothing here is secret but what a URL holds. */
export type Place =
  /** The server of this user on this machine, started when it is not there. */
  | { readonly kind: "own" }
  /** `ws:` or `wss:`. */
  | { readonly kind: "websocket"; readonly url: string }
  | { readonly kind: "unix"; readonly path: string }
  /** The own server of a user on another machine, by that machine's sshd. */
  | { readonly kind: "ssh"; readonly destination: string; readonly port: number | null; readonly install: boolean }
  /** An executor that dials out to a rendezvous. */
  | { readonly kind: "rendezvous"; readonly url: string; readonly executor: string };

/** A place, and the token it is opened with; null where it takes none. */
export interface ResolvedPlace {
  readonly place: Place;
  readonly token: string | null;
}

const SECTION = "Where";

/** Flags that every client command has. Give them with `@NAME` to `resolvePlace`. */
export const WHERE_FLAGS = {
  url: {
    section: SECTION,
    kind: "text",
    placeholder: "URL",
    default: null,
    whenAbsent: "your own server on this machine",
    help: "The server: ws://, wss://, unix:/PATH, ssh://[USER@]HOST[:PORT], or https://RENDEZVOUS with --executor. " +
      "@NAME stands for a place in config.toml.",
  },
  "token-file": {
    section: SECTION,
    kind: "text",
    placeholder: "PATH",
    default: null,
    whenAbsent: "the variable EXEC_SERVER_TOKEN, if it is set",
    help: "File that holds the server's token. A token may also be in the URL, as the server prints it.",
  },
  executor: {
    section: SECTION,
    kind: "text",
    placeholder: "ID",
    default: null,
    help: "The executor behind the rendezvous that --url names.",
  },
  install: {
    section: SECTION,
    kind: "switch",
    default: false,
    hasVariable: false,
    help: "ssh: first copy this program to the other machine, as ~/.local/bin/exec-server, unless it is there.",
  },
  "trace-file": {
    section: SECTION,
    kind: "text",
    placeholder: "PATH",
    default: null,
    help: "File to append every message to and from the server to, one per line. It holds everything but tokens.",
  },
} as const satisfies FlagTable;

export type WhereValues = FlagValues<typeof WHERE_FLAGS>;

/** The flag that every command has. */
export const HELP_FLAG = helpAction("Other");

/** What people call a place. Holds no token. */
export function placeName(place: Place): string {
  switch (place.kind) {
    case "own":
      return "your own server";
    case "websocket":
      return new URL(place.url).origin;
    case "unix":
      return `unix:${place.path}`;
    case "ssh":
      return `ssh://${place.destination}${place.port === null ? "" : `:${place.port}`}`;
    case "rendezvous":
      return `${place.url} executor ${place.executor}`;
  }
}
