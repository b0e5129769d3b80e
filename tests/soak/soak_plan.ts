/**
 * What one process of the soak does: a shell script whose every byte is known beforehand, because it copies pieces of a
 * file that was made from the seed.
 */

import type { OutputStreamName, ProcessIoField } from "../../src/protocol/process.ts";
import { concatBytes } from "../../src/bytes.ts";
import type { Random } from "../support/random.ts";

export interface SoakPlan {
  readonly script: string;
  readonly io: ProcessIoField;
  readonly expected: Readonly<Partial<Record<OutputStreamName, Uint8Array>>>;
  readonly exitCode: number;
  /** Written to the process once it has announced itself, and copied by it to its output. */
  readonly input: Uint8Array<ArrayBuffer> | null;
  /** The client ends it after its first output: what came is then a beginning of what was expected. */
  readonly isTerminated: boolean;
}

/** First byte of a process that takes input: its terminal is set up, it can be written to. */
export const READY = "R";

/** The most one process writes: below what the server retains, or a long outage would rightly lose some of it. */
const MAX_OUTPUT_BYTES = 700 * 1024;
/** What most write at most. */
const COMMON_OUTPUT_BYTES = 30 * 1024;
const MAX_INPUT_BYTES = 40 * 1024;
const MAX_PIECES = 5;
/** From single bytes, each a write of its own, to more than a pipe holds. */
const BLOCK_BYTES = [1, 3, 100, 4096, 4097, 65_536, 100_000];
/** Single bytes are slow to write. */
const MAX_BLOCKS = 60;
const SIGNALS = [["KILL", 137], ["TERM", 143], ["INT", 130], ["SEGV", 139]] as const;

export class SoakPlanner {
  readonly #path: string;
  readonly #content: Uint8Array<ArrayBuffer>;

  private constructor(path: string, content: Uint8Array<ArrayBuffer>) {
    this.#path = path;
    this.#content = content;
  }

  /** Writes the file that children copy from. */
  static async prepare(directory: string, random: Random): Promise<SoakPlanner> {
    const content = Uint8Array.from({ length: 1024 * 1024 }, () => random.int(256));
    const path = `${directory}/content`;
    await Deno.writeFile(path, content);
    return new SoakPlanner(path, content);
  }

  plan(random: Random): SoakPlan {
    const isTerminal = random.chance(0.5);
    const kind = random.pick(["output", "output", "output", "output", "late", "input", "signal", "terminate"]);
    const exitCode = random.chance(0.5) ? 0 : random.int(256);
    const io: ProcessIoField = isTerminal
      ? { type: "pty", rows: 24, cols: 80 }
      : { type: "pipe", stdin: kind === "input" ? "open" : "closed" };
    // A terminal changes line ends and echoes what is typed, unless told otherwise.
    const setUp = isTerminal ? "stty raw -echo; " : "";
    const common = { io, exitCode, input: null, isTerminated: false };

    if (kind === "input") {
      const input = this.#content.slice(0, random.int(MAX_INPUT_BYTES));
      const stream = isTerminal ? "pty" : "stdout";
      const copy = isTerminal ? `head -c ${input.length}` : "cat";
      return {
        ...common,
        script: `${setUp}printf ${READY}; ${copy}; exit ${exitCode}`,
        expected: { [stream]: concatBytes([new TextEncoder().encode(READY), input]) },
        input,
      };
    }
    const { commands, expected } = this.#pieces(random, isTerminal);
    const script = setUp + commands.join("; ");
    if (kind === "signal") {
      const [name, signalExitCode] = random.pick(SIGNALS);
      return { ...common, script: `${script}; kill -${name} $$`, expected, exitCode: signalExitCode };
    }
    if (kind === "terminate") {
      // Silent processes could not be told from ones that have not begun.
      const stream = isTerminal ? "pty" : "stdout";
      expected[stream] = concatBytes([expected[stream] ?? new Uint8Array(), new TextEncoder().encode(READY)]);
      return {
        ...common,
        script: `${script}; printf ${READY}; exec sleep 1000`,
        expected,
        exitCode: 137,
        isTerminated: true,
      };
    }
    if (kind === "late" && !isTerminal) {
      // The last piece is written by a child that outlives its parent: output after the exit.
      const last = commands.pop()!;
      return { ...common, script: `${[...commands, ""].join("; ")}{ ${last}; } & exit ${exitCode}`, expected };
    }
    return { ...common, script: `${script}; exit ${exitCode}`, expected };
  }

  #pieces(random: Random, isTerminal: boolean) {
    const commands: string[] = [];
    const parts: Partial<Record<OutputStreamName, Uint8Array[]>> = {};
    let room = random.chance(0.1) ? MAX_OUTPUT_BYTES : COMMON_OUTPUT_BYTES;
    for (let pieces = 1 + random.int(MAX_PIECES); pieces > 0; pieces--) {
      const blockBytes = random.pick(BLOCK_BYTES);
      const maxBlocks = Math.min(MAX_BLOCKS, Math.floor(room / pieces / blockBytes));
      const count = random.int(maxBlocks + 1);
      const skip = random.int(Math.floor(this.#content.length / blockBytes) - count);
      const stream = isTerminal ? "pty" : random.pick(["stdout", "stdout", "stderr"] as const);
      const redirection = stream === "stderr" || isTerminal && random.chance(0.3) ? " >&2" : "";
      const pause = random.chance(0.2) ? "sleep 0.02; " : "";
      commands.push(
        `${pause}dd if=${this.#path} bs=${blockBytes} skip=${skip} count=${count} status=none${redirection}`,
      );
      (parts[stream] ??= []).push(this.#content.subarray(skip * blockBytes, (skip + count) * blockBytes));
      room -= count * blockBytes;
    }
    const expected: Partial<Record<OutputStreamName, Uint8Array>> = {};
    for (const [stream, list] of Object.entries(parts)) expected[stream as OutputStreamName] = concatBytes(list);
    return { commands, expected };
  }
}
