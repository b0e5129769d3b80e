/** What the registry knows of every executor, of any kind. */

import type { PublicKey } from "./bodies.ts";

/**
 * What an executor's websockets carry: JSON-RPC of one client each; frames of many clients; the same, encrypted from
 * end to end.
 */
export type ExecutorKind = "plain" | "relay" | "noise";

/** One registration: what an executor has said of itself. */
export interface Registration {
  /** Selects the URLs that are valid for it. In the plain form all registrations of one process have the same. */
  readonly registrationId: string;
  readonly executorId: string;
  readonly kind: ExecutorKind;
  /**
   * The same for every registration of one process, or of one key. Null: the executor's version does not say, so each
   * registration may be another process.
   */
  readonly identity: string | null;
  readonly name: string | null;
  readonly version: string | null;
  /** For the kind `noise`, else null. */
  readonly publicKey: PublicKey | null;
  /** The digest of that key. */
  readonly fingerprint: string | null;
  /** For the kind `noise`: whether it understands acknowledgements of its streams. */
  readonly hasStreamAcks: boolean;
}

export interface Executor {
  readonly kind: ExecutorKind;
  /** The latest registration. */
  registration: Registration;
  /** Whether it has a websocket. */
  readonly isConnected: boolean;
  /** Since when it has one; null if it has none. */
  readonly connectedSince: Date | null;
  /** For how long it was silent; null if it has no websocket. */
  readonly silentMs: number | null;
  readonly clients: number;
  /** Asks all its websockets for a sign of life and drops those that give none. Returns whether one did. */
  isAlive(withinMs: number): Promise<boolean>;
  /** Drops all its websockets. */
  close(reason: string): void;
}

/** An executor in the answer to `GET /executors`. */
export interface ExecutorListing {
  readonly id: string;
  readonly kind: ExecutorKind;
  readonly name: string | null;
  readonly version: string | null;
  readonly connected: boolean;
  readonly connectedSince: string | null;
  readonly lastSeen: string | null;
  readonly clients: number;
  /** The fingerprint of the key, for the kind `noise`. */
  readonly fingerprint: string | null;
}

export function listingOf(executor: Executor, nowMs: number): ExecutorListing {
  const { kind, registration, isConnected, connectedSince, silentMs, clients } = executor;
  return {
    id: registration.executorId,
    kind,
    name: registration.name,
    version: registration.version,
    connected: isConnected,
    connectedSince: connectedSince?.toISOString() ?? null,
    lastSeen: silentMs === null ? null : new Date(nowMs - silentMs).toISOString(),
    clients,
    fingerprint: registration.fingerprint,
  };
}
