/**
 * Tells the server how far the output of a process has been read, so that the server may forget it and the process may
 * go on.
 *
 * Acknowledgements are gathered. One is sent when a good part of the window has been read, or a little after the last
 * read. At most one is under way, so a fast stream costs at most one for each round trip.
 */

import type { ProcessRef } from "../../protocol/process_ref.ts";
import type { Session } from "../session/session.ts";

/** Sent after this much if the server does not say how large its window is: a small part of any usual one. */
const DEFAULT_ACK_BYTES = 64 * 1024;
/**
 * Half of the reserved window. The other half, and what the server lends beyond it, lasts while the acknowledgement
 * travels. Sending sooner would cost both sides more: an acknowledgement takes as much of their time as the decoding of
 * 256 KiB.
 */
const WINDOW_PARTS = 2;
/** How long the last acknowledgement may be delayed. */
const LAG_MS = 50;

/** See the head of the module. */
export class Acknowledger {
  readonly #session: Session;
  readonly #reference: ProcessRef;
  /** Everything up to this number has been read. */
  readonly #takenSeq: () => number;
  #ackBytes = DEFAULT_ACK_BYTES;
  #takenBytes = 0;
  #acknowledgedSeq = 0;
  #isUnderWay = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;
  /** The number of the last event, once it is known. */
  #finalSeq = Infinity;
  readonly #stopListening: () => void;

  constructor(session: Session, reference: ProcessRef, takenSeq: () => number) {
    this.#session = session;
    this.#reference = reference;
    this.#takenSeq = takenSeq;
    this.#stopListening = session.listen({ ended: () => this.close() });
  }

  /** How much may be unacknowledged before the process waits, if the server has said so. */
  set windowBytes(bytes: number) {
    this.#ackBytes = Math.max(1, Math.floor(bytes / WINDOW_PARTS));
  }

  /** Something was read. */
  taken(bytes: number): void {
    this.#takenBytes += bytes;
    if (this.#isOver) return;
    if (this.#takenBytes >= this.#ackBytes) this.#send();
    else this.#timer ??= setTimeout(() => this.#late(), LAG_MS);
  }

  /** There are no more events than these. The server forgets the process some time after the last is acknowledged. */
  finish(finalSeq: number): void {
    this.#finalSeq = finalSeq;
  }

  /** Nothing more is acknowledged. Idempotent. */
  close(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#stopListening();
  }

  /** While output flows, most of it has been acknowledged by now. One look costs less than a timer for each event. */
  #late(): void {
    this.#timer = undefined;
    this.#send();
  }

  #send(): void {
    if (this.#isUnderWay || this.#isOver) return;
    const seq = this.#takenSeq();
    this.#takenBytes = 0;
    if (seq <= this.#acknowledgedSeq) return;
    this.#isUnderWay = true;
    this.#acknowledgedSeq = seq;
    this.#session.request("process/ack", { ...this.#reference, seq }).then(
      () => {
        this.#isUnderWay = false;
        if (seq >= this.#finalSeq) this.close();
        else if (this.#takenSeq() > seq) this.taken(0);
      },
      // The process is forgotten or the session is over, so the acknowledgement is not needed any more.
      () => this.close(),
    );
  }
}
