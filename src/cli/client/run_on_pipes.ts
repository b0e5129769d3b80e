/**
 * Runs a command without a terminal: bytes in, bytes out, unchanged and in the order in which the command wrote them.
 *
 * Ends when the command has ended and all its output is written here, like `ssh`. Signals to this program are passed on
 * to the command; the second of a kind ends the connection. When its output is no longer read, it ends quietly.
 */

import type { Devbox } from "../../client/devbox.ts";
import { ClientError } from "../../client/errors.ts";
import type { ProcessHandle } from "../../client/process/process_handle.ts";
import type { Signal } from "../../client/process/signals.ts";
import type { SpawnOptions } from "../../client/process/spawn_options.ts";
import { printable } from "../../printable.ts";
import { workingDirectory } from "./exec_words.ts";
import { EXIT, EXIT_PIPE_CLOSED, SIGNAL_BASE } from "./exit_codes.ts";
import { openBox } from "./open_box.ts";
import type { WhereWords } from "./places/resolve_place.ts";
import { exitCodeOf, starting } from "./start_command.ts";
import { writeAll } from "./write_all.ts";

/** A command, and where it is to run. */
export interface CommandToRun {
  readonly where: WhereWords;
  readonly argv: readonly string[];
  /** As the user gave it; null: the default. */
  readonly cwd: string | null;
  readonly options: SpawnOptions;
}

const FORWARDED = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGTERM: 15,
  SIGUSR1: 10,
  SIGUSR2: 12,
} as const satisfies Partial<Record<Signal, number>>;

/** Resolves with the exit code. */
export async function runOnPipes({ where, argv, cwd, options }: CommandToRun): Promise<number> {
  const { box, place } = await openBox(where);
  await using _closing = box;
  tellOfLoss(box);
  const handle = await starting(box, argv, { ...options, cwd: workingDirectory(cwd, { box, place }) });
  const interrupted = forwardSignals(handle);
  if (options.stdin === "piped") sendInput(handle);
  return await Promise.race([showOutput(handle), interrupted]);
}

/**
 * Prints a line when the connection is lost. The library reconnects by itself. The final loss is reported where the
 * command is awaited.
 */
function tellOfLoss(box: Devbox): void {
  box.onConnectionChange((state) => {
    if (state.state !== "reconnecting" || state.attempt > 1) return;
    console.error(`exec-server: connection lost, trying again: ${printable(state.reason)}`);
  });
}

/** Resolves with an exit code if this program shall end without waiting for the command. */
function forwardSignals(handle: ProcessHandle): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  for (const [signal, number] of Object.entries(FORWARDED) as [keyof typeof FORWARDED, number][]) {
    let count = 0;
    Deno.addSignalListener(signal, () => {
      if (++count > 1) return resolve(SIGNAL_BASE + number);
      // It has ended meanwhile, or the connection is lost: there is nothing to wait for.
      handle.kill(signal).catch((error) => {
        if (!(error instanceof ClientError) || error.kind !== "server") resolve(SIGNAL_BASE + number);
      });
    });
  }
  return promise;
}

async function sendInput(handle: ProcessHandle): Promise<void> {
  const writer = handle.stdin.getWriter();
  try {
    for await (const bytes of Deno.stdin.readable) await writer.write(bytes);
    await writer.close();
  } catch (error) {
    // It is not an error if the command ends before it has read all its input. A lost connection is reported elsewhere.
    if (!(error instanceof ClientError)) console.error(`exec-server: cannot read standard input: ${error}`);
    await writer.abort().catch(() => {});
  }
}

async function showOutput(handle: ProcessHandle): Promise<number> {
  let exitCode: number = EXIT.ownError;
  for await (const event of handle.events) {
    if (event.type === "output") {
      if (!await writeAll(event.stream === "stderr" ? Deno.stderr : Deno.stdout, event.bytes)) return EXIT_PIPE_CLOSED;
    } else if (event.type === "gap") {
      console.error(`exec-server: ${event.droppedBytes ?? "some"} bytes of output are lost`);
    } else if (event.type === "exited") {
      exitCode = exitCodeOf(event.status);
      if (event.status.endReason === "timeout") console.error("exec-server: the command took longer than --timeout");
    }
  }
  return exitCode;
}
