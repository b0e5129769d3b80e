/**
 * Which users of this machine may connect to a server that asks for no token: its own user, and root.
 *
 * On loopback the kernel knows which user owns the socket at the other end. It must be asked when the connection is
 * accepted, before anything is read: the socket of a peer that has closed looks like root's. Uncertain cases are
 * refused.
 *
 * A confined process of the server's own user is let in: this is about other users. A port forwarded by ssh counts as
 * the user who logged in.
 */

import {
  effectiveUid,
  type Endpoints,
  ownerOfOwnConnection,
  type SocketOwner,
  SocketOwners,
} from "../../os/loop/socket_owner.ts";
import { readSysctl, readUidMap } from "../../os/children/procfs.ts";
import type { AcceptedStream } from "../listen/stream_source.ts";

/** The body of 403. */
export const OTHER_USER_REFUSAL =
  "this server asks for no token and serves its own user and root only: connect as one of them, start it with " +
  "--ws-auth, or let every user of this machine in with --allow-other-users";

const ROOT = 0;
/** The default if the kernel does not say: the user that stands for all users that a user namespace does not map. */
const DEFAULT_OVERFLOW_UID = 65_534;

/** Which users are let in. */
export interface UserRule {
  readonly ownUid: number;
  /** Stands for users that cannot be told apart. Null where every user can be. */
  readonly overflowUid: number | null;
}

export class LocalUsers {
  readonly #owners: SocketOwners;
  readonly #rule: UserRule;

  private constructor(owners: SocketOwners, rule: UserRule) {
    this.#owners = owners;
    this.#rule = rule;
  }

  /** Throws where the kernel cannot be asked, or does not recognise our own connection. */
  static open(address: Uint8Array): LocalUsers {
    const owners = SocketOwners.open();
    try {
      const rule = { ownUid: effectiveUid(), overflowUid: overflowUid() };
      const problem = ownerProblem(ownerOfOwnConnection(owners, address), rule);
      if (problem !== null) throw new Error(`the check with a connection of our own failed: ${problem}`);
      return new LocalUsers(owners, rule);
    } catch (error) {
      owners[Symbol.dispose]();
      throw error;
    }
  }

  /** Why the peer of a connection that was just accepted is refused, for the log; null lets it in. */
  refuse(stream: AcceptedStream): string | null {
    const endpoints: Endpoints | null = stream.endpoints();
    if (endpoints === null) return "the connection has gone";
    return ownerProblem(this.#owners.ownerOfPeer(endpoints), this.#rule);
  }

  close(): void {
    this.#owners[Symbol.dispose]();
  }
}

/** Why a user may not connect; null: it may. Uncertain cases are refused. */
export function ownerProblem(owner: SocketOwner | null, { ownUid, overflowUid }: UserRule): string | null {
  if (owner === null) return "the kernel knows no such connection";
  // Sockets without an owner look like root's.
  if (!owner.isEstablished || owner.inode === 0) return "the peer has closed already";
  if (owner.uid === overflowUid) return "the peer's user is not known in this user namespace";
  if (owner.uid !== ownUid && owner.uid !== ROOT) return `the peer is another user (uid ${owner.uid})`;
  return null;
}

/** Null outside of user namespaces: there every user can be told apart, even `nobody`. */
function overflowUid(): number | null {
  if (/^\s*0\s+0\s+4294967295\s*$/.test(readUidMap() ?? "")) return null;
  return Number(readSysctl("kernel.overflowuid") ?? DEFAULT_OVERFLOW_UID);
}
