/** What the methods of tunnels take, and what is told of them. */

import * as z from "zod/mini";
import { unconfinable } from "./confinable.ts";
import { convert } from "./convert.ts";
import { Base64Bytes, UnsignedInt } from "./primitives.ts";

export type * from "./net_results.ts";

/** Chosen by the client. Remembered while the tunnel is open, so its length has an end. */
const MAX_TUNNEL_ID_LENGTH = 256;

const TunnelId = z.string().check(
  z.minLength(1, "tunnelId must not be empty"),
  z.maxLength(MAX_TUNNEL_ID_LENGTH, `tunnelId must not be longer than ${MAX_TUNNEL_ID_LENGTH} characters`),
);

export const NetConnectParams = unconfinable(
  z.object({
    tunnelId: TunnelId,
    port: z.int().check(z.minimum(1), z.maximum(0xffff)),
    host: convert(z.nullish(z.string()), (host) => host ?? "localhost"),
  }),
  "the server connects itself, outside of any sandbox",
);
export type NetConnectParams = z.output<typeof NetConnectParams>;

export const NetWriteParams = z.object({ tunnelId: TunnelId, chunk: Base64Bytes });
export type NetWriteParams = z.output<typeof NetWriteParams>;

/** All that came and that the client is done with, from the beginning of the tunnel on. */
export const NetAckParams = z.object({ tunnelId: TunnelId, bytes: UnsignedInt });
export type NetAckParams = z.output<typeof NetAckParams>;

export const NetTunnelParams = z.object({ tunnelId: TunnelId });
export type NetTunnelParams = z.output<typeof NetTunnelParams>;
