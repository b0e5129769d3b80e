/**
 * How the library gets a link to a server: a transport opens one, as often as it is asked. What travels on it, and when
 * it is opened again, is the session's business.
 */

/**
 * What one attempt to connect is given.
 *
 * ```ts
 * const sayHello = ({ token, signal }: OpenOptions) => console.log(token !== null, signal.aborted);
 * console.log(sayHello);
 * ```
 */
export interface OpenOptions {
  /** The bearer token of this attempt, where there is one. */
  readonly token: string | null;
  /** Gives the attempt up. */
  readonly signal: AbortSignal;
}

/**
 * Of one message of the server: the longest text that engines make. What a server may send at once is its own affair; the
 * largest is the content of a file, which this library asks for in parts.
 */
export const MAX_INBOUND_BYTES = 512 * 1024 * 1024 - 24;

/**
 * Why a link ended.
 *
 * ```ts
 * const reason = (end: TransportEnd) => end.type === "failed" ? end.reason : end.type;
 * console.log(reason({ type: "peerClosed" }));
 * ```
 */
export type TransportEnd =
  | { readonly type: "peerClosed" }
  | { readonly type: "closedByUs" }
  | { readonly type: "silent"; readonly silentMs: number }
  | { readonly type: "violation"; readonly reason: string }
  | { readonly type: "failed"; readonly reason: string };

/**
 * Whole messages in, whole messages out. The server's own links are of this kind, too.
 *
 * ```ts
 * async function listen(link: TransportLink): Promise<void> {
 *   const { type } = await link.receive((message) => console.log(message));
 *   console.log("ended:", type);
 * }
 * console.log(listen);
 * ```
 */
export interface TransportLink {
  /**
   * Delivers messages in order until the connection ends, then resolves; called once. Null stands for bytes that were no
   * text. A link that can stop reading does so while a promise of the receiver is pending.
   */
  receive(receiver: (message: string | null) => void | Promise<void>): Promise<TransportEnd>;
  /** Sends messages in order. Resolves once they are on their way; rejects when the connection is gone. */
  send(messages: readonly string[]): Promise<void>;
  /** Ends the connection. Idempotent. */
  close(farewell?: { readonly cause: "done" | "violation" | "fault"; readonly reason: string }): void;
}

/**
 * A way to a server.
 *
 * ```ts
 * const counted = (usual: Transport): Transport => ({
 *   name: usual.name,
 *   canReconnect: usual.canReconnect,
 *   open: (options) => (console.log("connecting"), usual.open(options)),
 * });
 * console.log(counted); // `connect(counted(…))` tells of every attempt.
 * ```
 */
export interface Transport {
  /** Where it leads, for people. Holds no secret. */
  readonly name: string;
  /** Whether a session can be found again through a second link. Standard input and output of a child have one. */
  readonly canReconnect: boolean;
  /**
   * Opens a link. Rejects with `ConnectionRefusedError` or `UnauthorisedError`.
   */
  open(options: OpenOptions): Promise<TransportLink>;
}
