/**
 * Tells the server how far the output of a process has been taken, so that it may forget it and the process may go on.
 *
 * Acknowledgements are gathered: one is sent when a good part of the window has been taken, or a little later than the
 * last thing that was. At most one is under way, so a fast stream costs one for each round trip at most.
 */

import type { ProcessRef } from "../../protocol/process_ref.ts";
import type { Session } from "../session/session.ts";

/** Sent after this much where the server does not say how large its window is: a small part of any usual one. */
const DEFAULT_ACK_BYTES = 64 * 1024;
/**
 * Half of the window that is reserved: the rest, and what the server lends besides, covers the way of it. Sooner would
 * cost both sides more: an acknowledgement takes as much of their time as the decoding of 256 KiB.
 */
const WINDOW_PARTS = 2;
/** How late the last one may come. */
const LAG_MS = 50;

/** See the head of the module. */
export class Acknowledger {
  readonly #session: Session;
  readonly #reference: ProcessRef;
  /** Everything up to here has been taken. */
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

  /** How much may be unacknowledged before the process waits, where the server has said so. */
  set windowBytes(bytes: number) {
    this.#ackBytes = Math.max(1, Math.floor(bytes / WINDOW_PARTS));
  }

  /** Something was taken. */
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
      // The process is forgotten, or the session is over: nobody waits for this any more.
      () => this.close(),
    );
  }
}
