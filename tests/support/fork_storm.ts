/**
 * Chains of processes that fork, exit and leave their session, each over and over: whoever looks for them by name and
 * number finds the place they have just left. So they all hold a pipe, and its end is theirs. They end by themselves after
 * a while, in case nobody else ends them.
 */

import assert from "node:assert/strict";
import { Gate } from "./gate.ts";

const LIFETIME_S = 60;

/** Far longer than an end takes on a busy machine, and shorter than they would live. */
const END_LIMIT_MS = 30_000;

/** Enough to outrun every search on a machine of two cores. */
const CHAINS = 10;

export class ForkStorm {
  /** A Perl program. */
  readonly argv: readonly string[];
  /** Resolves when all chains have left the group they began in. */
  readonly begun: Promise<void>;
  /** Resolves when nobody is left. */
  readonly #over: Promise<void>;

  private constructor(gate: Gate) {
    const program =
      `use POSIX; open my $gate, '>', '${gate.path}'; select $gate; $| = 1; my $end = time + ${LIFETIME_S};
      for (2 .. ${CHAINS}) { fork or last }
      for (my $born = 1; time < $end; $born++) {
        my $next = fork;
        next unless defined $next;
        POSIX::_exit(0) if $next;
        POSIX::setsid();
        print "up\\n" if $born == 20;
      }`;
    this.argv = ["perl", "-e", program];
    const begun = Promise.withResolvers<void>();
    this.begun = begun.promise;
    this.#over = watch(gate, begun.resolve);
  }

  static async make(directory: string): Promise<ForkStorm> {
    return new ForkStorm(await Gate.make(directory, `storm-${crypto.randomUUID()}`));
  }

  async ended(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<boolean>((resolve) => timer = setTimeout(() => resolve(false), END_LIMIT_MS));
    const isOver = await Promise.race([this.#over.then(() => true), late]);
    clearTimeout(timer);
    if (!isOver) await this.#over;
    assert.ok(isOver, `the storm goes on after ${END_LIMIT_MS} ms`);
  }
}

/** Resolves when the last of them is gone. */
async function watch(gate: Gate, begun: () => void): Promise<void> {
  using file = await Deno.open(gate.path);
  const buffer = new Uint8Array(1024);
  let count = 0;
  for (let length = await file.read(buffer); length !== null; length = await file.read(buffer)) {
    count += length / "up\n".length;
    if (count >= CHAINS) begun();
  }
}
