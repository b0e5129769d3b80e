/**
 * Programs that try to outlive their session, and the ways to know who is there: each announces itself when it has done
 * what it meant to do, and each carries a marker in its command line by which `/proc` shows it.
 */

import assert from "node:assert/strict";
import { type ProcessEntry, processesMarked } from "../support/proc.ts";
import { makeFifo } from "../support/scratch_directory.ts";

const FIXTURES = new URL("../fixtures/", import.meta.url).pathname;

/** Far longer than any program here takes to set itself up, or to be gone. */
const WAIT_LIMIT_MS = 30_000;

export class RollCall implements AsyncDisposable {
  /** Unlike any other, also of tests that run beside this one. */
  readonly #marker = `leak-${crypto.randomUUID()}`;
  readonly #directory: string;
  readonly #roll: Deno.FsFile;
  /** Ends when nobody who was on the run holds its other side any more. */
  readonly #held: Deno.FsFile;
  #announced: string[] = [];
  #rest = "";

  private constructor(directory: string, roll: Deno.FsFile, held: Deno.FsFile) {
    this.#directory = directory;
    this.#roll = roll;
    this.#held = held;
  }

  static async begin(): Promise<RollCall> {
    const directory = await Deno.makeTempDir({ prefix: "leftovers-" });
    for (const name of ["roll", "held", "never"]) await makeFifo(`${directory}/${name}`);
    // Open for writing too: with a writer left the pipe never ends.
    const roll = await Deno.open(`${directory}/roll`, { read: true, write: true });
    // Opening one side alone would wait for the other.
    using _writer = await Deno.open(`${directory}/held`, { read: true, write: true });
    return new RollCall(directory, roll, await Deno.open(`${directory}/held`));
  }

  /** The command of a process that announces itself and stays. */
  stay(name: string, ...habits: readonly ("ignore-signals" | "close-all" | "stop")[]): string {
    return this.#command("stay.sh", name, ...habits);
  }

  /** The command of a process that forks and exits over and over; only the first generation announces itself. */
  forkChain(name: string, { generations, launcher = "" }: { generations: number; launcher?: "setsid" | "" }): string {
    return this.#command("fork_chain.sh", name, `${generations}`, launcher);
  }

  /** The command of `2 ** (depth + 1) - 1` processes that all announce themselves and stay. */
  forkTree(name: string, depth: number): string {
    return this.#command("fork_tree.sh", name, `${depth}`);
  }

  /** Waits until all of these have announced themselves, in whatever order; a name may be due several times. */
  async announced(names: readonly string[]): Promise<void> {
    const due = names.map((name) => this.#marked(name));
    const alarm = this.#alarm("roll");
    try {
      while (due.length > 0) {
        for (const name of this.#announced.splice(0)) {
          assert.ok(due.includes(name), `${name} was announced, due were: ${due.join(" ")}`);
          due.splice(due.indexOf(name), 1);
        }
        if (due.length > 0) await this.#readSome();
      }
    } finally {
      clearTimeout(alarm);
    }
  }

  /**
   * Waits until all fork chains have come to their end. They cannot be looked for: while one looks, the process that was
   * there has exited, and the next one has a number that was not there before.
   */
  async chainsEnded(): Promise<void> {
    const alarm = this.#alarm("held");
    const count = await this.#held.read(new Uint8Array(1));
    clearTimeout(alarm);
    assert.equal(count, null, `a fork chain is still running after ${WAIT_LIMIT_MS} ms`);
  }

  /** Whoever has this name, or any name, and is alive. Does not see fork chains while they fork. */
  alive(name?: string): ProcessEntry[] {
    return processesMarked(name === undefined ? this.#marker : this.#marked(name));
  }

  /** Ends what should not be there any more, so that a failed test leaves nothing behind. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (let looks = 0; looks < 100 && this.alive().length > 0; looks++) {
      for (const { pid } of this.alive()) {
        try {
          Deno.kill(pid, "SIGKILL");
        } catch {
          // Gone by itself.
        }
      }
    }
    this.#roll.close();
    this.#held.close();
    await Deno.remove(this.#directory, { recursive: true });
  }

  /** Wakes a wait for a pipe up when it has taken too long, by writing to it. */
  #alarm(pipe: string): ReturnType<typeof setTimeout> {
    return setTimeout(() => Deno.writeTextFileSync(`${this.#directory}/${pipe}`, "too late\n"), WAIT_LIMIT_MS);
  }

  #marked(name: string): string {
    return `${this.#marker}/${name}/`;
  }

  #command(fixture: string, name: string, ...words: readonly string[]): string {
    return ["sh", `${FIXTURES}${fixture}`, this.#directory, this.#marked(name), ...words].join(" ").trimEnd();
  }

  async #readSome(): Promise<void> {
    const buffer = new Uint8Array(4096);
    const count = await this.#roll.read(buffer);
    this.#rest += new TextDecoder().decode(buffer.subarray(0, count ?? 0));
    const lines = this.#rest.split("\n");
    this.#rest = lines.pop()!;
    this.#announced.push(...lines);
  }
}
