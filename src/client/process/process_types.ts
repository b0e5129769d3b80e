/** Options and results of a process handle. */

import type { Duration } from "../duration.ts";

/**
 * A process in a form that can be stored and sent. `box.process(reference)` gives the handle back.
 *
 * ```ts
 * const saved = JSON.stringify(handle);
 * const reference: ProcessReference = JSON.parse(saved);
 * console.log(await box.process(reference).status);
 * ```
 */
export interface ProcessReference {
  /** Its id in the session that started it. */
  readonly processId: string;
  /** Its name in the whole server; null where the server has none. */
  readonly uid: string | null;
  /** The session that started it. */
  readonly sessionId: string;
  /** Whether it runs on a terminal. */
  readonly tty: boolean;
  /** Whether its input can be written. */
  readonly stdin: boolean;
  /** The number of the last event that was read: reading goes on after it. */
  readonly afterSeq: number;
}

/**
 * The first and the last part of what a process has written so far.
 *
 * ```ts
 * const { stdout, truncated }: ProcessSnapshot = await handle.snapshot();
 * console.log(new TextDecoder().decode(stdout), truncated);
 * ```
 */
export interface ProcessSnapshot {
  /** Of standard output. */
  readonly stdout: Uint8Array<ArrayBuffer>;
  /** Of standard error. */
  readonly stderr: Uint8Array<ArrayBuffer>;
  /** Of the terminal, if the process has one. */
  readonly terminal: Uint8Array<ArrayBuffer>;
  /** Whether something between the two parts is missing. */
  readonly truncated: boolean;
  /** Whether it has not exited yet. */
  readonly running: boolean;
  /** Null while it runs. */
  readonly exitCode: number | null;
}

/**
 * How long to wait for a process, and for which end.
 *
 * ```ts
 * const options: WaitOptions = { until: "closed", timeout: "5m" };
 * console.log((await handle.wait(options)).code);
 * ```
 */
export interface WaitOptions {
  /** `exited`: the process itself (default). `closed`: also all its output, which descendants may still write. */
  readonly until?: "exited" | "closed" | undefined;
  /** Gives up waiting with a `TimedOutError`. The process runs on. */
  readonly timeout?: Duration | undefined;
  /** Gives up waiting. The process runs on. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * How output is collected.
 *
 * ```ts
 * const options: CollectOptions = { maxBytes: 100_000 };
 * console.log((await handle.communicate("input", options)).stdoutText);
 * ```
 */
export interface CollectOptions {
  /** How much of each stream is kept: half from the beginning, half from the end. 16 MiB unless given. */
  readonly maxBytes?: number | undefined;
  /** Gives up waiting. The process runs on. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * What a process uses, together with its descendants. Null: it has ended, or the server cannot tell.
 *
 * ```ts
 * for (const { argv, details } of await box.processes({ details: true })) {
 *   const used: ProcessDetails | undefined = details;
 *   console.log(argv[0], used?.memoryBytes, used?.ports.map(({ port }) => port));
 * }
 * ```
 */
export interface ProcessDetails {
  /** Since 1970, as the next one. */
  readonly startedAtMs: number;
  /** Null: it has written nothing. */
  readonly lastOutputAtMs: number | null;
  /** Time of the processor. */
  readonly cpuMs: number | null;
  /** Resident memory. */
  readonly memoryBytes: number | null;
  /** How many processes of the operating system. */
  readonly processCount: number | null;
  /** TCP ports on which one of them listens. */
  readonly ports: readonly { readonly address: string; readonly port: number; readonly pid: number }[];
}

/**
 * A process as the server lists it.
 *
 * ```ts
 * const running: ProcessInfo[] = (await box.processes()).filter(({ exited }) => !exited);
 * for (const { pid, argv } of running) console.log(pid, argv.join(" "));
 * ```
 */
export interface ProcessInfo {
  /** Its id in the session that started it. */
  readonly processId: string;
  /** Its name in the whole server. */
  readonly uid: string;
  /** Its name for people; null where it has none. */
  readonly name?: string | null;
  /** The operating system's number; null while it is being started. */
  readonly pid: number | null;
  /** Its words. */
  readonly argv: readonly string[];
  /** Where it runs: a URI. */
  readonly cwd: string;
  /** Whether it runs on a terminal. */
  readonly tty: boolean;
  /** Since it was asked for. */
  readonly ageMs: number;
  /** Whether it has exited. */
  readonly exited: boolean;
  /** Null while it runs. */
  readonly exitCode: number | null;
  /** Whether all its output has come. */
  readonly closed: boolean;
  /** The number that its next event will have. */
  readonly nextSeq: number;
  /** Whether it has outlived its session. */
  readonly kept: boolean;
  /** Whether it will outlive its session, or has. */
  readonly keepOnSessionEnd: boolean;
  /** Whether this session started it. */
  readonly own: boolean;
  /** What it uses, together with its descendants. Only if it was asked for. */
  readonly details?: ProcessDetails;
  /** What becomes of output that nobody has read. */
  readonly output?: "latest" | "acknowledged";
  /** How much output is held for its reader. */
  readonly unacknowledgedBytes?: number;
  /** Whether it has to wait until its output is read. */
  readonly waitsForAck?: boolean;
}
