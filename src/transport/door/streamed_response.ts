/**
 * An HTTP answer whose body comes piece by piece, for any time. Like every answer it ends the connection, so the end of
 * the connection is the end of the body. When the peer goes away, the source of the body is cancelled.
 */

import { writeFully } from "../../bytes.ts";
import type { ByteStream } from "../byte_stream.ts";
import { type HttpStatus, serializeHead, statusLine } from "./http_response.ts";

export interface StreamedResponse {
  readonly type: "stream";
  readonly status: HttpStatus;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ReadableStream<Uint8Array>;
}

/** Writes head and body until the body ends. If the peer goes away first, the body is cancelled. */
export async function writeStreamed(
  stream: ByteStream,
  { status, headers, body }: StreamedResponse,
  whenGone: Promise<void>,
): Promise<void> {
  const reader = body.getReader();
  let isGone = false;
  void whenGone.then(() => {
    isGone = true;
    reader.cancel("the peer has gone").catch(() => {});
  });
  try {
    await writeFully(stream, serializeHead(statusLine(status), { ...headers, connection: "close" }));
    for (;;) {
      const { done, value } = await reader.read();
      if (done || isGone) return;
      await writeFully(stream, value);
    }
  } catch (error) {
    await reader.cancel("the peer has gone").catch(() => {});
    throw error;
  }
}
