/** What `--remote` and `forward` share: credential and identity at the start, standard input, signals and exit code. */

import { messageOf } from "../../errors.ts";
import type { RemoteExecutorConfig } from "../../server/remote_executor.ts";
import type { Credential } from "../../remote/registry/registry_client.ts";
import { RegistryError, type RegistryKind } from "../../remote/registry/registry_error.ts";
import type { RemoteSource } from "../../remote/executor/remote_source.ts";
import { defaultIdentityFile } from "../../remote/executor/identity_place.ts";
import type { KeyPair } from "../../remote/noise/keys.ts";
import type { Logger } from "../../log.ts";
import { printable } from "../../printable.ts";
import { refusal } from "../cli_error.ts";
import { onHangUp } from "../hang_up.ts";
import type { LogSink } from "../serve/log_sink.ts";
import { fileCredential, PipeCredential, variableCredential } from "./credentials.ts";
import type { RegistrationOptions } from "./remote_options.ts";

/** The registry has refused, or the options for it are wrong. */
const EXIT_FAILED = 1;

export interface Prepared {
  readonly config: Omit<RemoteExecutorConfig, "token">;
  readonly credential: Credential;
  /** Resolves at the end of standard input; null if it is not read. */
  readonly pipe: (() => Promise<void>) | null;
}

/** Throws `RegistryError` or `CliError` if it cannot work. */
export async function prepareRegistration(
  options: RegistrationOptions,
  env: Readonly<Record<string, string>>,
): Promise<Prepared> {
  const kind: RegistryKind = options.transport === "noise" ? "environment" : "executor";
  const { credential, pipe } = openCredential(kind, options);
  const identity = options.transport === "noise" ? await openIdentity(options.identityFile, env) : null;
  return {
    config: {
      url: options.url,
      id: options.id,
      transport: options.transport,
      allowInsecure: options.isInsecureAccepted,
      ...(options.name === null ? {} : { name: options.name }),
      ...(identity === null ? {} : { identity }),
    },
    credential,
    pipe,
  };
}

function openCredential(kind: RegistryKind, { token, id, exitOnStdinClose }: RegistrationOptions) {
  if (token.type === "stdin") {
    const credential = new PipeCredential(id.trim());
    return { credential, pipe: () => credential.run(Deno.stdin.readable) };
  }
  const credential = token.type === "file"
    ? fileCredential(kind, token.path)
    : variableCredential(kind, token.name, token.value);
  return { credential, pipe: exitOnStdinClose ? discardInput : null };
}

async function discardInput(): Promise<void> {
  const scratch = new Uint8Array(4096);
  while (await Deno.stdin.read(scratch) !== null) { /* What comes means nothing. */ }
}

async function openIdentity(path: string | null, env: Readonly<Record<string, string>>): Promise<KeyPair> {
  const { loadIdentity } = await import("../../remote/executor/identity_file.ts");
  const file = path ?? defaultIdentityFile(env);
  if (file === null) throw refusal("there is no place for the executor's key without HOME: give --identity-file PATH");
  return await loadIdentity(file).catch((error) => {
    throw refusal(printable(messageOf(error)), error);
  });
}

export interface Running {
  readonly source: RemoteSource;
  readonly pipe: (() => Promise<void>) | null;
  readonly finished: Promise<void>;
  shutDown(options: { graceMs?: number }): void;
}

/** Starts, and waits for the end by signal, standard input or failure. Resolves with the exit code. */
export async function runToEnd(
  { sink, log }: { sink: LogSink; log: Logger },
  start: () => Promise<Running>,
): Promise<number> {
  try {
    const { source, pipe, finished, shutDown } = await start();
    let signals = 0;
    // At the first signal processes get their grace period; the second one ends them at once.
    const stop = () => shutDown(signals++ === 0 ? {} : { graceMs: 0 });
    for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, stop);
    // A token file is read before each use anyway.
    onHangUp({ terminalLost: stop, reloads: [], log });
    pipe?.().then(() => shutDown({}), (error) => source.fail(asRegistryError(error)));
    await finished;
    if (source.failure !== null) throw source.failure;
    await sink.drain();
    return 0;
  } catch (error) {
    await sink.drain();
    if (!(error instanceof RegistryError)) throw error;
    // The reference's text: programs may look for it.
    console.error(`Error: ${printable(error.message)}`);
    return EXIT_FAILED;
  }
}

function asRegistryError(error: unknown): RegistryError {
  return error instanceof RegistryError ? error : new RegistryError(String(error), { isFinal: true, cause: error });
}
