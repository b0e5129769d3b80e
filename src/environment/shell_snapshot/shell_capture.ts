/**
 * The state of a login bash after its profile, in a form that other commands can start from.
 *
 * A state is used only if it is proven: a fresh shell that restores it must have exactly the captured state.
 */

import { type Clock } from "../../clock.ts";
import { isOwnCredential } from "../../launch/own_credentials.ts";
import { shellQuote } from "../../shell_quote.ts";
import { dumpScript, endOfState, parseState, type Restoration, restoration, sameState } from "./bash_state.ts";
import {
  MAX_SHELL_CAPTURE_BYTES,
  MAX_SHELL_COMMAND_BYTES,
  MAX_SHELL_SCRIPT_BYTES,
  MAX_SHELL_STATE_BYTES,
  MAX_SHELL_STATE_VARIABLE_BYTES,
  SHELL_CAPTURE_TIMEOUT_MS,
} from "../limits.ts";

type Environment = Readonly<Record<string, string>>;

export interface ShellCommand {
  readonly argv: readonly string[];
  readonly env: Environment;
}

/**
 * Runs a command where and how the snapshot's commands run, with nothing on its standard input. Resolves when the
 * command itself has ended; what it has started may live on. Rejects when it cannot be started. When the signal is
 * aborted, the command and everything it has started must be ended.
 */
export type RunShell = (
  command: ShellCommand,
  output: (bytes: Uint8Array) => void,
  signal: AbortSignal,
) => Promise<void>;

/** Why there is no snapshot. */
export class CaptureError extends Error {
  override readonly name = "CaptureError";
}

const STATE_VARIABLE = "__exec_server_state_";

const SESSION_ENDED = "the session has ended";

const RETURN = 0x0d;
const NEWLINE = 0x0a;

export interface CaptureOptions {
  readonly shellPath: string;
  readonly env: Environment;
  /** Names in `env` whose values differ for the next command. */
  readonly changingVariables: readonly string[];
  readonly isTerminal: boolean;
  readonly run: RunShell;
  readonly clock: Clock;
  /** Ends the capture. */
  readonly signal: AbortSignal;
}

export class ShellSnapshot {
  readonly #expandsAliases: boolean;
  readonly #stateVariables: ReadonlyMap<string, string>;
  /** What the changed variables were when the profile saw them. */
  readonly #assumed: ReadonlyMap<string, string | undefined>;

  private constructor(restored: Restoration, stateVariables: ReadonlyMap<string, string>, env: Environment) {
    this.#expandsAliases = restored.expandsAliases;
    this.#stateVariables = stateVariables;
    this.#assumed = new Map(restored.changedVariables.map((name) => [name, valueOf(env, name)]));
  }

  /**
   * @throws {CaptureError} when there is no state to be had, or it cannot be restored
   */
  static async capture(options: CaptureOptions): Promise<ShellSnapshot> {
    const { shellPath, changingVariables } = options;
    const nonce = crypto.randomUUID();
    // If this appears in the state, the state depends on values that change with each command.
    const anyValue = crypto.randomUUID();
    const env = { ...options.env, ...Object.fromEntries(changingVariables.map((name) => [name, anyValue])) };

    const output = await outputOf(captureCommand(shellPath, env, nonce), nonce, options);
    const before = parseState(output, `${nonce}-0`);
    const after = parseState(output, nonce);
    if (before === null || after === null) throw new CaptureError("the shell did not report its state");
    // A state is kept, but a credential that a profile sets must not be.
    if ([...after.variables.keys()].some(isOwnCredential)) {
      throw new CaptureError("the profile sets a credential of the server");
    }
    const restored = restoration(before, after);
    if (typeof restored === "string") throw new CaptureError(restored);
    if (restored.script.includes(anyValue)) {
      throw new CaptureError("the profile reads values that change with each command");
    }
    const snapshot = new ShellSnapshot(restored, stateVariables(restored.script), env);

    const check = snapshot.apply({ argv: [shellPath, "-lc", dumpScript(nonce)], env });
    if (check === null) throw new CaptureError("the environment is too large");
    const proven = parseState(await outputOf(check, nonce, options), nonce);
    if (proven === null || !sameState(proven, after)) throw new CaptureError("the state cannot be restored exactly");
    return snapshot;
  }

  /** What it takes in memory, about. */
  get allocatedBytes(): number {
    const texts = [...this.#stateVariables, ...this.#assumed].flat();
    return texts.reduce((sum, text) => sum + 2 * (text?.length ?? 0), 0);
  }

  /**
   * The command that does the same without the profile; null when the profile could act differently for it, or the
   * state does not fit beside it.
   */
  apply({ argv: [shellPath, _flags, script], env }: ShellCommand): ShellCommand | null {
    for (const [name, value] of this.#assumed) if (valueOf(env, name) !== value) return null;
    const names = [...this.#stateVariables.keys()].map((name) => `$${name}`).join("");
    // On the script's own first line, so that error messages name the right lines; unless aliases must be known by
    // then.
    const separator = this.#expandsAliases ? "\n" : " ";
    const restoringScript = `eval "${names}";${separator}${script}`;
    if (!this.#fits(restoringScript, env)) return null;
    return {
      // Still a login shell, only without the profile: it also ends like one.
      argv: [shellPath!, "--noprofile", "-lc", restoringScript],
      env: { ...withoutBashEnv(env), ...Object.fromEntries(this.#stateVariables) },
    };
  }

  /** Whether the kernel will accept all of it, as certainly as without the state. */
  #fits(script: string, env: Environment): boolean {
    if (maxBytesOf(script) > MAX_SHELL_SCRIPT_BYTES) return false;
    const variables = Object.entries(env).reduce((sum, [name, value]) => sum + maxBytesOf(name) + maxBytesOf(value), 0);
    return MAX_SHELL_STATE_BYTES + maxBytesOf(script) + variables <= MAX_SHELL_COMMAND_BYTES;
  }
}

/** At most this many bytes in UTF-8. */
function maxBytesOf(text: string): number {
  return 3 * text.length;
}

/** A shell like the one that will restore the state writes its own, then becomes the one whose state is wanted. */
function captureCommand(shellPath: string, env: Environment, nonce: string): ShellCommand {
  const bashEnv = env.BASH_ENV === undefined ? "" : `BASH_ENV=${shellQuote(env.BASH_ENV)} `;
  const script = [
    dumpScript(`${nonce}-0`),
    `${bashEnv}\\builtin exec ${shellQuote(shellPath)} -lc ${shellQuote(dumpScript(nonce))}`,
  ].join("\n");
  return { argv: [shellPath, "--noprofile", "-lc", script], env: withoutBashEnv(env) };
}

/**
 * The file it names has been run for the state; a shell that restores the state must not run it again. The state sets
 * the variable.
 */
function withoutBashEnv({ BASH_ENV: _bashEnv, ...env }: Environment): Environment {
  return env;
}

/** The state as variables of an environment, which the state's own first command takes away again. */
function stateVariables(script: string): Map<string, string> {
  const size = new TextEncoder().encode(script).length;
  if (size > MAX_SHELL_STATE_BYTES) throw new CaptureError(`the state has more than ${MAX_SHELL_STATE_BYTES} bytes`);
  const pieces = splitBytes(script, MAX_SHELL_STATE_VARIABLE_BYTES);
  const names = pieces.map((_, at) => `${STATE_VARIABLE}${at}`);
  return new Map([
    [`${STATE_VARIABLE}first`, `unset -v ${STATE_VARIABLE}first ${names.join(" ")}\n`],
    ...pieces.map((piece, at): [string, string] => [names[at]!, piece]),
  ]);
}

/** Pieces of at most this many bytes, cut between characters. */
function splitBytes(text: string, maxBytes: number): string[] {
  const bytes = new TextEncoder().encode(text);
  const pieces: string[] = [];
  for (let start = 0; start < bytes.length;) {
    let end = Math.min(start + maxBytes, bytes.length);
    while (end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end--;
    pieces.push(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(start, end)));
    start = end;
  }
  return pieces;
}

function valueOf(env: Environment, name: string): string | undefined {
  return Object.hasOwn(env, name) ? env[name] : undefined;
}

/** What a shell writes until its state is complete, or it ends; within bounds. */
async function outputOf(
  command: ShellCommand,
  nonce: string,
  { run, clock, signal, isTerminal }: CaptureOptions,
): Promise<Uint8Array> {
  if (signal.aborted) throw new CaptureError(SESSION_ENDED);
  const controller = new AbortController();
  const { promise: complete, resolve } = Promise.withResolvers<void>();
  const { promise: failed, reject } = Promise.withResolvers<never>();
  const giveUp = (reason: string): void => {
    controller.abort();
    reject(new CaptureError(reason));
  };
  const cancelTimer = clock.setTimer(SHELL_CAPTURE_TIMEOUT_MS, () => giveUp("the profile takes too long"));
  const cancel = (): void => giveUp(SESSION_ENDED);
  signal.addEventListener("abort", cancel);
  const output = new ShellOutput(endOfState(nonce));
  const take = (bytes: Uint8Array): void => {
    if (output.hasEnd) return;
    output.add(bytes);
    // Processes of the profile may hold the output open: the end of the state is the end.
    if (output.hasEnd) resolve();
    else if (output.size > MAX_SHELL_CAPTURE_BYTES) {
      giveUp(`the shell writes more than ${MAX_SHELL_CAPTURE_BYTES} bytes`);
    }
  };
  const ended = run(command, take, controller.signal).catch((error) => {
    throw new CaptureError("the shell cannot be run", { cause: error });
  });
  try {
    await Promise.race([complete, failed, ended]);
    return isTerminal ? withoutReturns(output.bytes()) : output.bytes();
  } finally {
    cancelTimer();
    signal.removeEventListener("abort", cancel);
    // Both may still fail, and nobody waits for them any more.
    failed.catch(() => {});
    ended.catch(() => {});
  }
}

/** A terminal puts a return before every newline; apart from that it is what was written. */
function withoutReturns(bytes: Uint8Array): Uint8Array {
  return bytes.filter((byte, at) => !(byte === RETURN && bytes[at + 1] === NEWLINE));
}

class ShellOutput {
  size = 0;
  hasEnd = false;
  readonly #end: string;
  readonly #pieces: Uint8Array[] = [];
  /** The last characters, in which the end mark may have begun. */
  #tail = "";

  constructor(end: string) {
    this.#end = end;
  }

  add(bytes: Uint8Array): void {
    this.#pieces.push(bytes.slice());
    this.size += bytes.length;
    // The end mark is ASCII, so the rest may be decoded in any way.
    const recent = this.#tail + new TextDecoder("ascii").decode(bytes);
    this.hasEnd ||= recent.includes(this.#end);
    this.#tail = recent.slice(-this.#end.length);
  }

  bytes(): Uint8Array {
    const whole = new Uint8Array(this.size);
    let at = 0;
    for (const piece of this.#pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }
}
