/**
 * Commands that no call waits for at the moment: those with a handle, and those between two rounds of questions. Each
 * is found again by a name that cannot be guessed. A command that nobody comes back for is ended. Results that nobody
 * fetches give way to later commands, oldest first, and a later look is told so.
 */

import type { Clock } from "../clock.ts";
import { invalidParams } from "../errors.ts";
import { FINISHED_COMMAND_MS, MAX_DROPPED_RESULTS, ROUND_PATIENCE_MS } from "./limits.ts";
import type { RunningCommand } from "./running_command.ts";

/** A call between two rounds. */
export interface ParkedCall {
  readonly command: RunningCommand;
  /** The id of the request that the questions answered. */
  readonly requestId: string | number;
  /** Rounds so far. */
  readonly rounds: number;
  /** Its handle, if it has one already. */
  readonly handle: string | null;
  /** A digest of its tool and arguments. The next round must have the same. */
  readonly request: string;
}

export interface KeptCommandsOptions {
  readonly clock: Clock;
  /** How long a command with a handle may be left alone; null: as long as its client is connected. */
  readonly idleMs: number | null;
}

/** 128 bits. */
const NAME_BYTES = 16;

interface Kept {
  readonly command: RunningCommand;
  cancelIdle: () => void;
}

/** Why a result is not there any more. */
type DropReason = "room" | "time";

const DROP_REASONS: Readonly<Record<DropReason, string>> = {
  room: "later commands needed its room",
  time: `nobody fetched it within ${FINISHED_COMMAND_MS / 60_000} minutes`,
};

export class KeptCommands {
  readonly #options: KeptCommandsOptions;
  readonly #byHandle = new Map<string, Kept>();
  /** Of these, those that have ended, oldest first. */
  readonly #finished = new Set<string>();
  /** What is told of results that were dropped, oldest first. */
  readonly #dropped = new Map<string, DropReason>();
  readonly #parked = new Map<string, { readonly call: ParkedCall; readonly cancel: () => void }>();

  constructor(options: KeptCommandsOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#byHandle.size === 0 && this.#parked.size === 0;
  }

  /** Commands that have ended while their questions waited for an answer. */
  get endedRounds(): number {
    return this.#parked.values().reduce((count, { call }) => count + (call.command.hasFinished ? 1 : 0), 0);
  }

  /** Lets go of results that nobody has fetched, oldest first, until so many are left. */
  keepResults(count: number): void {
    for (const handle of this.#finished) {
      if (this.#finished.size <= count) return;
      this.#drop(handle, "room");
    }
  }

  /** Gives a handle to a command that continues without its call. */
  keep(command: RunningCommand): string {
    const handle = newName();
    const kept: Kept = { command, cancelIdle: () => {} };
    this.#byHandle.set(handle, kept);
    this.#watchIdle(handle, kept);
    const note = () => {
      if (this.#byHandle.get(handle) !== kept) return;
      this.#finished.add(handle);
      const cancel = this.#options.clock.setTimer(FINISHED_COMMAND_MS, () => this.#drop(handle, "time"));
      const { cancelIdle } = kept;
      kept.cancelIdle = () => {
        cancelIdle();
        cancel();
      };
    };
    // In the turn in which its place is given back: a result counts like a command.
    void command.finished.then(note, note);
    return handle;
  }

  /** The command of a handle. The handle counts as used now. Throws when there is none. */
  get(handle: string): RunningCommand {
    const kept = this.#byHandle.get(handle);
    if (kept === undefined) {
      const dropped = this.#dropped.get(handle);
      const what = dropped === undefined
        ? "its command has ended, or there was none"
        : `its command has ended, and its result was dropped, because ${DROP_REASONS[dropped]}`;
      throw invalidParams(`unknown handle ${JSON.stringify(handle.slice(0, 80))}: ${what}`);
    }
    if (!kept.command.hasFinished) {
      kept.cancelIdle();
      this.#watchIdle(handle, kept);
    }
    return kept.command;
  }

  /** Its result has been handed out. */
  forget(handle: string): void {
    this.#byHandle.get(handle)?.cancelIdle();
    this.#byHandle.delete(handle);
    this.#finished.delete(handle);
  }

  /** Keeps a call for its next round. The returned name finds it once. */
  park(call: ParkedCall): string {
    const name = newName();
    const cancel = this.#options.clock.setTimer(ROUND_PATIENCE_MS, () => {
      this.#parked.delete(name);
      void call.command.stop();
    });
    this.#parked.set(name, { call, cancel });
    return name;
  }

  /** The call of that name, which is then forgotten. Throws when there is none, or when it is another request's. */
  unpark(name: string, request: string): ParkedCall {
    const parked = this.#parked.get(name);
    if (parked === undefined) throw invalidParams("Invalid or expired requestState");
    if (parked.call.request !== request) {
      throw invalidParams("this requestState belongs to a call with another tool or other arguments: repeat that one");
    }
    parked.cancel();
    this.#parked.delete(name);
    return parked.call;
  }

  /** The client gives up the call whose latest round had this id: its command is ended. */
  abandon(requestId: string | number): void {
    for (const [name, { call, cancel }] of this.#parked) {
      if (call.requestId !== requestId) continue;
      cancel();
      this.#parked.delete(name);
      void call.command.stop();
    }
  }

  /** Forgets all. Ending the commands is up to the caller. */
  clear(): void {
    for (const handle of [...this.#byHandle.keys()]) this.forget(handle);
    for (const { cancel } of this.#parked.values()) cancel();
    this.#parked.clear();
    this.#dropped.clear();
  }

  #drop(handle: string, reason: DropReason): void {
    this.forget(handle);
    this.#dropped.set(handle, reason);
    const [oldest] = this.#dropped.keys();
    if (this.#dropped.size > MAX_DROPPED_RESULTS) this.#dropped.delete(oldest!);
  }

  #watchIdle(handle: string, kept: Kept): void {
    const { idleMs, clock } = this.#options;
    if (idleMs === null) return;
    kept.cancelIdle = clock.setTimer(idleMs, () => {
      this.forget(handle);
      void kept.command.stop();
    });
  }
}

function newName(): string {
  return crypto.getRandomValues(new Uint8Array(NAME_BYTES)).toBase64({ alphabet: "base64url", omitPadding: true });
}
