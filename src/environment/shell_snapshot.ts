/**
 * `shellSnapshot` of `process/start`: commands of a login bash that start from a kept state instead of running the profile
 * each time.
 *
 * A command that starts from a state sees what it would have seen after the profile, and nothing of other scopes. Where
 * that cannot be had (another shell, a terminal, a profile with traps, a failed capture) the command runs as it was
 * given. A state is captured again when the files it comes from have changed.
 */

import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import type { ShellSnapshotParam } from "../protocol/shell_snapshot.ts";
import { MAX_CAPTURES_PER_PLACE, MAX_SHELL_SNAPSHOTS, SHELL_CAPTURE_RETRY_MS } from "./limits.ts";
import { CaptureError, type RunShell, type ShellCommand, ShellSnapshot } from "./shell_capture.ts";

export type { RunShell, ShellCommand } from "./shell_capture.ts";

export interface SnapshotRequest extends ShellCommand {
  readonly snapshot: ShellSnapshotParam;
  /** As text, so that two ways of writing it are two places. */
  readonly cwd: string;
  readonly sandbox: unknown;
  /** A profile may look at the terminal, and do something else for each. */
  readonly isTerminal: boolean;
}

export interface ShellSnapshotsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Something that changes with a file; null when there is none. Default: identity, size and time of change. */
  readonly stampOf?: (path: string) => string | null;
}

/** New with every command by design, so that no profile depends on them. */
const PER_COMMAND_VARIABLE = /^(?:CODEX_.*|TRACEPARENT|TRACESTATE)$/;

const SYSTEM_STARTUP_FILES = ["/etc/profile", "/etc/profile.d", "/etc/bash.bashrc", "/etc/bashrc"];
const HOME_STARTUP_FILES = [".bash_profile", ".bash_login", ".profile", ".bashrc"];

interface Entry {
  /** Null: there is none, until `retryAt`. */
  readonly snapshot: Promise<ShellSnapshot | null>;
  readonly stamps: string;
  readonly retryAt: number;
}

/** The kept states of one session. */
export class ShellSnapshots {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #stampOf: (path: string) => string | null;
  /** The least recently used first. */
  readonly #entries = new Map<string, Entry>();
  readonly #captures = new Map<string, number>();

  constructor({ clock, log, stampOf = fileStamp }: ShellSnapshotsOptions) {
    this.#clock = clock;
    this.#log = log;
    this.#stampOf = stampOf;
  }

  /** The command to run instead; the given one where there is nothing to gain. Never rejects. */
  async prepare(request: SnapshotRequest, run: RunShell): Promise<ShellCommand> {
    const { argv, env, snapshot: { shell } } = request;
    const isLoginBash = shell.name === "bash" && argv[0] === shell.path && argv[1] === "-lc" && argv.length >= 3;
    if (!isLoginBash || request.isTerminal) return { argv, env };
    const snapshot = await this.#snapshotFor(request, run);
    return snapshot?.apply({ argv, env }) ?? { argv, env };
  }

  #snapshotFor(request: SnapshotRequest, run: RunShell): Promise<ShellSnapshot | null> {
    const place = placeOf(request);
    const key = `${place}\n${variablesOf(request.env)}`;
    const stamps = this.#stampsFor(request.env);
    const known = this.#entries.get(key);
    this.#entries.delete(key);
    if (known !== undefined && known.stamps === stamps && this.#clock.now() < known.retryAt) {
      this.#entries.set(key, known);
      return known.snapshot;
    }
    return this.#capture(request, run, { place, key, stamps });
  }

  #capture(
    { env, snapshot: { shell } }: SnapshotRequest,
    run: RunShell,
    { place, key, stamps }: { place: string; key: string; stamps: string },
  ): Promise<ShellSnapshot | null> {
    const captures = (this.#captures.get(place) ?? 0) + 1;
    if (captures > MAX_CAPTURES_PER_PLACE) return Promise.resolve(null);
    remember(this.#captures, place, captures);
    const startedAt = this.#clock.now();
    const snapshot = ShellSnapshot.capture(shell.path, env, run, this.#clock).then(
      (captured) => {
        this.#log.debug("shell state captured", { tookMs: Math.round(this.#clock.now() - startedAt) });
        return captured;
      },
      (error) => {
        if (!(error instanceof CaptureError)) throw error;
        this.#log.info("shell state not captured", { reason: error.message });
        const retryAt = this.#clock.now() + SHELL_CAPTURE_RETRY_MS;
        if (this.#entries.get(key)?.snapshot === snapshot) this.#entries.set(key, { snapshot, stamps, retryAt });
        return null;
      },
    );
    remember(this.#entries, key, { snapshot, stamps, retryAt: Infinity });
    return snapshot;
  }

  #stampsFor({ HOME = "/", BASH_ENV = "" }: Readonly<Record<string, string>>): string {
    const files = [...SYSTEM_STARTUP_FILES, ...HOME_STARTUP_FILES.map((name) => `${HOME}/${name}`), BASH_ENV];
    return files.map((path) => this.#stampOf(path) ?? "").join("\n");
  }
}

/** Adds to a map that holds only so many, and forgets the oldest. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_SHELL_SNAPSHOTS) map.delete(oldest!);
}

/** Everything but the environment that must be the same for two commands to share a state. */
function placeOf({ snapshot: { scopeId, shell }, cwd, sandbox }: SnapshotRequest): string {
  return JSON.stringify([scopeId, shell.path, cwd, sandbox ?? null]);
}

function variablesOf(env: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(env).filter(([name]) => !PER_COMMAND_VARIABLE.test(name)).sort());
}

function fileStamp(path: string): string | null {
  try {
    const { ino, size, mtime, ctime } = Deno.statSync(path);
    return `${ino} ${size} ${mtime?.getTime()} ${ctime?.getTime()}`;
  } catch {
    return null; // Missing or out of reach: the same as missing for a shell of this user.
  }
}
