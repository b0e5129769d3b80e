/** Turns errors into messages and exit codes. Only this file knows which error means which code. */

import { AbortedError, ClientError, ServerError } from "../../client/errors.ts";
import { printable } from "../../printable.ts";
import { CliError } from "../cli_error.ts";
import { EXIT } from "./exit_codes.ts";

/** How a command failed. */
export interface Failure {
  /** One line for standard error, without the program's name. */
  readonly message: string;
  readonly exitCode: number;
}

/** The server's messages for a program that cannot be started, by the system's error in them. */
const NOT_FOUND = /not found|no such file|ENOENT/i;
const CANNOT_EXECUTE = /permission denied|EACCES|exec format|ENOEXEC|is a directory|not executable/i;

/** Null: not an expected error. It is a defect, and is thrown again. */
export function failureOf(error: unknown): Failure | null {
  if (error instanceof CliError) return { message: error.message, exitCode: EXIT.ownError };
  if (error instanceof ServerError) return { message: oneLine(error.message), exitCode: serverExitCode(error) };
  if (error instanceof AbortedError) return { message: oneLine(error.message), exitCode: EXIT.ownError };
  if (error instanceof ClientError) return { message: oneLine(error.message), exitCode: clientExitCode(error) };
  return null;
}

function clientExitCode({ kind }: ClientError): number {
  switch (kind) {
    case "refused":
    case "unauthorised":
    case "connectionLost":
    case "sessionExpired":
      return EXIT.noConnection;
    case "timedOut":
      return EXIT.timedOut;
    default:
      return EXIT.ownError;
  }
}

function serverExitCode(error: ServerError): number {
  if (error.method !== "process/start") return EXIT.ownError;
  if (CANNOT_EXECUTE.test(error.message)) return EXIT.cannotExecute;
  return NOT_FOUND.test(error.message) ? EXIT.notFound : EXIT.ownError;
}

function oneLine(text: string): string {
  return printable(text.replaceAll(/\s*\n\s*/g, " "));
}

/** Reports the failure of one of several things, and resolves with the exit code. The others go on. */
export function tellFailure(what: string, error: unknown): number {
  const failure = failureOf(error);
  if (failure === null) throw error;
  // Without a connection nothing else will succeed.
  if (failure.exitCode === EXIT.noConnection) throw error;
  console.error(`exec-server: ${printable(what)}: ${failure.message}`);
  return 1;
}
