/**
 * Sandboxes that wait for the next command, so that it does not wait for its sandbox, which takes longer than most
 * commands.
 *
 * Each is used once. All are like the latest command's: whoever asks for another sandbox, or comes after a mount of the
 * host, gets none, and those that waited are given up. They are made after a command of their kind has ended, when no other
 * command comes, and none waits for long.
 */

import { isSameSandbox, type Standby } from "../launch/standby.ts";
import type { ProcessIo } from "../process/backend.ts";
import type { PosixBackend } from "../process/posix/posix_backend.ts";
import type { WaitingSandbox } from "../process/posix/waiting_sandbox.ts";
import { MAX_STANDBYS, STANDBY_IDLE_MS, STANDBY_REST_MS } from "./limits.ts";

interface Waiting {
  readonly standby: Standby;
  readonly io: string;
  /** Null when it could not be made. */
  readonly sandbox: Promise<WaitingSandbox | null>;
}

export class StandbyPool {
  readonly #backend: PosixBackend;
  /** Oldest first. */
  readonly #waiting: Waiting[] = [];
  readonly #ending = new Set<Promise<void>>();
  #rest: ReturnType<typeof setTimeout> | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;
  /** Sandboxes are made until the next round, or the next command. */
  #round = 0;
  #isClosed = false;

  constructor(backend: PosixBackend) {
    this.#backend = backend;
  }

  /** One that is what would be made now, perhaps in a moment; null when there is none. It is the caller's. */
  async take(standby: Standby, io: ProcessIo): Promise<WaitingSandbox | null> {
    const key = JSON.stringify(io);
    for (const other of [...this.#waiting]) {
      if (!isSameSandbox(other.standby, standby)) this.#giveUp(other);
    }
    // Whatever is being made for later waits until this command has ended.
    this.#stopMaking();
    this.#rearmIdle();
    const found = this.#waiting.find((waiting) => waiting.io === key);
    if (found === undefined) return null;
    this.#waiting.splice(this.#waiting.indexOf(found), 1);
    const sandbox = await found.sandbox;
    return sandbox?.isWaiting === true ? sandbox : null;
  }

  /** Sees to it that the next command of this kind finds one: soon, unless another command comes before. */
  replenish(standby: Standby, io: ProcessIo): void {
    if (this.#isClosed) return;
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => void this.#fill(standby, io), STANDBY_REST_MS);
  }

  /** One after another, until the next command comes. */
  async #fill(standby: Standby, io: ProcessIo): Promise<void> {
    const key = JSON.stringify(io);
    const isLike = (waiting: Waiting) => waiting.io === key && isSameSandbox(waiting.standby, standby);
    for (const other of this.#waiting.filter((waiting) => !isLike(waiting))) this.#giveUp(other);
    this.#rearmIdle();
    const round = ++this.#round;
    while (!this.#isClosed && this.#round === round && this.#waiting.length < MAX_STANDBYS) {
      const sandbox = this.#backend.standBy(io, { prepare: () => standby.prepare() }).catch(() => null);
      this.#waiting.push({ standby, io: key, sandbox });
      await sandbox;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopMaking();
    clearTimeout(this.#idle);
    this.#giveUpAll();
    await Promise.all(this.#ending);
  }

  #stopMaking(): void {
    clearTimeout(this.#rest);
    this.#round++;
  }

  #rearmIdle(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#giveUpAll(), STANDBY_IDLE_MS);
    Deno.unrefTimer(this.#idle as unknown as number);
  }

  #giveUpAll(): void {
    for (const waiting of [...this.#waiting]) this.#giveUp(waiting);
  }

  #giveUp(waiting: Waiting): void {
    this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
    const ending: Promise<void> = waiting.sandbox.then((sandbox) => sandbox?.giveUp())
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}
