/**
 * Runs a command on a new remote terminal, which is shown on this one: `exec -t` and `shell`.
 *
 * The connection may be lost and come back; the screen is then drawn anew from what the server has kept. Leaving (`~.`)
 * and signals end the session, and the command with it, as a lost ssh connection does.
 */

import type { Devbox } from "../../../client/devbox.ts";
import { decodeBase64 } from "../../../client/base64.ts";
import type { ProcessHandle } from "../../../client/process/process_handle.ts";
import type { MethodTypes } from "../../../protocol/method_types.ts";
import { workingDirectory } from "../exec_words.ts";
import { EXIT, EXIT_PIPE_CLOSED } from "../exit_codes.ts";
import { type OpenBox, openBox } from "../open_box.ts";
import { type CommandToRun } from "../run_on_pipes.ts";
import { exitCodeOf, starting } from "../start_command.ts";
import { Conversation } from "./conversation.ts";

/** How long the command outlives a lost connection: long enough for a laptop that changes its network. */
const DETACH_TTL = "5m";
/**
 * How long to wait for output after the command has exited. Without it a descendant that holds the terminal open would
 * keep this program.
 */
const LINGER_MS = 1000;

type Read = MethodTypes["process/read"]["result"];

/** As {@linkcode CommandToRun}, with words that may depend on the box. */
export interface TerminalCommand extends Omit<CommandToRun, "argv"> {
  readonly argv: readonly string[] | ((box: Devbox) => readonly string[]);
}

/** Resolves with the exit code. */
export async function runOnTerminal({ where, argv, cwd, options }: TerminalCommand): Promise<number> {
  const open = await openBox(where, { detachTtl: DETACH_TTL });
  const { box } = open;
  await using _closing = box;
  const conversation = new Conversation();
  const handle = await starting(box, typeof argv === "function" ? argv(box) : argv, {
    ...options,
    cwd: workingDirectory(cwd, open),
    tty: conversation.size,
  });
  try {
    return await converse(conversation, handle, open);
  } finally {
    conversation.finish();
  }
}

async function converse(conversation: Conversation, handle: ProcessHandle, { box }: OpenBox): Promise<number> {
  const output = new TerminalOutput(conversation, handle, box);
  const writer = handle.stdin.getWriter();
  conversation.begin(box, {
    send: (bytes) => writer.write(bytes),
    endInput: () => writer.close(),
    resize: (size) => handle.resize(size),
    redraw: () => output.redraw(),
  });
  const departure = conversation.departed.then(async (departed) => {
    if (departed.type === "signal") return departed.exitCode;
    await conversation.depart("connection closed");
    return EXIT.noConnection;
  });
  return await Promise.race([output.exitCode(), departure]);
}

/** What the process writes, on the local terminal. */
class TerminalOutput {
  readonly #conversation: Conversation;
  readonly #handle: ProcessHandle;
  readonly #box: Devbox;
  #shownSeq = 0;
  #redrawn: Promise<void> = Promise.resolve();

  constructor(conversation: Conversation, handle: ProcessHandle, box: Devbox) {
    this.#conversation = conversation;
    this.#handle = handle;
    this.#box = box;
  }

  async exitCode(): Promise<number> {
    let exitCode: number | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      for await (const event of this.#handle.events) {
        if (event.type === "output") {
          await this.#redrawn;
          await this.#conversation.show(event.bytes);
          this.#shownSeq = event.seq;
        } else if (event.type === "exited") {
          exitCode = exitCodeOf(event.status);
          timer = setTimeout(() => this.#handle.detach(), LINGER_MS);
        }
      }
    } catch (error) {
      if (error instanceof Deno.errors.BrokenPipe) return EXIT_PIPE_CLOSED;
      if (exitCode === null) throw error;
    } finally {
      clearTimeout(timer);
    }
    return exitCode ?? EXIT.ownError;
  }

  /** Nothing is written in between, so new output comes after the drawn screen. */
  redraw(): Promise<void> {
    return this.#redrawn = this.#redrawn.then(() => this.#draw()).catch(() => {});
  }

  async #draw(): Promise<void> {
    const chunks: Uint8Array[] = [];
    for (let afterSeq = 0; afterSeq < this.#shownSeq;) {
      const answer = await this.#box.call<Read>("process/read", { processId: this.#handle.id, afterSeq });
      const known = answer.chunks.filter(({ seq }) => seq <= this.#shownSeq);
      if (known.length === 0) break;
      chunks.push(...known.map(({ chunk }) => decodeBase64(chunk)));
      afterSeq = known.at(-1)!.seq;
    }
    const { drawnScreen } = await import("./screen.ts");
    const screen = await drawnScreen(chunks, this.#conversation.size);
    await this.#conversation.show(new TextEncoder().encode(screen));
  }
}
