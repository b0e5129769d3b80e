/**
 * Shows a process of another session on this terminal, by `process/attach`: first its kept output, then new output.
 *
 * For a process on a terminal the present screen is drawn, and drawn again when a lost connection is back. Other output
 * goes on where it stopped. Leaving does not affect the process.
 */

import { decodeBase64, encodeBase64 } from "../../../client/base64.ts";
import type { Devbox } from "../../../client/devbox.ts";
import { ServerError } from "../../../client/errors.ts";
import { statusOf } from "../../../client/process/process_status.ts";
import type { MethodTypes, NotificationTypes } from "../../../protocol/method_types.ts";
import { quoted, refusal } from "../../cli_error.ts";
import { EXIT, EXIT_PIPE_CLOSED } from "../exit_codes.ts";
import { findProcess, reachableProcesses } from "../find_process.ts";
import { exitCodeOf } from "../start_command.ts";
import { Conversation } from "./conversation.ts";
import type { Size } from "./local_terminal.ts";

type Attached = MethodTypes["process/attach"]["result"];
type Output = NotificationTypes["process/viewOutput"];
type Role = "view" | "control";

const encoder = new TextEncoder();

/** Resolves with the exit code: that of the process, or 0 when the user has left. */
export async function attachTo(box: Devbox, name: string, { role }: { readonly role: Role }): Promise<number> {
  const process = new AttachedProcess(box, role);
  await process.find(name);
  return await process.follow();
}

class AttachedProcess {
  readonly #box: Devbox;
  readonly #role: Role;
  readonly #conversation = new Conversation();
  readonly #ended = Promise.withResolvers<number>();
  readonly #begun = Promise.withResolvers<void>();
  #attached: Attached | null = null;
  /** Gathers the output up to a number. The screen is drawn from it. Null: output is shown as it comes. */
  #history: { readonly untilSeq: number; readonly chunks: Uint8Array[] } | null = null;
  /**
   * Events that came before the answer to the attach, which says how much of them is old. The end waits as well,
   * because it must come last.
   */
  #early: (() => void)[] | null = [];
  #lastSeq = 0;
  #exitCode: number | null = null;
  #writes = 0;
  readonly #writePrefix = crypto.randomUUID().slice(0, 8);

  constructor(box: Devbox, role: Role) {
    this.#box = box;
    this.#role = role;
    box.onNotification((method, params) => this.#notified(method, params));
  }

  /** Attaches by name, id, or the beginning of an id. Throws an error if that is not possible. */
  async find(word: string): Promise<void> {
    const { uid } = findProcess(await reachableProcesses(this.#box), word);
    try {
      await this.#attach(uid, null);
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      throw refusal(`cannot attach to ${quoted(word)}: ${error.message}`, error);
    }
  }

  async follow(): Promise<number> {
    const { tty, uid } = this.#attached!;
    const isControl = this.#role === "control";
    const conversation = this.#conversation;
    conversation.begin(this.#box, {
      send: isControl ? (bytes) => this.#write(uid, bytes) : null,
      endInput: () => Promise.resolve(),
      resize: async (size) => {
        if (isControl && tty) await this.#box.call("process/resize", { uid, ...size });
      },
      redraw: () => this.#again(),
    });
    this.#begun.resolve();
    try {
      if (isControl && tty && conversation.terminal !== null) {
        await this.#box.call("process/resize", { uid, ...conversation.size }).catch(() => {});
      }
      const departure = conversation.departed.then((departed) => departed.type === "signal" ? departed.exitCode : null);
      const exitCode = await Promise.race([this.#ended.promise, departure]);
      if (exitCode !== null) return exitCode;
      await conversation.depart(`detached from ${this.#attached!.name ?? uid}`);
      return EXIT.ok;
    } finally {
      conversation.finish();
    }
  }

  async #write(uid: string, bytes: Uint8Array): Promise<void> {
    const writeId = `${this.#writePrefix}-${++this.#writes}`;
    await this.#box.call("process/write", { uid, writeId, chunk: encodeBase64(bytes) });
  }

  /** After a lost connection: a terminal's screen is drawn again, and other output continues after what was shown. */
  async #again(): Promise<void> {
    const { uid, tty } = this.#attached!;
    await this.#attach(uid, tty ? null : this.#lastSeq);
  }

  async #attach(uid: string, afterSeq: number | null): Promise<void> {
    this.#early = [];
    const attached = await this.#box.call<Attached>("process/attach", { uid, role: this.#role, afterSeq });
    const early = this.#early;
    this.#early = null;
    this.#attached = attached;
    const untilSeq = attached.nextSeq - 1;
    this.#history = attached.tty ? { untilSeq, chunks: [] } : null;
    for (const notice of early) notice();
    if (attached.firstSeq === null) this.#reached(untilSeq);
  }

  // ---------------------------------------------------------------- what comes

  #notified(method: string, params: Record<string, unknown>): void {
    // This connection has no other attachment, so events that come before the answer belong to this one, too.
    if (this.#attached !== null && params.uid !== this.#attached.uid) return;
    if (this.#early === null) this.#take(method, params);
    else this.#early.push(() => this.#take(method, params));
  }

  #take(method: string, params: Record<string, unknown>): void {
    switch (method) {
      case "process/viewOutput":
        return this.#output(params as Output);
      case "process/viewExited": {
        const exit = params as NotificationTypes["process/viewExited"];
        const { exitCode, sandboxDenied, endReason = null, signal = null } = exit;
        this.#exitCode = exitCodeOf(
          statusOf({ exitCode, sandboxDenied, endReason, signal, failure: null, networkDenials: null }),
        );
        return this.#reached(exit.seq);
      }
      case "process/viewClosed":
        this.#reached((params as NotificationTypes["process/viewClosed"]).seq);
        this.#conversation.show(new Uint8Array()).then(
          () => this.#ended.resolve(this.#exitCode ?? this.#attached?.exitCode ?? EXIT.ownError),
        );
    }
  }

  #output({ seq, stream, chunk, droppedBytes = 0 }: Output): void {
    const bytes = decodeBase64(chunk);
    if (this.#history !== null) this.#history.chunks.push(bytes);
    else {
      if (droppedBytes > 0) console.error(`exec-server: ${droppedBytes} bytes of output are lost`);
      this.#show(bytes, stream);
    }
    this.#reached(seq);
  }

  #reached(seq: number): void {
    this.#lastSeq = Math.max(this.#lastSeq, seq);
    const history = this.#history;
    if (history === null || seq < history.untilSeq) return;
    this.#history = null;
    const { size } = this.#attached!;
    const drawn = drawing(history.chunks, size ?? this.#conversation.size);
    // A user who sees the screen may type, so the terminal is made ready for keys first.
    this.#conversation.showLater(this.#begun.promise.then(() => drawn));
  }

  #show(bytes: Uint8Array, stream: string): void {
    if (stream === "stderr") return void Deno.stderr.writeSync(bytes);
    this.#conversation.show(bytes).catch(() => this.#ended.resolve(EXIT_PIPE_CLOSED));
  }
}

async function drawing(chunks: readonly Uint8Array[], size: Size): Promise<Uint8Array> {
  const { drawnScreen } = await import("./screen.ts");
  return encoder.encode(await drawnScreen(chunks, size));
}
