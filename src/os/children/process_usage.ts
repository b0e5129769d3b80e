/**
 * What processes use: processor time, memory, and the ports they listen on, as `/proc` shows it at this moment. Of a
 * process that is gone, or that belongs to another user, only a part can be seen, or nothing.
 */

import { listNumbers, readLink, readText, readWholeText } from "./procfs.ts";

/** The same on every Linux: the kernel shows times in these units, whatever units it uses itself. */
const TICKS_PER_SECOND = 100;

const LISTENING = "0A";

export interface ListeningSocket {
  readonly address: string;
  readonly port: number;
}

/** Processor time of a process and of those children that it has waited for, in milliseconds. */
export function cpuMsOf(pid: number): number {
  const text = readText(`/proc/${pid}/stat`);
  if (text === null) return 0;
  // Fields are counted after the program's name, which may contain anything.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return ticks * 1000 / TICKS_PER_SECOND;
}

export function residentBytesOf(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readText(`/proc/${pid}/status`) ?? "")?.[1];
  return kib === undefined ? 0 : Number(kib) * 1024;
}

/** TCP sockets of this network namespace that listen, by their inodes. */
export function listeningSockets(): Map<string, ListeningSocket> {
  const sockets = new Map<string, ListeningSocket>();
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    for (const line of readWholeText(table).split("\n").slice(1)) {
      const [, local = "", , state, , , , , , inode] = line.trim().split(/\s+/);
      const [address = "", port = ""] = local.split(":");
      if (state === LISTENING && inode !== undefined) {
        sockets.set(inode, { address: readableAddress(address), port: parseInt(port, 16) });
      }
    }
  }
  return sockets;
}

/** Inodes of the sockets that a process has open. */
export function* socketInodesOf(pid: number): Generator<string> {
  for (const fd of listNumbers(`/proc/${pid}/fd`)) {
    const inode = /^socket:\[(\d+)\]$/.exec(readLink(`/proc/${pid}/fd/${fd}`) ?? "")?.[1];
    if (inode !== undefined) yield inode;
  }
}

/** The kernel writes an address as 32-bit words in the order of the machine's bytes, which is little-endian here. */
function readableAddress(hex: string): string {
  const bytes = hex.match(/.{8}/g)?.flatMap((word) => word.match(/../g)!.reverse().map((byte) => parseInt(byte, 16)));
  if (bytes === undefined) return "";
  if (bytes.length === 4) return bytes.join(".");
  const groups = Array.from({ length: 8 }, (_, at) => (bytes[2 * at]! << 8 | bytes[2 * at + 1]!).toString(16));
  // The URL parser writes an address in its shortest form.
  return new URL(`http://[${groups.join(":")}]/`).hostname.slice(1, -1);
}
