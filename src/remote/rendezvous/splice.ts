/** Joins two websockets: what one side sends goes to the other, and when one side ends, the other is ended. */

import { CLOSE_CODE } from "../../transport/websocket/websocket_frames.ts";
import type { FrameSocket, SocketEnd } from "./frame_socket.ts";

/** A socket, and the promise of its `run`. */
export interface RunningSocket {
  readonly socket: FrameSocket;
  readonly ended: Promise<SocketEnd>;
}

export interface SpliceEnd {
  /** Which of the two ended first. */
  readonly first: "client" | "executor";
  readonly end: SocketEnd;
}

/** Joins both until one of them ends; the other is told at once. Resolves when both have ended. */
export async function splice(client: RunningSocket, executor: RunningSocket): Promise<SpliceEnd> {
  client.socket.passTo(executor.socket);
  executor.socket.passTo(client.socket);
  const first = await Promise.race([
    client.socket.ending.then((end): SpliceEnd => ({ first: "client", end })),
    executor.socket.ending.then((end): SpliceEnd => ({ first: "executor", end })),
  ]);
  const other = first.first === "client" ? executor : client;
  const { by, code, reason } = first.end;
  // A peer's own close code is passed on. Any other end is described in our words.
  if (by === "peer" && isSendable(code)) other.socket.close(code, reason);
  else other.socket.close(CLOSE_CODE.normal, `the ${first.first} has gone${reason === "" ? "" : `: ${reason}`}`);
  await Promise.all([client.ended, executor.ended]);
  return first;
}

/** Codes that a frame may carry: RFC 6455, section 7.4. */
function isSendable(code: number): boolean {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}
