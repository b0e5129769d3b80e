/**
 * A server that is reached through a rendezvous, for programs that embed one. What remote mode needs (noise, relay,
 * registry) is loaded only here, and only when it is asked for.
 */

import type { KeyPair } from "../remote/noise/keys.ts";
import type { Credential } from "../remote/registry/registry_client.ts";
import type { RemoteSource } from "../remote/executor/remote_source.ts";
import { hostFacts } from "../environment/info.ts";
import { type RunningServer, serveLinks, type ServingOptions } from "./server.ts";

export interface RemoteExecutorConfig extends Omit<ServingOptions, "authenticator"> {
  /** Base URL of the registry. */
  readonly url: string;
  /** Under which id it is registered. */
  readonly id: string;
  /** `noise` is sealed between client and executor; in the `plain` form the rendezvous could read along. */
  readonly transport?: "noise" | "plain";
  /** For lists that people read. */
  readonly name?: string;
  /** Shown to the registry. A function is asked before each call, and can give a new one. */
  readonly token: string | (() => Promise<string>);
  /**
   * Where the key is kept that clients know the executor by, in the noise form. The file is made if there is none, for its
   * owner alone. Without it there is a new key for each start, which clients that remember the old one refuse.
   */
  readonly identityFile?: string;
  /** The key itself, for programs that keep it elsewhere. */
  readonly identity?: KeyPair;
  /** Let tokens and plain JSON-RPC travel in clear beyond this machine. */
  readonly allowInsecure?: boolean;
  readonly pingIntervalMs?: number;
}

/**
 * Registers, connects and serves until it is shut down. Temporary failures are tried again. `finished` rejects with a
 * final one, such as a refused token.
 */
export async function runRemoteExecutor(config: RemoteExecutorConfig): Promise<RunningServer> {
  const { token } = config;
  const credential: Credential = {
    token: typeof token === "string" ? () => Promise.resolve(token) : token,
    isConfidential: false,
  };
  const host = config.host ?? hostFacts();
  const source = await openRemoteSource(config, credential, host.env);
  const server = serveLinks(source, { ...config, host });
  const finished = server.finished.then(() => {
    if (source.failure !== null) throw source.failure;
  });
  return { url: server.url, finished, shutDown: (options) => server.shutDown(options) };
}

/** Where its links come from. Throws `RegistryError` for what cannot work. */
export async function openRemoteSource(
  config: Omit<RemoteExecutorConfig, "token">,
  credential: Credential,
  env: Readonly<Record<string, string>>,
): Promise<RemoteSource> {
  const options = {
    url: config.url,
    id: config.id,
    credential,
    env,
    isInsecureAccepted: config.allowInsecure ?? false,
    ...(config.name === undefined ? {} : { name: config.name }),
    ...(config.clock === undefined ? {} : { clock: config.clock }),
    ...(config.log === undefined ? {} : { log: config.log }),
    ...(config.pingIntervalMs === undefined ? {} : { pingIntervalMs: config.pingIntervalMs }),
  };
  if (config.transport === "plain") {
    const { PlainSource } = await import("../remote/executor/plain_source.ts");
    return new PlainSource(options);
  }
  const { NoiseSource } = await import("../remote/executor/noise_source.ts");
  return new NoiseSource({ ...options, identity: config.identity ?? await openIdentity(config.identityFile) });
}

async function openIdentity(file: string | undefined): Promise<KeyPair> {
  if (file === undefined) return (await import("../remote/noise/keys.ts")).generateKeyPair();
  return await (await import("../remote/executor/identity_file.ts")).loadIdentity(file);
}
