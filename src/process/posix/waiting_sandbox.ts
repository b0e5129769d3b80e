/**
 * A sandbox that is complete and waits for its command: it was made, and checked from outside, before anybody asked for
 * it. It runs one command, or is given up.
 *
 * Its keeper must use it only where a sandbox made now would be the same.
 */

import { internalError } from "../../errors.ts";
import type { PreparedLaunch } from "../../launch/launch_plan.ts";
import type { SpawnedProcess } from "../backend.ts";
import type { ExecAnswerer } from "./exec_answerer.ts";

/** What a launch that waits for its command is told. */
export interface LateStart {
  /** The sandbox is complete. */
  isReady(): void;
  /** The command, as `late_command.ts` writes it; null when none comes any more. */
  readonly command: Promise<Uint8Array<ArrayBuffer> | null>;
}

export class WaitingSandbox implements LateStart {
  /** What it enforces. */
  readonly policy: PreparedLaunch["policy"];
  readonly command: Promise<Uint8Array<ArrayBuffer> | null>;
  readonly #command = Promise.withResolvers<Uint8Array<ArrayBuffer> | null>();
  readonly #ready = Promise.withResolvers<void>();
  #process: Promise<SpawnedProcess> | null = null;
  #answerer: ExecAnswerer | null = null;
  #isOver = false;

  constructor(policy: PreparedLaunch["policy"]) {
    this.policy = policy;
    this.command = this.#command.promise;
  }

  /** Who decides what its command executes; nobody before there is one. */
  get answerer(): ExecAnswerer | null {
    return this.#answerer;
  }

  /** Neither used, nor given up, nor lost. */
  get isWaiting(): boolean {
    return !this.#isOver;
  }

  isReady(): void {
    this.#ready.resolve();
  }

  /** Resolves when it is complete; rejects when it cannot be made. The process is that of the command to come. */
  async begins(process: Promise<SpawnedProcess>): Promise<void> {
    this.#process = process;
    // Nothing ends it while it waits, except somebody who kills it.
    const over = (): void => void (this.#isOver = true);
    process.then(over, over);
    await Promise.race([this.#ready.promise, process]);
  }

  /** Resolves when the command runs. Rejects as any start does. */
  async run(command: Uint8Array<ArrayBuffer>, answerer: ExecAnswerer | null): Promise<SpawnedProcess> {
    if (this.#isOver || this.#process === null) throw internalError("Cannot start process: its sandbox does not wait");
    this.#isOver = true;
    this.#answerer = answerer;
    answerer?.begins(this.policy);
    this.#command.resolve(command);
    return await this.#process;
  }

  /** Ends it, if it has no command. Resolves when nothing of it is left. */
  async giveUp(): Promise<void> {
    this.#isOver = true;
    this.#command.resolve(null);
    await this.#process?.catch(() => {});
  }
}
