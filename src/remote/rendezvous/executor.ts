/** What the registry knows of every executor, whatever it speaks. */

import type { PublicKey } from "./bodies.ts";

/**
 * What goes over an executor's websockets: JSON-RPC of one client each; frames of many clients; the same, encrypted from
 * end to end.
 */
export type ExecutorKind = "plain" | "relay" | "noise";

/** One registration: what an executor has said of itself. */
export interface Registration {
  /** Which URLs are good for it. In the plain form all registrations of one process have the same. */
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
  /** For the kind `noise`: whether it understands what it is told about its streams. */
  readonly hasStreamAcks: boolean;
}

export interface Executor {
  readonly kind: ExecutorKind;
  /** The latest. */
  registration: Registration;
  /** Whether it has a websocket. */
  readonly isConnected: boolean;
  /** Since when; null when it has none. */
  readonly connectedSince: Date | null;
  /** How long it has shown no life; null when it has no websocket. */
  readonly silentMs: number | null;
  readonly clients: number;
  /** Asks all its websockets for a sign of life and drops those that give none. Whether one has. */
  isAlive(withinMs: number): Promise<boolean>;
  /** Drops all its websockets. */
  close(reason: string): void;
}

/** As `GET /executors` shows it. */
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
