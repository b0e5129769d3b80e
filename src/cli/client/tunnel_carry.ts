/**
 * Joins a local connection with its tunnel. Each direction waits for its own reader and ends on its own. If one fails,
 * both end.
 */

import { writeFully } from "../../bytes.ts";
import type { Tunnel } from "../../client/net/tunnel.ts";

const READ_BYTES = 64 * 1024;

/**
 * Resolves when both directions have ended. Rejects if there is no tunnel. A connection that breaks off is not an
 * error.
 */
export async function carry(near: Deno.TcpConn, open: () => Promise<Tunnel>): Promise<void> {
  let tunnel: Tunnel;
  try {
    near.setNoDelay(true);
    tunnel = await open();
  } catch (error) {
    near.close();
    throw error;
  }
  const there = sendAll(near, tunnel);
  const back = receiveAll(near, tunnel);
  try {
    await Promise.all([there, back]);
  } catch {
    // One side has gone. Ending the other one tells it.
  } finally {
    tunnel.close();
    near.close();
    await Promise.allSettled([there, back]);
  }
}

async function sendAll(near: Deno.TcpConn, tunnel: Tunnel): Promise<void> {
  const writer = tunnel.writable.getWriter();
  for (;;) {
    const buffer = new Uint8Array(READ_BYTES);
    const count = await near.read(buffer);
    if (count === null) break;
    await writer.write(buffer.subarray(0, count));
  }
  await writer.close();
}

async function receiveAll(near: Deno.TcpConn, tunnel: Tunnel): Promise<void> {
  for await (const bytes of tunnel.readable) await writeFully(near, bytes);
  await near.closeWrite();
}
