/**
 * What one connection is attached to: processes of any session, which it follows and perhaps controls.
 *
 * Each attachment is a cursor over what the process retains. It sends while its connection has room and goes on when there
 * is room again; what was dropped meanwhile is told by its size. So a slow viewer costs no memory and holds up nobody. It
 * ends when the process has closed and everything was sent, or with the connection. The directory decides who may attach
 * to which process.
 */

import { invalidRequest } from "../errors.ts";
import type { ManagedProcess } from "../process/session/managed_process.ts";
import type { OutputChunk } from "../process/session/output_log.ts";
import type { TerminalSize, Viewer } from "../process/session/viewers.ts";
import type { AttachRole, SharedName } from "../protocol/attach.ts";
import { MAX_ATTACHMENTS } from "../protocol/limits.ts";
import { encodeNotification } from "../rpc/envelope.ts";
import type { CallContext, Outlet, Owned } from "./call_context.ts";
import { detailFields } from "./process_outlet.ts";
import type { SessionState } from "./session_state.ts";

/** Read from the log at a time: as much as a connection queues. */
const BATCH_BYTES = 512 * 1024;

const ATTACHMENTS = Symbol("attachments");

/** Those of the connection a request came by. */
export function attachmentsOf(context: CallContext<SessionState>): Attachments {
  return context.owned(ATTACHMENTS, () => new Attachments(context.outlet));
}

class Attachments implements Owned {
  readonly #outlet: Outlet;
  /** By uid, in the order in which they are served: one that had its turn moves to the end. */
  readonly #attached = new Map<string, Attachment>();
  #isClosed = false;

  constructor(outlet: Outlet) {
    this.#outlet = outlet;
  }

  /** Follows a process from a sequence number on. Replaces an earlier attachment. Sends nothing before `begin` is called. */
  attach(process: ManagedProcess, options: { role: AttachRole; afterSeq: number }): { begin(): void } {
    this.#remove(process.uid);
    if (this.#attached.size >= MAX_ATTACHMENTS) {
      throw invalidRequest(`this connection may not be attached to more than ${MAX_ATTACHMENTS} processes at once`);
    }
    const attachment = new Attachment(process, {
      ...options,
      outlet: this.#outlet,
      onOver: () => {
        if (this.#attached.get(process.uid) === attachment) this.#attached.delete(process.uid);
      },
    });
    this.#attached.set(process.uid, attachment);
    return {
      begin: () => {
        if (!this.#isClosed && this.#attached.get(process.uid) === attachment) attachment.begin();
      },
    };
  }

  detach({ uid, name }: SharedName): void {
    for (const { process } of [...this.#attached.values()]) {
      if (process.uid === uid || (name !== null && process.name === name)) this.#remove(process.uid);
    }
  }

  /** Throws if this connection is attached to the process only as a viewer. */
  requireControl(uid: string): void {
    if (this.#attached.get(uid)?.role !== "view") return;
    throw invalidRequest(`this connection is attached to process ${uid} to view it: attach with role \`control\``);
  }

  /** Who changes a process that is named by its uid: the attachment, if there is one, or else the connection itself. */
  partyFor(uid: string): unknown {
    return this.#attached.get(uid) ?? this.#outlet;
  }

  outputHasRoom(): void {
    for (const [uid, attachment] of [...this.#attached]) {
      if (!this.#outlet.hasRoom) return;
      // The first one may take all the room.
      if (this.#attached.delete(uid)) this.#attached.set(uid, attachment);
      attachment.woken();
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const uid of [...this.#attached.keys()]) this.#remove(uid);
  }

  #remove(uid: string): void {
    this.#attached.get(uid)?.end();
    this.#attached.delete(uid);
  }
}

interface AttachmentOptions {
  readonly role: AttachRole;
  readonly afterSeq: number;
  readonly outlet: Outlet;
  /** Everything was told. */
  onOver(): void;
}

class Attachment implements Viewer {
  readonly process: ManagedProcess;
  readonly role: AttachRole;
  readonly #outlet: Outlet;
  readonly #onOver: () => void;
  #stopViewing: (() => void) | null = null;
  #cursor: number;
  #hasToldExit = false;
  /** A size that the client does not know of yet. */
  #newSize: TerminalSize | null = null;

  constructor(process: ManagedProcess, options: AttachmentOptions) {
    this.process = process;
    this.role = options.role;
    this.#outlet = options.outlet;
    this.#onOver = options.onOver;
    this.#cursor = options.afterSeq;
  }

  begin(): void {
    this.#stopViewing = this.process.addViewer(this);
    this.woken();
  }

  end(): void {
    this.#stopViewing?.();
    this.#stopViewing = null;
  }

  resized(size: TerminalSize, by: unknown): void {
    if (by === this) return;
    this.#newSize = size;
    this.woken();
  }

  woken(): void {
    while (this.#stopViewing !== null && this.#outlet.hasRoom) {
      if (this.#newSize !== null) this.#tellSize(this.#newSize);
      const { chunks, gap, closed, nextSeq } = this.process.view(this.#cursor, BATCH_BYTES);
      let { droppedBytes } = gap;
      for (const chunk of chunks) {
        if (!this.#outlet.hasRoom) return;
        this.#tellExitBefore(chunk.seq);
        this.#tellOutput(chunk, droppedBytes);
        droppedBytes = 0;
      }
      if (chunks.length > 0) continue;
      this.#tellExitBefore(Infinity);
      if (closed) this.#tellClosed(nextSeq - 1);
      return;
    }
  }

  #tellOutput({ seq, stream, bytes }: OutputChunk, droppedBytes: number): void {
    const { uid } = this.process;
    const dropped = droppedBytes === 0 ? "" : `,"droppedBytes":${droppedBytes}`;
    // The names of processes and streams need no escaping, and neither does base64.
    const head = `{"method":"process/viewOutput","params":{"uid":"${uid}","seq":${seq},"stream":"${stream}","chunk":"`;
    this.#outlet.output([head, bytes.toBase64(), `"${dropped}}}`]);
    this.#cursor = seq;
  }

  #tellExitBefore(seq: number): void {
    const { uid, exitSeq } = this.process;
    if (this.#hasToldExit || exitSeq === null || exitSeq > seq) return;
    this.#hasToldExit = true;
    // A viewer that begins after the exit learns of it from the answer.
    if (exitSeq <= this.#cursor) return;
    const { exit, networkDenials } = this.process.status();
    const { exitCode, sandboxDenied, end } = exit!;
    const details = detailFields(this.#outlet, { end, networkDenials });
    this.#outlet.notify("process/viewExited", { uid, seq: exitSeq, exitCode, sandboxDenied, ...details });
  }

  #tellClosed(seq: number): void {
    this.#outlet.notify("process/viewClosed", { uid: this.process.uid, seq });
    this.end();
    this.#onOver();
  }

  #tellSize({ rows, cols }: TerminalSize): void {
    this.#newSize = null;
    const { uid, processId } = this.process;
    this.#outlet.output(encodeNotification("process/resized", { uid, processId, rows, cols }));
  }
}
