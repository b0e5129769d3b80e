/** `connect` of the client library, over links that are checked like any other client's. */

import { type Address, connect, type ConnectOptions, type Devbox } from "../../src/client/mod.ts";
import type { Transport } from "../../src/client/link/transport.ts";
import { CommandTransport } from "../../src/client/link/command_transport.ts";
import { RendezvousTransport } from "../../src/client/link/rendezvous_transport.ts";
import { NodeSocketTransport } from "../../src/client/link/node_socket_transport.ts";
import { WebSocketTransport } from "../../src/client/link/web_socket_transport.ts";
import { checkedLink } from "./answer_check.ts";

export type CheckedBoxOptions = ConnectOptions & { readonly onChecked?: (method: string) => void };

export async function connectBox(address: Address, options: CheckedBoxOptions = {}): Promise<Devbox> {
  const { onChecked, ...rest } = options;
  const transport = transportTo(address, rest);
  return await connect({
    name: transport.name,
    canReconnect: transport.canReconnect,
    open: async (opening) => await checkedLink(await transport.open(opening), onChecked),
  }, rest);
}

function transportTo(address: Address, { headers, WebSocket, tokenIn }: ConnectOptions): Transport {
  if (typeof address === "object" && "open" in address) return address;
  if (typeof address === "object" && "command" in address) return new CommandTransport(address);
  if (typeof address === "object" && "rendezvous" in address) return new RendezvousTransport(address, { WebSocket });
  const url = String(address);
  if (url.startsWith("unix:")) return new NodeSocketTransport(url, headers);
  return new WebSocketTransport(new URL(url), { headers, WebSocket, tokenIn });
}
