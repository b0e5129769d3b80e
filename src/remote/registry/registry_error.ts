/**
 * The errors of the registry, with the reference's texts, and whether trying again may help.
 *
 * Messages never hold the token. Bodies of refusals are quoted in part, unless the caller's credential forbids it.
 */

import { messageOf } from "../../errors.ts";

/** `executor` speaks the seed form, `environment` the noise form: the words differ in this. */
export type RegistryKind = "executor" | "environment";

export class RegistryError extends Error {
  override readonly name = "RegistryError";
  /** Trying again cannot help: the operator has to change something. */
  readonly isFinal: boolean;

  constructor(message: string, { isFinal, cause }: { isFinal: boolean; cause?: unknown }) {
    super(message, { cause });
    this.isFinal = isFinal;
  }
}

/** How much of a body an error message quotes. */
const MAX_QUOTED_CHARS = 4096;

/** Statuses that may pass: too slow, too early, too many, and failures of servers and proxies (5xx). */
const PASSING_CLIENT_ERRORS: readonly number[] = [408, 425, 429];

/** A final error with its own text. */
export function configurationFailure(message: string): RegistryError {
  return new RegistryError(message, { isFinal: true });
}

export function configurationError(kind: RegistryKind, what: string): RegistryError {
  return new RegistryError(`${kind} registry configuration error: ${what}`, { isFinal: true });
}

export function authenticationError(kind: RegistryKind, what: string): RegistryError {
  return new RegistryError(`${kind} registry authentication error: ${what}`, { isFinal: true });
}

/** The registry could not be reached. */
export function unreachable(kind: RegistryKind, cause: unknown): RegistryError {
  const reason = messageOf(cause);
  return new RegistryError(`${kind} registry request failed: error sending request: ${reason}`, {
    isFinal: false,
    cause,
  });
}

/** The registry's answer is malformed. */
export function badAnswer(kind: RegistryKind, reason: string): RegistryError {
  return new RegistryError(`${kind} registry request failed: error decoding response body: ${reason}`, {
    isFinal: true,
  });
}

/** The registry refused. */
export function refusedBy(
  kind: RegistryKind,
  status: number,
  body: string,
  { mayQuote }: { mayQuote: boolean },
): RegistryError {
  const line = statusLine(status);
  const { code, message } = mayQuote ? errorIn(body) : { code: null, message: "response body omitted" };
  if (status === 401 || status === 403) {
    const words = message ?? "empty error body";
    return authenticationError(kind, `${kind} registry authentication failed (${line}): ${words}`);
  }
  const isFinal = status < 500 && !PASSING_CLIENT_ERRORS.includes(status);
  const words = message ?? "empty or malformed error body";
  const details = code === null ? line : `${line}, ${code}`;
  return new RegistryError(`${kind} registry request failed (${details}): ${words}`, { isFinal });
}

/** `{"error":{"code","message"}}`, the same under `detail`, or the body itself. */
function errorIn(body: string): { code: string | null; message: string | null } {
  const quoted = (text: string) => text.slice(0, MAX_QUOTED_CHARS);
  try {
    const value = JSON.parse(body) as { error?: unknown; detail?: unknown } | null;
    const error = (value?.error ?? value?.detail) as { code?: unknown; message?: unknown } | null | undefined;
    if (typeof error?.message === "string") {
      return { code: typeof error.code === "string" ? quoted(error.code) : null, message: quoted(error.message) };
    }
  } catch {
    // Not JSON: then the text itself is the message.
  }
  return { code: null, message: body.trim() === "" ? null : quoted(body.trim()) };
}

const PHRASES: Readonly<Record<number, string>> = {
  301: "Moved Permanently",
  302: "Found",
  307: "Temporary Redirect",
  308: "Permanent Redirect",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  410: "Gone",
  413: "Payload Too Large",
  422: "Unprocessable Entity",
  429: "Too Many Requests",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

function statusLine(status: number): string {
  const phrase = PHRASES[status];
  return phrase === undefined ? String(status) : `${status} ${phrase}`;
}
