/**
 * Sandboxes that wait for the next command, so that it does not wait for its sandbox, which takes longer than most
 * commands.
 *
 * Each is used once. All are like the latest command's: a command that asks for another sandbox, or comes after a mount
 * of the host, gets none, and those that waited are given up. They are made after a command of their kind has ended,
 * when no other command comes, and none waits for long. Only when commands come so fast that none is left, the next is
 * made while a command runs.
 */

import { isSameSandbox, type Standby } from "../launch/standby.ts";
import type { ProcessIo } from "../process/backend.ts";
import { SandboxSetUpError } from "../process/posix/confined_launch.ts";
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

  /** One that waits, or is made now; null when it cannot be made. It is the caller's. */
  async take(standby: Standby, io: ProcessIo): Promise<WaitingSandbox | null> {
    if (this.#isClosed) return null;
    const key = JSON.stringify(io);
    for (const other of [...this.#waiting]) {
      if (!isSameSandbox(other.standby, standby)) this.#giveUp(other);
    }
    // Whatever is being made for later waits until this command has ended.
    this.#stopMaking();
    this.#rearmIdle();
    const found = this.#waiting.find((waiting) => waiting.io === key);
    if (found !== undefined) this.#waiting.splice(this.#waiting.indexOf(found), 1);
    const sandbox = await (found?.sandbox ?? this.#make(standby, io));
    return sandbox?.isWaiting === true ? sandbox : null;
  }

  /** A command of this kind has begun. If none is left, another is made for the next, which may come at once. */
  commandBegan(standby: Standby, io: ProcessIo): void {
    if (this.#waiting.length === 0) void this.#fill(standby, io, 1);
  }

  /** A command of this kind has ended. The next will find some: soon, unless another command comes before. */
  commandEnded(standby: Standby, io: ProcessIo): void {
    if (this.#isClosed) return;
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => void this.#fill(standby, io, MAX_STANDBYS), STANDBY_REST_MS);
  }

  /** One after another, until the next command comes. */
  async #fill(standby: Standby, io: ProcessIo, wanted: number): Promise<void> {
    const key = JSON.stringify(io);
    const isLike = (waiting: Waiting) => waiting.io === key && isSameSandbox(waiting.standby, standby);
    for (const other of this.#waiting.filter((waiting) => !isLike(waiting))) this.#giveUp(other);
    this.#rearmIdle();
    const round = ++this.#round;
    while (!this.#isClosed && this.#round === round && this.#waiting.length < wanted) {
      const waiting = { standby, io: key, sandbox: this.#make(standby, io) };
      this.#waiting.push(waiting);
      if (await waiting.sandbox !== null) continue;
      // It is tried again after the next command. A command may have taken it meanwhile.
      const at = this.#waiting.indexOf(waiting);
      if (at !== -1) this.#waiting.splice(at, 1);
      return;
    }
  }

  /** Null when it cannot be made. */
  async #make(standby: Standby, io: ProcessIo): Promise<WaitingSandbox | null> {
    try {
      const sandbox = await this.#backend.standBy(io, { prepare: () => standby.prepare() });
      standby.made();
      return sandbox;
    } catch (error) {
      if (!this.#isClosed) standby.failed(error, error instanceof SandboxSetUpError ? error.report : null);
      return null;
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
