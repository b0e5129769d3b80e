/**
 * The calls an executor makes to its registry: `register` in both forms, and `validate` for each harness that knocks.
 *
 * Answers are read strictly and within bounds; redirects are not followed. Errors are `RegistryError`s with the
 * reference's texts, and never contain the token.
 */

import type { Clock } from "../../clock.ts";
import type { Dialer } from "../../http/dialer.ts";
import { isObject } from "../../json_object.ts";
import { VERSION } from "../../version.ts";
import { encodePublicKey, type PublicKey } from "../noise/keys.ts";
import { SECURITY_PROFILE } from "../noise/suite.ts";
import { postJson } from "./post_json.ts";
import {
  authenticationError,
  badAnswer,
  configurationFailure,
  refusedBy,
  type RegistryKind,
  unreachable,
} from "./registry_error.ts";
import { isThisMachine, type RegistryAddress, registryCall } from "./registry_url.ts";

/** The source of the token, which may change while the executor runs. */
export interface Credential {
  /** The present token. Rejects with `RegistryError` if there is none. */
  token(): Promise<string>;
  /** Whether answers must not be quoted, because they could contain the token. */
  readonly isConfidential: boolean;
}

export interface RegistryClientOptions {
  readonly address: RegistryAddress;
  readonly credential: Credential;
  readonly dialer: Dialer;
  readonly clock: Clock;
  /** Whether websockets without TLS beyond this machine are accepted. */
  readonly isInsecureAccepted: boolean;
  readonly timeoutMs?: number;
}

/** The registry's answer. The URL is a credential. */
export interface Registration {
  readonly registrationId: string;
  readonly url: string;
  /** How many idle websockets the rendezvous asks for in the plain form. Null: it did not say. */
  readonly spareConnections: number | null;
  /** How much of one stream of the noise form may be unacknowledged. Null: the rendezvous acknowledges nothing. */
  readonly streamWindowBytes: number | null;
}

/** For register and validate. The reference's value. */
const REGISTRY_TIMEOUT_MS = 10_000;

/** The most spare websockets: more than any rendezvous asks for, and far from using up descriptors. */
const MAX_SPARE_CONNECTIONS = 16;

/**
 * The bounds of a stream's window. A batch of records must fit, and a stream should not hold more than its own buffers.
 */
const MIN_STREAM_WINDOW_BYTES = 512 * 1024;
const MAX_STREAM_WINDOW_BYTES = 64 * 1024 * 1024;

/** The default name in the seed form. */
export const DEFAULT_NAME = "codex-exec-server";

export class RegistryClient {
  readonly #options: RegistryClientOptions;
  readonly #kind: RegistryKind;

  constructor(options: RegistryClientOptions) {
    this.#options = options;
    this.#kind = options.address.kind;
  }

  /** Registers an executor of the seed form. `idempotencyId` is the same for all registrations of one process. */
  async registerPlain(idempotencyId: string, name: string, signal: AbortSignal): Promise<Registration> {
    const { id } = this.#options.address;
    const body = { idempotency_id: idempotencyId, executor_id: id, name, labels: {}, metadata: { version: VERSION } };
    const answer = await this.#call("register", body, signal);
    this.#text(answer, "executor_id");
    return {
      registrationId: this.#text(answer, "id"),
      url: this.#websocketUrl(answer),
      spareConnections: this.#spareConnections(answer),
      streamWindowBytes: null,
    };
  }

  /**
   * Registers an executor of the noise form under its key. Name and version are for people; `streamAcks` says that it
   * understands a rendezvous that acknowledges what it has passed on.
   */
  async registerNoise(
    key: PublicKey,
    about: { readonly name: string | undefined; readonly version: string },
    signal: AbortSignal,
  ): Promise<Registration> {
    const body = {
      security_profile: SECURITY_PROFILE,
      executor_public_key: encodePublicKey(key),
      ...about,
      streamAcks: true,
    };
    const answer = await this.#call("register", body, signal);
    if (this.#text(answer, "environment_id") !== this.#options.address.id) {
      throw configurationFailure("environment registry returned a different environment id");
    }
    const profile = this.#text(answer, "security_profile");
    if (profile !== SECURITY_PROFILE) {
      throw configurationFailure(
        `environment registry returned unsupported security profile \`${profile.slice(0, 80)}\``,
      );
    }
    return {
      registrationId: this.#text(answer, "executor_registration_id"),
      url: this.#websocketUrl(answer),
      spareConnections: null,
      streamWindowBytes: this.#streamWindowBytes(answer),
    };
  }

  /** Whether the authorization of this harness comes from the registry. */
  async validate(
    { registrationId, harness, authorization, streamId }: {
      registrationId: string;
      harness: PublicKey;
      authorization: string;
      streamId: string;
    },
    signal: AbortSignal,
  ): Promise<boolean> {
    const body = {
      executor_registration_id: registrationId,
      harness_public_key: encodePublicKey(harness),
      harness_key_authorization: authorization,
    };
    const headers = { "x-codex-noise-stream-id": headerSafe(streamId) };
    const { valid } = await this.#call("validate", body, signal, headers);
    return valid === true;
  }

  async #call(
    verb: "register" | "validate",
    body: unknown,
    signal: AbortSignal,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Record<string, unknown>> {
    const { address, credential, clock, dialer, timeoutMs = REGISTRY_TIMEOUT_MS } = this.#options;
    const token = await credential.token();
    if (!/^[\x21-\x7e]+$/.test(token)) {
      const what = `${this.#kind} registry bearer token has characters that no header can carry`;
      throw authenticationError(this.#kind, what);
    }
    const { status, text } = await postJson(body, {
      url: registryCall(address, verb),
      headers: { authorization: `Bearer ${token}`, ...headers },
      clock,
      dialer,
      timeoutMs,
      signal,
    }).catch((error) => {
      signal.throwIfAborted();
      throw unreachable(this.#kind, error);
    });
    if (status < 200 || status > 299) {
      throw refusedBy(this.#kind, status, text, { mayQuote: !credential.isConfidential && !text.includes(token) });
    }
    if (text.includes(token)) throw configurationFailure("invalid environment registry executor registration response");
    return this.#object(text);
  }

  #object(text: string): Record<string, unknown> {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      // The parser would quote the answer.
      throw badAnswer(this.#kind, "the answer is not JSON");
    }
    if (!isObject(value)) {
      throw badAnswer(this.#kind, "the answer is not an object");
    }
    return value;
  }

  #text(answer: Record<string, unknown>, name: string): string {
    const value = answer[name];
    if (value === undefined) throw badAnswer(this.#kind, `missing field \`${name}\``);
    if (typeof value !== "string") throw badAnswer(this.#kind, `field \`${name}\` is not a text`);
    return value;
  }

  #websocketUrl(answer: Record<string, unknown>): string {
    const text = this.#text(answer, "url");
    const url = URL.parse(text);
    if (url === null || (url.protocol !== "ws:" && url.protocol !== "wss:")) {
      throw badAnswer(this.#kind, "field `url` is not a ws:// or wss:// URL");
    }
    const isClear = url.protocol === "ws:" && !isThisMachine(url.hostname);
    if (isClear && !this.#options.isInsecureAccepted) {
      throw configurationFailure("remote transport requires wss for non-loopback endpoints");
    }
    return text;
  }

  #spareConnections(answer: Record<string, unknown>): number | null {
    const { spareConnections } = answer;
    if (spareConnections === undefined) return null;
    if (!Number.isInteger(spareConnections) || (spareConnections as number) < 1) {
      throw badAnswer(this.#kind, "field `spareConnections` is not a positive whole number");
    }
    return Math.min(spareConnections as number, MAX_SPARE_CONNECTIONS);
  }

  #streamWindowBytes(answer: Record<string, unknown>): number | null {
    const { streamWindowBytes } = answer;
    if (streamWindowBytes === undefined) return null;
    if (!Number.isInteger(streamWindowBytes) || (streamWindowBytes as number) < MIN_STREAM_WINDOW_BYTES) {
      throw badAnswer(this.#kind, `field \`streamWindowBytes\` is not a number of at least ${MIN_STREAM_WINDOW_BYTES}`);
    }
    return Math.min(streamWindowBytes as number, MAX_STREAM_WINDOW_BYTES);
  }
}

/** A stream id can be any text, but a header cannot. */
function headerSafe(value: string): string {
  // deno-lint-ignore no-control-regex
  return value.replace(/[\x00-\x1f\x7f]/g, "?");
}
