/**
 * Where links come from: a listening socket, standard input and output, or the requests of another program's
 * `Deno.serve`. The server serves every link the same way and does not know its source.
 */

import type { Link } from "../rpc/link.ts";
import type { Admission } from "./tokens/admissions.ts";

/** The peer that connected. */
export interface Peer {
  /** Counts the connections of this server. */
  readonly id: number;
  readonly remote: string;
  /** The peer's name for its connection, from `x-request-id`. */
  readonly requestId: string | null;
  /** The name of its token, if tokens have names. */
  readonly holder?: string;
}

/** Serves one link. The returned promise is that link's life. */
export type ServeLink = (link: Link, peer: Peer) => Promise<void>;

export interface LinkSource {
  /** Where clients connect, for people. */
  readonly url: string;
  /** Whether links are dialled from here. Then nobody can connect, not even from this machine. */
  readonly isOutbound?: boolean;
  /** Passes on every link until `close`, or until no more can come. Call it once. */
  run(onLink: ServeLink): Promise<void>;
  /** Gets a function that counts the sessions, to find out whether clients may be coming back. */
  observeSessions?(count: () => number): void;
  /** Prepares what the first peer would otherwise wait for. */
  warmUp?(): void;
  /** Accepts no more links. Served links stay until they end or `dropAll`. */
  close(): void;
  /** Drops every link and resolves when all of them have ended. Call `close` first. */
  dropAll(): Promise<void>;
}

/** Serves a link as long as its login is valid. When the login is revoked, the peer is told and disconnected. */
export async function serveAdmitted(
  link: Link,
  peer: Peer,
  { admission, onLink }: { admission: Admission | undefined; onLink: ServeLink },
): Promise<void> {
  if (admission === undefined) return await onLink(link, peer);
  const { revoked, holder } = admission;
  const showOut = () => link.close({ cause: "violation", reason: (revoked.reason as Error).message });
  revoked.addEventListener("abort", showOut);
  try {
    // Revoked while the upgrade was answered: the link is closed already, and serving it ends at once.
    if (revoked.aborted) showOut();
    await onLink(link, { ...peer, holder });
  } finally {
    revoked.removeEventListener("abort", showOut);
    admission.release();
  }
}
