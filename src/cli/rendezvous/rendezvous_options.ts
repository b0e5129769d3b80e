/** Turns argv and environment into the options of `rendezvous`, checked as a whole. Reads only the file of tokens. */

import type { LogFormat, LogLevel } from "../../log.ts";
import { isLoopbackAddress } from "../../transport/listen/ip_address.ts";
import type { ListenerAddress } from "../../transport/listen/listen_bind.ts";
import type { TlsFiles } from "../../transport/tls/tls_files.ts";
import type { TokenTable } from "../../transport/tokens/token_table.ts";
import { quoted, refusal, refuseSurplus, usageError } from "../cli_error.ts";
import { type Environment, parseFlags } from "../flags.ts";
import { type ReadTextFile, readTokens } from "../serve/auth_options.ts";
import { listenAddress, tlsFiles } from "../serve/door_options.ts";
import { RENDEZVOUS_FLAGS } from "./rendezvous_flags.ts";

export interface RendezvousInvocation {
  readonly type: "run";
  readonly address: ListenerAddress;
  readonly tls: TlsFiles | null;
  /** As `ws:` or `wss:`, without a slash at its end. */
  readonly publicUrl: string | null;
  readonly isBehindProxy: boolean;
  readonly tokens: TokenTable;
  readonly reloadTokens: () => Promise<TokenTable>;
  readonly limits: {
    readonly clientsPerExecutor: number;
    readonly connectionsPerToken: number;
    readonly connectionsPerAddress: number;
    readonly requestsPerSecond: number;
  };
  readonly log: { readonly format: LogFormat; readonly level: LogLevel };
}

export async function parseRendezvous(
  argv: readonly string[],
  { env, readTextFile }: { env: Environment; readTextFile: ReadTextFile },
): Promise<RendezvousInvocation | { readonly type: "help" }> {
  const parsed = parseFlags(RENDEZVOUS_FLAGS, argv, env);
  if (parsed.type === "action") return { type: "help" };
  const { values, givenAs, positionals } = parsed;
  refuseSurplus(positionals[0]);

  const listen = listenAddress(values.listen, givenAs.listen ?? "--listen");
  if (listen.type === "stdio") throw refusal("a rendezvous listens at a port or a unix socket, not on stdio");
  const tls = tlsFiles(listen, values, givenAs);
  const isBehindProxy = values["behind-proxy"];
  if (listen.type === "tcp" && tls === null && !isBehindProxy && !isLoopbackAddress(listen.hostname)) {
    throw refusal(
      `refusing to listen on ${listen.hostname} without TLS: tokens could be read on the way; use --listen wss: with ` +
        `--tls-cert and --tls-key, or --behind-proxy if a proxy in front has TLS`,
    );
  }
  const file = values.tokens;
  if (file === null) throw usageError("--tokens PATH is missing: make one with exec-server token create");
  const reloadTokens = () => readTokens(file, givenAs.tokens!, readTextFile);
  return {
    type: "run",
    address: listen,
    tls,
    publicUrl: values["public-url"] === null ? null : websocketUrl(values["public-url"], givenAs["public-url"]!),
    isBehindProxy,
    tokens: await reloadTokens(),
    reloadTokens,
    limits: {
      clientsPerExecutor: values["max-clients-per-executor"],
      connectionsPerToken: values["max-connections-per-token"],
      connectionsPerAddress: values["max-connections-per-address"],
      requestsPerSecond: values["requests-per-second"],
    },
    log: { format: values.log, level: values["log-level"] },
  };
}

const SCHEMES: Readonly<Record<string, string>> = { "http:": "ws:", "ws:": "ws:", "https:": "wss:", "wss:": "wss:" };

function websocketUrl(text: string, writtenAs: string): string {
  const url = URL.parse(text);
  const scheme = SCHEMES[url?.protocol ?? ""];
  const isPlain = url !== null && url.search === "" && url.hash === "" && url.username === "" && url.password === "";
  if (url === null || scheme === undefined || !isPlain) {
    throw refusal(`${writtenAs} ${quoted(text)} is not accepted: write https://HOST, with a port or path if need be`);
  }
  return `${scheme}//${url.host}${url.pathname.replace(/\/+$/, "")}`;
}
