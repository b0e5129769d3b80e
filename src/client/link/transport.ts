/**
 * How the library gets a link to a server: a transport opens one, as often as it is asked. The session decides what is
 * sent on it, and when it is opened again.
 */

/**
 * The options of one attempt to connect.
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
 * The longest message of the server: the longest text that engines can make. The server decides how much it sends at
 * once. The largest answers are contents of files, which this library requests in parts.
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
 * Carries whole messages in both directions. The server's own links are of this kind, too.
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
   * Delivers messages in order until the connection ends, then resolves; called once. Null stands for bytes that were
   * not UTF-8. A link that can stop reading does so while a promise of the receiver is pending.
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
  /** Where it leads, as shown to people. Contains no secret. */
  readonly name: string;
  /** Whether a second link can reach the same session. A child's standard input and output are only one link. */
  readonly canReconnect: boolean;
  /**
   * Opens a link. Rejects with `ConnectionRefusedError` or `UnauthorisedError`.
   */
  open(options: OpenOptions): Promise<TransportLink>;
}
