/**
 * One request and its response on a connection of its own.
 *
 * HTTP/1.1 is written by hand because the runtime's clients change requests and responses: `fetch` joins repeated
 * response headers, decodes bodies, adds headers of its own and refuses methods; `node:http` of the runtime we compile
 * for crashes on a body that ends early.
 */

import { type Body, openBody } from "./body.ts";
import { ByteReader, endedEarly } from "./byte_reader.ts";
import type { Dialer } from "./dialer.ts";
import { LONG_HEAD_BYTES, MAX_INFORMATIONAL_RESPONSES } from "./limits.ts";
import { encodeHead, type OutgoingRequest } from "./outgoing_request.ts";
import { bodyFraming, HttpProtocolError, parseResponseHead, type ResponseHead } from "./response_head.ts";
import type { Socket } from "./socket.ts";

export interface IncomingResponse extends ResponseHead {
  readonly body: Body;
  /** Releases the connection. Idempotent. */
  close(): void;
}

/**
 * Resolves with the response's head; its body is read from then on. Everything ends with the signal. `turn` resolves when
 * everybody else has had a turn.
 */
export async function exchange(
  request: OutgoingRequest,
  dialer: Dialer,
  signal: AbortSignal,
  turn?: () => Promise<void>,
): Promise<IncomingResponse> {
  const { socket, form, headers } = await dialer.dial(request.url, signal);
  try {
    const reader = new ByteReader((into) => socket.read(into));
    // A server may answer before it has read the whole request, and then stop reading: then only the answer counts.
    let sendError: unknown = null;
    send(socket, encodeHead(request, form, headers), request.body).catch((error) => sendError = error);
    const head = await readFinalHead(reader, turn).catch((error) => {
      throw sendError ?? error;
    });
    const body = openBody(reader, bodyFraming(request.method, head));
    return { ...head, body, close: () => socket.close() };
  } catch (error) {
    socket.close();
    throw error;
  }
}

async function send(socket: Socket, head: Uint8Array, body: Uint8Array | null): Promise<void> {
  await socket.write(head);
  if (body !== null) await socket.write(body);
}

async function readFinalHead(reader: ByteReader, turn?: () => Promise<void>): Promise<ResponseHead> {
  for (let count = 0; count <= MAX_INFORMATIONAL_RESPONSES; count++) {
    const bytes = await reader.readHead();
    if (bytes === null) throw endedEarly();
    // Those of many servers may arrive together.
    if (bytes.length > LONG_HEAD_BYTES) await turn?.();
    const head = parseResponseHead(bytes);
    if (head.status >= 200 || head.status === 101) return head;
  }
  throw new HttpProtocolError("too many informational responses");
}
