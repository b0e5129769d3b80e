/** `mcp --listen`: serves the endpoint, with the login and certificate of its flags, until it is told to stop. */

import { systemClock } from "../../clock.ts";
import type { Logger } from "../../log.ts";
import { HttpEndpoint } from "../../mcp/http_endpoint.ts";
import type { ProtocolServers } from "../../mcp/protocol_server.ts";
import { printable } from "../../printable.ts";
import { ListenError } from "../../transport/listen/listen_error.ts";
import { refusal } from "../cli_error.ts";
import { onHangUp } from "../hang_up.ts";
import { print } from "../print.ts";
import { LiveAuth } from "../serve/live_auth.ts";
import { LiveTls } from "../serve/live_tls.ts";
import type { HttpDoor } from "./mcp_options.ts";

/** The path of the tool below the address. */
const PATH = "/mcp";

export async function serveHttp(
  door: HttpDoor,
  { servers, signal, log }: { servers: ProtocolServers; signal: AbortSignal; log: Logger },
): Promise<void> {
  const auth = new LiveAuth({
    auth: door.auth,
    reload: door.reloadAuth ?? (() => Promise.resolve(door.auth)),
    log,
  });
  const tls = door.tls === null ? null : await LiveTls.load(door.tls, log);
  const endpoint = await HttpEndpoint.open({
    address: door.address,
    tls: tls?.layer ?? null,
    authenticator: auth.authenticator,
    allowOtherUsers: door.allowOtherUsers,
    servers,
    clock: systemClock,
    log,
  }).catch((error) => {
    if (!(error instanceof ListenError)) throw error;
    throw refusal(`cannot listen on ${printable(error.url)}: ${printable(error.reason)}`, error);
  });
  const running = endpoint.run();
  const stopped = Promise.withResolvers<void>();
  const stop = () => stopped.resolve();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const reloads = [door.reloadAuth === null ? null : () => auth.reload(), tls === null ? null : () => tls.reload()];
  onHangUp({ terminalLost: stop, reloads, log });
  // The only place that shows the random token.
  const url = door.auth.type === "urlToken" ? door.auth.token.addTo(endpoint.url) : `${endpoint.url}${PATH}`;
  if (!await print(`${url}\n`)) log.warn("cannot print the address: standard output is closed");
  log.info("listening", { url: endpoint.url });
  await stopped.promise;
  await endpoint.close();
  await running;
}
