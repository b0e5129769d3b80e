/** The first messages on a new link: `initialize`, its answer, `initialized`. */

import type { EnvironmentInfo } from "../../protocol/environment.ts";
import { ERROR_CODES } from "../../protocol/error_codes.ts";
import { ProtocolError, ServerError, SessionExpiredError } from "../errors.ts";

/** Who connects, and to which session. */
export interface HandshakeOptions {
  readonly clientName: string;
  /** Null: a new session. */
  readonly resumeSessionId: string | null;
  /** How long the session is to wait for its client when the connection is lost. Null: the server's default. */
  readonly detachTtlMs: number | null;
}

/** The server's answer, with defaults for what older servers leave out. */
export interface Welcome {
  readonly sessionId: string;
  readonly environmentInfo: EnvironmentInfo;
  /** How long the session waits for its client. */
  readonly detachTtlMs: number;
}

/** For servers that do not say how long: the reference's value. */
const DEFAULT_DETACH_TTL_MS = 30_000;

/** Additions to results that this library uses. Servers ignore names they do not know. */
const OPTIONAL_FIELDS = [
  "processEndReason",
  "networkDenials",
  "processUid",
  "processName",
  "outputGap",
  "processFailure",
  "acknowledgedOutput",
  "detachTtlMs",
];

/** The parameters of `initialize`. */
export function initializeParams(options: HandshakeOptions): Record<string, unknown> {
  const { clientName, resumeSessionId, detachTtlMs } = options;
  return {
    clientName,
    resumeSessionId,
    // The server may not have noticed yet that the old connection is lost.
    ...(resumeSessionId === null ? {} : { takeover: true }),
    ...(detachTtlMs === null ? {} : { detachTtlMs }),
    optionalFields: OPTIONAL_FIELDS,
  };
}

/** @throws {ProtocolError} when the answer has no session */
export function readWelcome(result: unknown): Welcome {
  const { sessionId, environmentInfo, detachTtlMs } = (result ?? {}) as Partial<Welcome>;
  if (typeof sessionId !== "string") {
    throw new ProtocolError("cannot open a session: the server's answer to initialize has no sessionId");
  }
  const given = (environmentInfo ?? {}) as Partial<EnvironmentInfo>;
  return {
    sessionId,
    environmentInfo: {
      ...given,
      shell: given.shell ?? { name: "sh", path: "/bin/sh" },
      executorVersion: given.executorVersion ?? "",
      cwd: given.cwd ?? null,
      userHomeDir: given.userHomeDir ?? null,
      platformOs: given.platformOs ?? "",
      prependPathDirs: given.prependPathDirs ?? [],
      temporaryDirectories: given.temporaryDirectories ?? [],
      tempDir: given.tempDir ?? "file:///tmp",
      capabilities: given.capabilities ?? {},
      sandbox: given.sandbox ?? { setting: "auto" },
    },
    detachTtlMs: typeof detachTtlMs === "number" ? detachTtlMs : DEFAULT_DETACH_TTL_MS,
  };
}

/**
 * The error that a refused `initialize` stands for. -32010, a session that another client holds, is worth another try.
 */
export function handshakeError(error: ServerError, { resumeSessionId }: HandshakeOptions): Error {
  if (
    resumeSessionId === null || error.code !== ERROR_CODES.invalidRequest || !/unknown session/i.test(error.message)
  ) {
    return error;
  }
  return new SessionExpiredError(`cannot resume the session: ${error.message}`, { cause: error });
}
