/** Opens the connection of a client command. */

import { connect, type ConnectOptions } from "../../client/connect.ts";
import type { Devbox } from "../../client/devbox.ts";
import type { Environment } from "../flags.ts";
import type { Place } from "./places/place.ts";
import { resolvePlace, type WhereWords } from "./places/resolve_place.ts";
import { traced } from "./places/traced_transport.ts";
import { transportOf } from "./places/transport_of.ts";

/** A box, and where it is. */
export interface OpenBox {
  readonly box: Devbox;
  readonly place: Place;
}

/** Long, because connecting may have to start a server, here or behind ssh, on a busy machine. */
const START_ATTEMPT = "60s";

/**
 * Connects to the place that a command's words name. Starts the user's own server if that is meant and does not run.
 * Throws a `CliError` or an error of the client library; `failureOf` turns both into messages.
 */
export async function openBox(where: WhereWords, options: ConnectOptions = {}): Promise<OpenBox> {
  const env: Environment = Deno.env.toObject();
  const { place, token } = await resolvePlace(where, env);
  const transport = traced(await transportOf(place, env), where);
  const box = await connect(transport, {
    clientName: "exec-server",
    ...(token === null ? {} : { token }),
    ...(place.kind === "ssh" || place.kind === "own" ? { attemptTimeout: START_ATTEMPT } : {}),
    ...options,
  });
  return { box, place };
}
