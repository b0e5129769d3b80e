/**
 * Who can connect to a server with given flags: where it listens, whom it lets in, and what is left open.
 *
 * Asks the parts of the server that decide: flags, TLS and the look-up of users. Does not bind the address.
 */

import { messageOf } from "../../errors.ts";
import { silentLogger } from "../../log.ts";
import type { AuthConfig } from "../../transport/door/auth.ts";
import { isLoopbackAddress, parseIpAddress } from "../../transport/listen/ip_address.ts";
import type { ListenAddress } from "../../transport/listen/listen_url.ts";
import { LocalUsers } from "../../transport/door/local_users.ts";
import type { TlsFiles } from "../../transport/tls/tls_files.ts";
import type { ReadTextFile } from "../serve/auth_options.ts";
import { CliError } from "../cli_error.ts";
import type { DoorFlags } from "../serve/door_flags.ts";
import { type Door, doorOptions } from "../serve/door_options.ts";
import type { FlagValues, GivenAs } from "../flags.ts";
import { LiveTls } from "../serve/live_tls.ts";

export interface DoorReport {
  /** Why a server with these flags would not start; then there are no findings. */
  readonly refused: string | null;
  readonly findings: readonly DoorFinding[];
}

export interface DoorFinding {
  readonly name: "address" | "encryption" | "authentication" | "otherUsers" | "webPages" | "confinedProcesses";
  /** Whether nobody can connect this way who was not meant to. */
  readonly isShut: boolean;
  readonly detail: string;
}

type Judgement = Omit<DoorFinding, "name">;

const shut = (detail: string): Judgement => ({ isShut: true, detail });
const open = (detail: string): Judgement => ({ isShut: false, detail });

export async function doorReport(
  values: FlagValues<DoorFlags>,
  givenAs: GivenAs<DoorFlags>,
  readTextFile: ReadTextFile,
): Promise<DoorReport> {
  try {
    const door = await doorOptions(values, givenAs, readTextFile);
    return { refused: null, findings: await findingsOf(door) };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return { refused: error.message, findings: [] };
  }
}

async function findingsOf(door: Door): Promise<DoorFinding[]> {
  const { listen, auth } = door;
  return [
    { name: "address", ...address(listen) },
    { name: "encryption", ...await encryption(door) },
    { name: "authentication", ...authentication(listen, auth) },
    { name: "otherUsers", ...otherUsers(door) },
    { name: "webPages", ...webPages(door) },
    { name: "confinedProcesses", ...confinedProcesses(listen, auth) },
  ];
}

function isOnLoopback(listen: ListenAddress): boolean {
  return listen.type === "tcp" && isLoopbackAddress(listen.hostname);
}

function address(listen: ListenAddress): Judgement {
  switch (listen.type) {
    case "stdio":
      return shut("standard input and output: only the program that starts the server");
    case "unix":
      return shut(`${listen.path}: a socket that only its owner can open`);
    case "tcp": {
      const port = listen.port === 0 ? "a port that the system chooses" : `port ${listen.port}`;
      return isOnLoopback(listen)
        ? shut(`${listen.hostname}, ${port}: this machine only`)
        : open(`${listen.hostname}, ${port}: every machine that can reach it`);
    }
  }
}

async function encryption({ listen, tls }: Door): Promise<Judgement> {
  if (tls !== null) return await describeCertificate(tls);
  if (listen.type !== "tcp" || isOnLoopback(listen)) return shut("none, but nothing leaves this machine");
  return open("none: others on the network can read and change tokens, commands and output");
}

async function describeCertificate(files: TlsFiles): Promise<Judgement> {
  const { layer } = await LiveTls.load(files, silentLogger());
  const { validFrom, validTo } = layer.certificate;
  if (Date.parse(validTo) < Date.now()) return open(`TLS, but the certificate has expired: ${validTo}`);
  if (Date.parse(validFrom) > Date.now()) return open(`TLS, but the certificate is not valid before ${validFrom}`);
  return shut(`TLS, certificate valid to ${validTo}`);
}

function authentication(listen: ListenAddress, auth: AuthConfig): Judgement {
  if (listen.type === "stdio") return shut("none needed");
  switch (auth.type) {
    case "urlToken":
      return shut("a random token in the printed URL, new at every start");
    case "capabilityToken":
      return shut("the token of --ws-token-file or --ws-token-sha256");
    case "tokens":
      return shut("a token of --tokens for each client");
    case "signedBearerToken":
      return shut("tokens signed with the secret of --ws-shared-secret-file");
    case "none":
      if (listen.type === "unix") return shut("none needed: the file's permissions decide");
      return open("none: anyone who can connect runs commands as the server's user");
  }
}

function otherUsers({ listen, auth, allowOtherUsers }: Door): Judgement {
  if (listen.type !== "tcp") return shut("cannot connect");
  if (auth.type !== "none") return shut("need the token");
  if (!isOnLoopback(listen)) return open("served: other machines can reach this address too");
  if (allowOtherUsers) return open("served (--allow-other-users)");
  const obstacle = whyUsersCannotBeTold(listen.hostname);
  if (obstacle !== null) return open(`served: the server cannot tell who connects (${obstacle})`);
  return shut("refused, except root and the server's own user");
}

function webPages({ allowedOrigins }: Door): Judgement {
  if (allowedOrigins.length === 0) return shut("refused");
  return shut(`refused, except those of ${allowedOrigins.join(", ")}, which need the token`);
}

/** Null when the kernel tells which user connects. */
function whyUsersCannotBeTold(hostname: string): string | null {
  try {
    LocalUsers.open(parseIpAddress(hostname)!).close();
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

function confinedProcesses(listen: ListenAddress, auth: AuthConfig): Judgement {
  if (listen.type === "stdio") return shut("cannot connect");
  if (auth.type !== "none") return shut("with network: need the token");
  return open("with network: can connect and run commands without a sandbox");
}
