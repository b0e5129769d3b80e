/**
 * Describes a refused network call in words: `socket(AF_INET, SOCK_STREAM)`, `connect(/run/docker.sock)`. Pure; the
 * address of a connection lies in the caller's memory and is fetched by others.
 */

import { byteStringOf, lossyText } from "../../os/files/byte_string.ts";
import { type Architecture, syscallNumber } from "./syscalls.ts";

export type NetworkCall =
  /** Known from its arguments. */
  | { readonly type: "described"; readonly text: string; readonly isProbe: boolean }
  /** Known once `describeAddress` has seen the address. */
  | {
    readonly type: "addressed";
    readonly name: "connect" | "bind";
    readonly address: bigint;
    readonly addressBytes: number;
  };

/** A call's number and arguments, as the kernel has them. */
export interface RawCall {
  readonly number: number;
  readonly args: readonly bigint[];
}

const AF_UNIX = 1;
const AF_INET6 = 10;
const AF_NETLINK = 16;

const FAMILIES: Readonly<Record<number, string>> = {
  0: "AF_UNSPEC",
  [AF_UNIX]: "AF_UNIX",
  2: "AF_INET",
  [AF_INET6]: "AF_INET6",
  15: "AF_KEY",
  [AF_NETLINK]: "AF_NETLINK",
  17: "AF_PACKET",
  29: "AF_CAN",
  30: "AF_TIPC",
  31: "AF_BLUETOOTH",
  38: "AF_ALG",
  40: "AF_VSOCK",
  43: "AF_SMC",
  44: "AF_XDP",
};

/**
 * What programs try at their start to learn which networks the machine has, not to reach anything: npm lists the
 * interfaces, Python's `requests` tests for IPv6. A program that wants to reach something also tries IPv4.
 */
const PROBED_FAMILIES = [AF_INET6, AF_NETLINK];

const TYPES: Readonly<Record<number, string>> = {
  1: "SOCK_STREAM",
  2: "SOCK_DGRAM",
  3: "SOCK_RAW",
  4: "SOCK_RDM",
  5: "SOCK_SEQPACKET",
  6: "SOCK_DCCP",
  10: "SOCK_PACKET",
};
/** Above it the type argument carries flags. */
const TYPE_MASK = 0xfn;

/** `struct sockaddr_un`, the longest address that is of use. */
const MAX_ADDRESS_BYTES = 110;
const FAMILY_BYTES = 2;

/** Null for a call that has nothing to do with the network. */
export function networkCall({ number, args }: RawCall, architecture: Architecture): NetworkCall | null {
  const [first = 0n, second = 0n, third = 0n] = args;
  const addressed = (["connect", "bind"] as const).find((name) => number === syscallNumber(name, architecture));
  if (addressed !== undefined) {
    // A negative length looks like a large one here; only this much is ever read.
    const addressBytes = Math.min(Number(BigInt.asUintN(32, third)), MAX_ADDRESS_BYTES);
    return { type: "addressed", name: addressed, address: second, addressBytes };
  }
  const name = (["socket", "socketpair"] as const).find((name) => number === syscallNumber(name, architecture));
  if (name === undefined) return null;
  const family = Number(BigInt.asIntN(32, first));
  const type = Number(second & TYPE_MASK);
  return {
    type: "described",
    text: `${name}(${familyName(family)}, ${TYPES[type] ?? `type ${type}`})`,
    isProbe: PROBED_FAMILIES.includes(family),
  };
}

/**
 * Where the C library itself asks when a program looks up a user or a group. Most programs do this several times
 * without knowing, whether anything listens there or not, and can do without an answer.
 */
const NAME_SERVICES = [
  "/run/nscd/socket",
  "/var/run/nscd/socket",
  "/run/systemd/userdb/",
  "/var/lib/sss/pipes/",
];

/** What was to be connected or bound; null when that is not worth recording. */
export function describeAddress(address: Uint8Array): string | null {
  if (address.length < FAMILY_BYTES) return null;
  const family = new DataView(address.buffer, address.byteOffset).getUint16(0, true);
  const name = address.subarray(FAMILY_BYTES);
  if (family !== AF_UNIX || name.length === 0) return familyName(family);
  // A name that begins with NUL is not a path, and all of it counts; people write it with an @.
  if (name[0] === 0) return `@${lossyText(byteStringOf(name.subarray(1))).replaceAll("\0", "@")}`;
  const end = name.indexOf(0);
  const path = lossyText(byteStringOf(end === -1 ? name : name.subarray(0, end)));
  return NAME_SERVICES.some((service) => service.endsWith("/") ? path.startsWith(service) : path === service)
    ? null
    : path;
}

function familyName(family: number): string {
  return FAMILIES[family] ?? `family ${family}`;
}
