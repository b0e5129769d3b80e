/**
 * `shellSnapshot` of `process/start`: commands of a login bash that start from a kept state instead of running the
 * profile each time.
 *
 * A command that starts from a state sees what it would have seen after the profile, and nothing of other scopes,
 * directories, sandboxes or environments. Where that is not possible (another shell, a profile with traps, a failed
 * capture) the command runs as it was given. A state is captured again when its files have changed.
 */

import type { Clock } from "../../clock.ts";
import { errorFields, type Logger } from "../../log.ts";
import type { ShellSnapshotParam } from "../../protocol/shell_snapshot.ts";
import {
  MAX_CAPTURES_PER_PLACE,
  MAX_SHELL_SNAPSHOTS,
  MAX_SHELL_STATE_BYTES,
  SHELL_CAPTURE_PATIENCE_MS,
  SHELL_CAPTURE_RETRY_MS,
  SHELL_STATE_OVERHEAD_BYTES,
} from "../limits.ts";
import { CaptureError, type RunShell, type ShellCommand, ShellSnapshot } from "./shell_capture.ts";
import { startupStamps } from "./startup_files.ts";
import { type KeptState, ShellStateLedger } from "./state_ledger.ts";

export type { RunShell, ShellCommand } from "./shell_capture.ts";

export interface SnapshotRequest extends ShellCommand {
  readonly snapshot: ShellSnapshotParam;
  /** As text, so that two ways of writing it are two places. */
  readonly cwd: string;
  /** All that confines the command. Compared as JSON. */
  readonly confinement: unknown;
  /** A profile may look at the terminal and act differently for each. Null: pipes. */
  readonly terminal: { readonly rows: number; readonly cols: number } | null;
}

export interface ShellSnapshotsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Shared with other sessions. */
  readonly ledger?: ShellStateLedger;
}

/**
 * Variables that clients set anew for each command. A state serves all of their values, unless it turns out to depend
 * on them. Every other variable must be the same, so that a command never gets from a state what its policy hides.
 */
const PER_COMMAND_VARIABLES: ReadonlySet<string> = new Set(["CODEX_TOOL_CALL_ID", "TRACEPARENT", "TRACESTATE"]);

interface Entry {
  /** Null: there is none, until `retryAt`. */
  readonly snapshot: Promise<ShellSnapshot | null>;
  readonly stamps: string;
  readonly retryAt: number;
  readonly kept: KeptState;
}

/** The kept states of one session. */
export class ShellSnapshots {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #ledger: ShellStateLedger;
  /** By a digest of all that must be the same. The least recently used first. */
  readonly #entries = new Map<string, Entry>();
  readonly #captures = new Map<string, number>();
  readonly #closing = new AbortController();

  constructor({ clock, log, ledger = new ShellStateLedger() }: ShellSnapshotsOptions) {
    this.#clock = clock;
    this.#ledger = ledger;
    this.#log = log;
  }

  /** The command to run instead; the given one if there is nothing to gain, or it takes too long. Never rejects. */
  async prepare(request: SnapshotRequest, run: RunShell): Promise<ShellCommand> {
    const { argv, env, snapshot: { shell } } = request;
    // A profile sees the arguments after the script, and could do anything with them.
    const isLoginBash = shell.name === "bash" && argv[0] === shell.path && argv[1] === "-lc" && argv.length === 3;
    if (!isLoginBash || this.#closing.signal.aborted) return { argv, env };
    const snapshot = await this.#withinPatience(this.#snapshotFor(request, run));
    return snapshot?.apply({ argv, env }) ?? { argv, env };
  }

  /** Cancels captures under way. From now on commands run as they are given. */
  close(): void {
    this.#closing.abort();
    for (const key of [...this.#entries.keys()]) this.#forget(key);
  }

  /** Null when it takes too long for a start, which holds up all requests about its process. */
  async #withinPatience(snapshot: Promise<ShellSnapshot | null>): Promise<ShellSnapshot | null> {
    const { promise: tooLong, resolve } = Promise.withResolvers<null>();
    const cancel = this.#clock.setTimer(SHELL_CAPTURE_PATIENCE_MS, () => resolve(null));
    try {
      return await Promise.race([snapshot, tooLong]);
    } finally {
      cancel();
    }
  }

  async #snapshotFor(request: SnapshotRequest, run: RunShell): Promise<ShellSnapshot | null> {
    // What must be the same may be megabytes, and its variables secrets: neither is kept.
    const place = await digestOf(placeOf(request));
    const key = await digestOf(`${place}\n${variablesOf(request.env)}`);
    // Before the capture: the next command notices what changes while it runs.
    const stamps = await startupStamps(request.env);
    const known = this.#entries.get(key);
    if (known !== undefined && known.stamps === stamps && this.#clock.now() < known.retryAt) {
      this.#entries.delete(key);
      this.#entries.set(key, known);
      this.#ledger.used(known.kept);
      return known.snapshot;
    }
    this.#forget(key);
    // The session may have ended meanwhile.
    if (this.#closing.signal.aborted) return null;
    return this.#capture(request, run, { place, key, stamps });
  }

  #capture(
    { env, snapshot: { shell }, terminal }: SnapshotRequest,
    run: RunShell,
    { place, key, stamps }: { place: string; key: string; stamps: string },
  ): Promise<ShellSnapshot | null> {
    const captures = (this.#captures.get(place) ?? 0) + 1;
    if (captures > MAX_CAPTURES_PER_PLACE) return Promise.resolve(null);
    this.#captures.delete(place);
    this.#captures.set(place, captures);
    const [oldestPlace] = this.#captures.keys();
    if (this.#captures.size > MAX_SHELL_SNAPSHOTS) this.#captures.delete(oldestPlace!);
    const overheadBytes = SHELL_STATE_OVERHEAD_BYTES + 2 * stamps.length;
    const kept: KeptState = {
      bytes: overheadBytes + 2 * MAX_SHELL_STATE_BYTES,
      forget: () => void this.#entries.delete(key),
    };
    const startedAt = this.#clock.now();
    const snapshot = ShellSnapshot.capture({
      shellPath: shell.path,
      env,
      changingVariables: Object.keys(env).filter((name) => PER_COMMAND_VARIABLES.has(name)),
      isTerminal: terminal !== null,
      run,
      clock: this.#clock,
      signal: this.#closing.signal,
    }).then(
      (captured) => {
        this.#log.debug("shell state captured", { tookMs: Math.round(this.#clock.now() - startedAt) });
        this.#ledger.resize(kept, overheadBytes + captured.allocatedBytes);
        return captured;
      },
      (error) => {
        if (error instanceof CaptureError) this.#log.info("shell state not captured", { reason: error.message });
        // Our fault: the command must not suffer from its wish.
        else this.#log.error("cannot capture a shell state", errorFields(error));
        const retryAt = this.#clock.now() + SHELL_CAPTURE_RETRY_MS;
        this.#ledger.resize(kept, overheadBytes);
        if (this.#entries.get(key)?.snapshot === snapshot) this.#entries.set(key, { snapshot, stamps, retryAt, kept });
        return null;
      },
    );
    this.#entries.set(key, { snapshot, stamps, retryAt: Infinity, kept });
    this.#ledger.add(kept);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > MAX_SHELL_SNAPSHOTS) this.#forget(oldest!);
    return snapshot;
  }

  #forget(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#ledger.remove(entry.kept);
  }
}

async function digestOf(text: string): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))).toHex();
}

/** Everything but the environment that must be the same for two commands to share a state. */
function placeOf({ snapshot: { scopeId, shell }, cwd, confinement, terminal }: SnapshotRequest): string {
  return JSON.stringify([scopeId, shell.path, cwd, confinement ?? null, terminal]);
}

function variablesOf(env: Readonly<Record<string, string>>): string {
  const variables = Object.entries(env).map(([name, value]) =>
    PER_COMMAND_VARIABLES.has(name) ? [name] : [name, value]
  );
  return JSON.stringify(variables.sort(([a], [b]) => a! < b! ? -1 : 1));
}
