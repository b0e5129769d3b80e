/**
 * MCP over standard input and output. It ends when the client closes its side, or when nobody reads ours any more. The
 * protocol library picks the era by the first message.
 */

import { type Server } from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import type { Logger } from "../log.ts";
import type { Era } from "./protocol_server.ts";

class EndingTransport extends StdioServerTransport {
  readonly #ended = Promise.withResolvers<void>();

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  override async close(): Promise<void> {
    await super.close();
    this.#ended.resolve();
  }
}

/** Serves until the end. The signal ends it from this side. */
export async function serveStandardStreams(
  create: (era: Era) => Server,
  { signal, log }: { signal: AbortSignal; log: Logger },
): Promise<void> {
  const transport = new EndingTransport();
  const handle = serveStdio(({ era }) => create(era), {
    transport,
    onerror: (error) => log.debug("MCP message not served", { reason: error.message }),
  });
  signal.addEventListener("abort", () => void handle.close(), { once: true });
  await transport.ended;
}
