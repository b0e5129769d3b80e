/**
 * Who can connect, from the flags that decide it, checked against each other. `serve` opens that door, and `doctor`
 * describes it.
 */

import type { AuthConfig } from "../../transport/door/auth.ts";
import { isLoopbackAddress } from "../../transport/listen/ip_address.ts";
import { type ListenAddress, ListenUrlParseError, parseListenUrl } from "../../transport/listen/listen_url.ts";
import type { TlsFiles } from "../../transport/tls/tls_files.ts";
import { loadAuth, type ReadTextFile } from "./auth_options.ts";
import { quoted, refusal } from "../cli_error.ts";
import type { DoorFlags } from "./door_flags.ts";
import type { FlagValues, GivenAs } from "../flags.ts";

export interface Door {
  readonly listen: ListenAddress;
  readonly auth: AuthConfig;
  /** Whether every user of this machine may connect to a loopback address without authentication. */
  readonly allowOtherUsers: boolean;
  /** Web pages of these origins may connect. */
  readonly allowedOrigins: readonly string[];
  /** Null: no TLS. */
  readonly tls: TlsFiles | null;
}

/**
 * The door and, if its secrets are in files, how to read them again. Throws a `CliError` when the flags cannot be used.
 */
export async function doorOptions(
  values: FlagValues<DoorFlags>,
  givenAs: GivenAs<DoorFlags>,
  readTextFile: ReadTextFile,
): Promise<Door & { readonly reloadAuth: (() => Promise<AuthConfig>) | null }> {
  const listen = listenAddress(values.listen, givenAs.listen ?? "--listen");
  const tls = tlsFiles(listen, values, givenAs);
  const readAuth = () => loadAuth(values, givenAs, readTextFile);
  const auth = await readAuth();
  refuseOpenListener(listen, auth, values["insecure-no-auth"]);
  if (listen.type === "unix" && auth.type === "urlToken") {
    throw refusal(
      `${givenAs["ws-auth"]} url-token needs an address with a port: the path of a unix socket cannot carry a token`,
    );
  }
  const hasFile = [values["ws-token-file"], values["ws-shared-secret-file"], values.tokens].some((file) =>
    file !== null
  );
  return {
    listen,
    auth,
    allowOtherUsers: values["allow-other-users"],
    allowedOrigins: allowedOrigins(values["allow-origin"], givenAs["allow-origin"] ?? "--allow-origin", auth),
    tls,
    reloadAuth: hasFile ? readAuth : null,
  };
}

/** `writtenAs` is the flag or variable that a refusal names. */
export function listenAddress(url: string, writtenAs: string): ListenAddress {
  try {
    return parseListenUrl(url);
  } catch (error) {
    if (!(error instanceof ListenUrlParseError)) throw error;
    throw refusal(`${writtenAs} ${quoted(url)} is not accepted: ${error.reason}`, error);
  }
}

/** Where certificate and key are. The files are read when the server starts, and later, but not here. */
export function tlsFiles(
  listen: ListenAddress,
  values: Pick<FlagValues<DoorFlags>, "tls-cert" | "tls-key">,
  givenAs: Pick<GivenAs<DoorFlags>, "tls-cert" | "tls-key">,
): TlsFiles | null {
  const certFile = values["tls-cert"];
  const keyFile = values["tls-key"];
  if (listen.type === "tcp" && listen.isSecure === true) {
    if (certFile === null || keyFile === null) throw refusal("--listen wss: needs --tls-cert and --tls-key");
    return { certFile, keyFile };
  }
  const written = givenAs["tls-cert"] ?? givenAs["tls-key"];
  if (written !== undefined) throw refusal(`${written} needs --listen wss://IP:PORT`);
  return null;
}

/** Without a token, anyone who can put a script into such a page would have a remote shell. */
function allowedOrigins(origins: readonly string[], writtenAs: string, auth: AuthConfig): readonly string[] {
  if (origins.length > 0 && auth.type === "none") throw refusal(`${writtenAs} needs --ws-auth`);
  for (const origin of origins) {
    const reason = originProblem(origin);
    if (reason !== null) throw refusal(`${writtenAs} ${quoted(origin)} is not accepted: ${reason}`);
  }
  return origins;
}

function originProblem(origin: string): string | null {
  if (origin === "*") return "name each origin, so that not every page on the web may connect";
  if (origin === "null") return "pages without an origin of their own all say null, so it names nobody";
  const scheme = /^([a-z][a-z0-9+.-]*):\/\/[^/?#\s]+$/.exec(origin)?.[1];
  if (scheme === undefined) return "an origin is a scheme, a host and a port, such as https://app.example:8443";
  if (scheme !== "http" && scheme !== "https") return null;
  const written = URL.canParse(origin) ? new URL(origin).origin : null;
  if (written === null) return "it is not a valid origin";
  return written === origin ? null : `browsers write this origin ${written}`;
}

/** An open port beyond this machine is a remote shell for everybody, so it needs an explicit flag. */
function refuseOpenListener(listen: ListenAddress, auth: AuthConfig, isInsecureAccepted: boolean): void {
  if (listen.type !== "tcp" || auth.type !== "none" || isInsecureAccepted) return;
  if (isLoopbackAddress(listen.hostname)) return;
  throw refusal(
    `refusing to listen on ${listen.hostname} without authentication: anyone who can reach it could run commands; ` +
      `add --ws-auth, listen on 127.0.0.1, or accept the risk with --insecure-no-auth`,
  );
}
