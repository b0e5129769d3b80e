/**
 * What methods and a session's resources see of a connection: the outlet for their messages, what a call gets, and what
 * ends with the connection.
 */

import type { LogFields, Logger } from "../log.ts";
import type { Audience } from "../process/session/audience.ts";
import type { NotificationName, NotificationTypes } from "../protocol/method_types.ts";
import type { OutboundMessage } from "../rpc/link.ts";

/** What a session's resources need of the connection that holds it. */
export interface Outlet {
  /** Sends a notification that is small or rare. */
  notify<Name extends NotificationName>(method: Name, params: NotificationTypes[Name]): void;
  /** Sends an already encoded notification that belongs to a stream of output. */
  output(message: OutboundMessage): void;
  /** False when output sources should pause until `outputHasRoom` is called on them. */
  readonly hasRoom: boolean;
  /** What the client asked for at `initialize`. */
  readonly wants: ReadonlySet<string>;
  /** Whether the client is still there. */
  readonly audience: Audience;
}

/** What a session owns, as far as a connection is concerned. */
export interface SessionResources {
  /** Live notifications go to this outlet from now on; null: to nobody, they are only retained. */
  setOutlet(outlet: Outlet | null): void;
  /** Output may flow again. */
  outputHasRoom(): void;
}

/** Something that belongs to one connection and ends with it: file handles, watches, streams. */
export interface Owned {
  /** Output may flow again. */
  outputHasRoom?(): void;
  close(): void | Promise<void>;
}

/** What a method's function gets besides its parameters. */
export interface CallContext<Resources> {
  readonly resources: Resources;
  /** The object this connection owns under a key, made when it is first requested. */
  owned<Thing extends Owned>(key: symbol, create: () => Thing): Thing;
  readonly outlet: Outlet;
  /** Aborted when the connection ends: nobody is left to answer. */
  readonly signal: AbortSignal;
  /** Its lines carry the connection, the request, the client's trace and the labels set so far. */
  readonly log: Logger;
  /** Adds to every line about this request what it is about. */
  label(fields: LogFields): void;
  /** Runs right after this request's answer was queued, so that what it sends arrives after the answer. */
  afterReply(action: () => void): void;
  /**
   * To be called and awaited before an answer of this many bytes in all is made; not needed where the method's row
   * already says so. A promise means that there was no room yet: release what was gathered meanwhile. It rejects when
   * the connection ends, or with the signal's reason.
   */
  promise(answerBytes: number, signal?: AbortSignal): void | Promise<void>;
  /**
   * To be called before waiting for anything that another request holds: the bytes taken for the answer are given back.
   */
  withdraw(): void;
  /** For what may never come, in requests of the waiting lane: the end of the connection does not wait for it. */
  parked<Value>(waiting: Promise<Value>): Promise<Value>;
  /**
   * Ends the session with everything it owns, and resolves when nothing is left of it. The connection ends after the
   * answer to this request: without a session it has no use.
   */
  endSession(): Promise<void>;
}
