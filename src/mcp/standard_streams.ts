/**
 * MCP over standard input and output. It ends when the client closes its side, or when nobody reads ours any more. The
 * protocol library picks the era by the first message. It would end at a line that is too long for it, so such a line
 * is refused before it gets there.
 */

import process from "node:process";
import { ProtocolErrorCode, type Server } from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import type { Logger } from "../log.ts";
import { BoundedLines } from "./bounded_lines.ts";
import { MAX_LINE_BYTES } from "./limits.ts";
import type { Era } from "./protocol_server.ts";
import { readableText } from "./readable_message.ts";

class EndingTransport extends StdioServerTransport {
  readonly #ended = Promise.withResolvers<void>();
  readonly #lines: BoundedLines;

  constructor(onTooLong: (transport: EndingTransport) => void) {
    const lines = new BoundedLines({
      maxBytes: MAX_LINE_BYTES,
      onTooLong: () => onTooLong(this),
      repair: readableText,
    });
    super(lines, process.stdout, { maxBufferSize: MAX_LINE_BYTES });
    this.#lines = lines;
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  override async start(): Promise<void> {
    await super.start();
    process.stdin.on("error", (error) => this.#lines.destroy(error));
    process.stdin.pipe(this.#lines);
  }

  override async close(): Promise<void> {
    await super.close();
    process.stdin.unpipe(this.#lines);
    process.stdin.pause();
    this.#ended.resolve();
  }
}

/** Serves until the end. The signal ends it from this side. */
export async function serveStandardStreams(
  create: (era: Era) => Server,
  { signal, log }: { signal: AbortSignal; log: Logger },
): Promise<void> {
  const onerror = (error: Error) => log.debug("MCP message not served", { reason: error.message });
  const transport = new EndingTransport((tooLong) => {
    const message = `a message has at most ${MAX_LINE_BYTES} bytes: this one was not read`;
    log.warn("MCP message not served", { reason: message });
    const error = { code: ProtocolErrorCode.InvalidRequest, message };
    // Its id is not known.
    tooLong.send({ jsonrpc: "2.0", id: null, error } as never).catch(onerror);
  });
  const handle = serveStdio(({ era }) => create(era), { transport, onerror });
  signal.addEventListener("abort", () => void handle.close(), { once: true });
  await transport.ended;
}
