/**
 * The token for the registry: from a variable, from a file that is read each time, or from a pipe that sends a new one
 * whenever it changes. Errors have the reference's texts and never contain the token.
 */

import { messageOf } from "../../errors.ts";
import type { Credential } from "../../remote/registry/registry_client.ts";
import {
  authenticationError,
  configurationFailure,
  RegistryError,
  type RegistryKind,
} from "../../remote/registry/registry_error.ts";

/** Longer than any token. */
const MAX_TOKEN_FILE_BYTES = 64 * 1024;

export function variableCredential(kind: RegistryKind, name: string, value: string | null): Credential {
  const token = value?.trim() ?? null;
  const complain = (what: string) =>
    authenticationError(kind, `${kind} registry bearer token environment variable \`${name}\` is ${what}`);
  if (token === null) throw complain("not set");
  if (token === "") throw complain("empty");
  return { isConfidential: false, token: () => Promise.resolve(token) };
}

/** Read each time. If a file that held a token is empty now, it is being replaced, so trying again may help. */
export function fileCredential(kind: RegistryKind, path: string): Credential {
  const named = `${kind} registry bearer token file ${JSON.stringify(path)}`;
  let hasHeldToken = false;
  const complain = (what: string) => {
    const error = authenticationError(kind, `${named} ${what}`);
    return hasHeldToken ? new RegistryError(error.message, { isFinal: false }) : error;
  };
  return {
    isConfidential: false,
    async token() {
      let text: string;
      try {
        if ((await Deno.stat(path)).size > MAX_TOKEN_FILE_BYTES) throw new Error("too large");
        text = await Deno.readTextFile(path);
      } catch (error) {
        throw complain(`cannot be read: ${messageOf(error)}`);
      }
      if (text.trim() === "") throw complain("is empty");
      hasHeldToken = true;
      return text.trim();
    },
  };
}

interface Frame {
  readonly token: string;
  readonly expiresAt: number;
}

/** Longest line: the longest token that fits into a header, and the JSON around it. */
const MAX_LINE_CHARS = 64 * 1024;

/** Reads lines `{"version":1,"environment_id":…,"token":…,"expires_at":…}` from standard input. */
export class PipeCredential implements Credential {
  readonly isConfidential = true;
  readonly #environmentId: string;
  readonly #nowSeconds: () => number;
  readonly #first = Promise.withResolvers<void>();
  #current: Frame | null = null;

  constructor(environmentId: string, nowSeconds: () => number = () => Date.now() / 1000) {
    this.#environmentId = environmentId;
    this.#nowSeconds = nowSeconds;
    // The first caller that asks for the token gets this error. Without a caller `run` reports it.
    this.#first.promise.catch(() => {});
  }

  /** Waits for the first line. */
  async token(): Promise<string> {
    await this.#first.promise;
    return this.#current!.token;
  }

  /** Resolves at the end of the pipe. Rejects if a line is wrong, or if the pipe ends before the first line. */
  async run(input: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    try {
      let text = "";
      for await (const piece of input.pipeThrough(new TextDecoderStream())) {
        text += piece;
        const lines = text.split("\n");
        text = lines.pop()!;
        if (text.length > MAX_LINE_CHARS || lines.some(({ length }) => length > MAX_LINE_CHARS)) throw invalidFrame();
        for (const line of lines) this.#take(line);
      }
      if (this.#current === null) throw configurationFailure("exec-server executor credential pipe closed");
    } catch (error) {
      this.#first.reject(error);
      throw error;
    }
  }

  #take(line: string): void {
    const frame = parseFrame(line);
    if (frame.environmentId !== this.#environmentId) {
      throw configurationFailure("exec-server executor credential is for a different environment");
    }
    if (frame.expiresAt <= this.#nowSeconds()) throw configurationFailure("exec-server executor credential is expired");
    this.#current = frame;
    this.#first.resolve();
  }
}

const FRAME_KEYS = ["environment_id", "expires_at", "token", "version"];

function parseFrame(line: string): Frame & { environmentId: string } {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(line);
    if (Object.keys(value).sort().join() !== FRAME_KEYS.join()) throw invalidFrame();
  } catch {
    // The parser would quote the line.
    throw invalidFrame();
  }
  const { version, environment_id: environmentId, token, expires_at: expiresAt } = value;
  const isWhole = typeof environmentId === "string" && typeof token === "string" && Number.isSafeInteger(expiresAt);
  if (version !== 1 || !isWhole || token.trim() === "") throw invalidFrame();
  return { environmentId, token: token.trim(), expiresAt: expiresAt as number };
}

function invalidFrame(): RegistryError {
  return configurationFailure("invalid exec-server executor credential frame");
}
