/**
 * All errors that the library throws on purpose: one class for each kind, so that callers look at `instanceof` or
 * `kind` and never at texts.
 *
 * Messages say what was attempted, then a colon and what was found. None of them holds a token.
 */

import { ERROR_CODES } from "../protocol/error_codes.ts";

/**
 * What went wrong, as a word. Each is the `kind` of one class.
 *
 * ```ts
 * const worthAnotherTry: ClientErrorKind[] = ["refused", "connectionLost"];
 * await box.run(["true"]).catch((error: ClientError) => console.log(worthAnotherTry.includes(error.kind)));
 * ```
 */
export type ClientErrorKind =
  | "refused"
  | "unauthorised"
  | "protocol"
  | "server"
  | "connectionLost"
  | "sessionExpired"
  | "outputGap"
  | "aborted"
  | "timedOut"
  | "processFailed";

/**
 * The common parent of all errors of this library.
 *
 * ```ts
 * try {
 *   await box.fs.readTextFile("/work/notes.txt");
 * } catch (error) {
 *   if (error instanceof ClientError) console.log(error.kind, error.message);
 * }
 * ```
 */
export abstract class ClientError extends Error {
  /** Which class this is, for `switch`. */
  abstract readonly kind: ClientErrorKind;
}

/**
 * The server could not be reached, or refused the connection for a reason other than the token.
 *
 * ```ts
 * try {
 *   await connect("ws://127.0.0.1:9000");
 * } catch (error) {
 *   if (error instanceof ConnectionRefusedError) console.log("is the server running?", error.message);
 * }
 * ```
 */
export class ConnectionRefusedError extends ClientError {
  /** As in every error. */
  override readonly name = "ConnectionRefusedError";
  /** See {@linkcode ClientErrorKind}. */
  readonly kind = "refused";
}

/**
 * The server asks for a token and did not get one, or not the right one.
 *
 * ```ts
 * try {
 *   await connect("wss://box.example.com", { token: "old" });
 * } catch (error) {
 *   if (error instanceof UnauthorisedError) console.log("log in again:", error.message);
 * }
 * ```
 */
export class UnauthorisedError extends ClientError {
  /** As in every error. */
  override readonly name = "UnauthorisedError";
  /** See {@linkcode ClientErrorKind}. */
  readonly kind = "unauthorised";
}

/**
 * The server sent something that cannot be read. Whether a request took effect is not known.
 *
 * ```ts
 * try {
 *   await box.call("environment/status");
 * } catch (error) {
 *   if (error instanceof ProtocolError) console.log("that is no exec-server:", error.message);
 * }
 * ```
 */
export class ProtocolError extends ClientError {
  /** As in every error. */
  override readonly name: string = "ProtocolError";
  /** See {@linkcode ClientErrorKind}. */
  readonly kind = "protocol";
}

/**
 * The server answered a request with an error.
 *
 * ```ts
 * try {
 *   await box.fs.stat("/work/maybe");
 * } catch (error) {
 *   if (!(error instanceof ServerError && error.isNotFound)) throw error;
 * }
 * ```
 */
export class ServerError extends ClientError {
  /** As in every error. */
  override readonly name = "ServerError";
  /** See {@linkcode ClientErrorKind}. */
  readonly kind = "server";
  /** The wire code: -32600 and the like. */
  readonly code: number;
  /** The method that was called. */
  readonly method: string;

  /** Made from an answer of the server. */
  constructor(method: string, code: number, message: string) {
    super(message);
    this.method = method;
    this.code = code;
  }

  /** Whether a path or handle does not exist. */
  get isNotFound(): boolean {
    return this.code === ERROR_CODES.notFound;
  }
}

/**
 * The connection ended before the answer came. Whether the request took effect is not known.
 *
 * ```ts
 * try {
 *   await box.fs.rename("/work/a", "/work/b");
 * } catch (error) {
 *   if (error instanceof ConnectionLostError) console.log("renamed or not?", await box.fs.exists("/work/b"));
 * }
 * ```
 */
export class ConnectionLostError extends ClientError {
  /** As in every error. */
  override readonly name = "ConnectionLostError";
  /** See {@linkcode ClientErrorKind}. */
  readonly kind = "connectionLost";
}

/**
 * The session is gone, and with it every process that was not kept: the client did not come back in time, or the server
 * restarted.
 *
 * ```ts
 * try {
 *   await handle.status;
 * } catch (error) {
 *   if (error instanceof SessionExpiredError) console.log("start it again on a new connection");
 * }
 * ```
 */
export class SessionExpiredError extends ClientError {
  /** As in every error. */
  override readonly name = "SessionExpiredError";
  /** See {@linkcode ClientErrorKind}. */
  readonly kind = "sessionExpired";
}

/**
 * Output of a process is lost: it was not retained until it could be read.
 *
 * ```ts
 * const log = await box.spawn(["journalctl", "-f"], { output: "latest" });
 * try {
 *   for await (const line of log.stdout.lines()) console.log(line);
 * } catch (error) {
 *   if (error instanceof OutputGapError) console.log(error.droppedBytes, "bytes were not read in time");
 * }
 * ```
 */
export class OutputGapError extends ClientError {
  /** As in every error. */
  override readonly name = "OutputGapError";
  /** See {@linkcode ClientErrorKind}. */
  readonly kind = "outputGap";
  /** How much is missing; null when the server cannot tell. */
  readonly droppedBytes: number | null;
  /** The output after this number is missing. */
  readonly afterSeq: number;

  /** For this library. */
  constructor(message: string, gap: { readonly droppedBytes: number | null; readonly afterSeq: number }) {
    super(message);
    this.droppedBytes = gap.droppedBytes;
    this.afterSeq = gap.afterSeq;
  }
}

/**
 * The caller's signal was aborted, or the box was closed while something waited.
 *
 * ```ts
 * try {
 *   await handle.wait({ signal: AbortSignal.timeout(1000) });
 * } catch (error) {
 *   if (!(error instanceof AbortedError)) throw error; // The process runs on.
 * }
 * ```
 */
export class AbortedError extends ClientError {
  /** As in every error. */
  override readonly name = "AbortedError";
  /** See {@linkcode ClientErrorKind}. */
  readonly kind = "aborted";
}

/**
 * A deadline that the caller gave has passed.
 *
 * ```ts
 * try {
 *   await handle.waitForText("ready", { timeout: "30s" });
 * } catch (error) {
 *   if (error instanceof TimedOutError) await handle.terminate();
 * }
 * ```
 */
export class TimedOutError extends ClientError {
  /** As in every error. */
  override readonly name = "TimedOutError";
  /** See {@linkcode ClientErrorKind}. */
  readonly kind = "timedOut";
}

/**
 * What a failed process left behind.
 *
 * ```ts
 * try {
 *   await box.$`make`;
 * } catch (error) {
 *   const left: FailedProcess | null = error instanceof ProcessFailedError ? error.process : null;
 *   console.log(left?.code, left?.signal);
 * }
 * ```
 */
export interface FailedProcess {
  /** Exit code, 128 and the signal's number where a signal ended it; null when it is not known. */
  readonly code: number | null;
  /** The signal that ended it, where one did. */
  readonly signal: string | null;
  /** What it wrote to standard output, as far as it was collected. */
  readonly stdout: Uint8Array;
  /** What it wrote to standard error, as far as it was collected. */
  readonly stderr: Uint8Array;
}

/**
 * A process exited with a code other than 0, or was ended, although success was required. Has its output.
 *
 * ```ts
 * try {
 *   await box.$`npm test`.cwd("/work");
 * } catch (error) {
 *   if (error instanceof ProcessFailedError) console.log(error.process.code, error.stderr);
 * }
 * ```
 */
export class ProcessFailedError extends ClientError {
  /** As in every error. */
  override readonly name = "ProcessFailedError";
  /** See {@linkcode ClientErrorKind}. */
  readonly kind = "processFailed";
  /** See {@linkcode FailedProcess}. */
  readonly process: FailedProcess;

  /** For this library. */
  constructor(message: string, process: FailedProcess) {
    super(message);
    this.process = process;
  }

  /** Standard output as text. */
  get stdout(): string {
    return new TextDecoder().decode(this.process.stdout);
  }

  /** Standard error as text. */
  get stderr(): string {
    return new TextDecoder().decode(this.process.stderr);
  }
}

/** The reason of an aborted signal as an error of this library. A reason given by the caller is part of the message. */
export function abortedBy({ reason }: AbortSignal, what: string): AbortedError {
  const given = reason instanceof Error && reason.name !== "AbortError" ? `: ${reason.message}` : "";
  return new AbortedError(`${what}: aborted${given}`, { cause: reason });
}
