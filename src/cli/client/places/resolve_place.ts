/**
 * Finds the place and the token that the user means: `@NAME` or `--url`, else `EXEC_SERVER_URL`, else the user's own
 * server. Reads only the files that are named, and does not connect.
 */

import { messageOf } from "../../../errors.ts";
import { printable } from "../../../printable.ts";
import { CliError, quoted, refusal, usageError } from "../../cli_error.ts";
import type { Environment, GivenAs } from "../../flags.ts";
import type { Place, ResolvedPlace, WHERE_FLAGS, WhereValues } from "./place.ts";

/** The part of a command's words that names the server. */
export interface WhereWords {
  readonly values: WhereValues;
  /** How each value was given: `--url` or the variable. */
  readonly givenAs: GivenAs<typeof WHERE_FLAGS>;
  /** The name after `@`, or null. */
  readonly place: string | null;
}

/** See the head of the module. Throws a `CliError` for wrong words, and for files that cannot be read. */
export async function resolvePlace(where: WhereWords, env: Environment): Promise<ResolvedPlace> {
  const { values, givenAs } = where;
  if (where.place !== null) {
    if (givenAs.url === "--url") {
      throw usageError(`${quoted(`@${where.place}`)} and --url both name a server: give one of them`);
    }
    const { namedPlace } = await import("./config_file.ts");
    const named = await namedPlace(where.place, env);
    const place = placeOf(named.url, {
      executor: named.executor,
      install: values.install,
      writtenAs: `url of @${where.place}`,
    });
    return { place, token: await tokenOf(place, { ...where, placeFile: named.tokenFile }, env) };
  }
  if (values.url === null) {
    if (givenAs.executor === "--executor") throw usageError("--executor needs the --url of its rendezvous");
    if (values.install) throw usageError("--install is for ssh://HOST: give it with --url");
    return { place: { kind: "own" }, token: null };
  }
  const place = placeOf(values.url, {
    executor: values.executor,
    install: values.install,
    writtenAs: givenAs.url ?? "--url",
  });
  return { place, token: await tokenOf(place, { ...where, placeFile: null }, env) };
}

interface PlaceOptions {
  readonly executor: string | null;
  readonly install: boolean;
  /** The name of the URL in errors. */
  readonly writtenAs: string;
}

/** A URL as a place. */
function placeOf(text: string, { executor, install, writtenAs }: PlaceOptions): Place {
  const refused = (reason: string) => usageError(`${writtenAs} is not accepted: ${reason}`);
  const unix = /^unix:(?:\/\/(?=\/))?(.*)$/s.exec(text);
  // Errors do not show the URL, because it may contain a token.
  const url = unix === null ? URL.parse(text) : null;
  if (unix === null && url === null) {
    throw refused("write ws://, wss://, unix:/PATH, ssh://[USER@]HOST or https://RENDEZVOUS");
  }
  const protocol = url?.protocol ?? "unix:";
  if (executor !== null && protocol !== "https:" && protocol !== "http:") {
    throw refused("an executor is reached through its rendezvous, https://HOST");
  }
  if (install && protocol !== "ssh:") throw refused("--install is for ssh://HOST");
  switch (protocol) {
    case "unix:":
      if (!unix![1]!.startsWith("/")) {
        throw refused("the path of a unix socket must be absolute, such as unix:/run/x.sock");
      }
      return { kind: "unix", path: unix![1]! };
    case "ws:":
    case "wss:":
      return { kind: "websocket", url: text };
    case "ssh:":
      return sshPlace(text, install, refused);
    case "http:":
    case "https:":
      if (executor === null) throw refused(`${protocol}// is a rendezvous: add --executor ID`);
      return { kind: "rendezvous", url: text, executor };
    default:
      throw refused(`unknown scheme ${protocol} (known are ws:, wss:, unix:, ssh: and https:)`);
  }
}

/** `ssh://[USER@]HOST[:PORT]`. Not read by a URL parser, which would change names that ssh's configuration uses. */
function sshPlace(text: string, install: boolean, refused: (reason: string) => CliError): Place {
  const parts = /^ssh:\/\/(?:([^@/:\s]+)@)?(\[[0-9a-fA-F:.%]+\]|[^@/:\s[\]]+)(?::(\d{1,5}))?\/?$/.exec(text);
  if (parts === null) throw refused("write ssh://[USER@]HOST or ssh://[USER@]HOST:PORT");
  const [, user, host, port] = parts;
  // ssh would take a host that begins with a dash for an option.
  if (host!.startsWith("-") || user?.startsWith("-")) {
    throw refused("names of hosts and users do not begin with a dash");
  }
  const address = host!.replace(/^\[(.*)\]$/, "$1");
  return {
    kind: "ssh",
    destination: user === undefined ? address : `${user}@${address}`,
    port: port === undefined ? null : Number(port),
    install,
  };
}

/**
 * The token from the flag, else from the file of the named place, else from the variables. The library itself reads a
 * token in the URL. Servers on unix sockets and behind ssh need no token, so none is sent to them by accident.
 */
async function tokenOf(
  place: Place,
  { values, givenAs, placeFile }: WhereWords & { readonly placeFile: string | null },
  env: Environment,
): Promise<string | null> {
  const isByFlag = givenAs["token-file"] === "--token-file";
  if (place.kind === "ssh") {
    if (isByFlag || placeFile !== null) throw usageError("ssh:// takes no token: ssh itself decides who may log in");
    return null;
  }
  if (isByFlag) return await readToken("--token-file", values["token-file"]!);
  if (placeFile !== null) return await readToken("token-file", placeFile);
  if (place.kind === "unix") return null;
  const token = env["EXEC_SERVER_TOKEN"]?.trim();
  if (token !== undefined && token !== "") return token;
  const file = values["token-file"];
  return file === null ? null : await readToken("EXEC_SERVER_TOKEN_FILE", file);
}

async function readToken(writtenAs: string, path: string): Promise<string> {
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (error) {
    throw refusal(`cannot read ${writtenAs} ${quoted(path)}: ${printable(messageOf(error))}`, error);
  }
  const token = text.trim();
  if (token === "") throw refusal(`cannot read ${writtenAs} ${quoted(path)}: the file is empty`);
  return token;
}
