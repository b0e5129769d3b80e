/** Clients that come to an executor through a `TinyRendezvous`, in either form, checked like any other. */

import { memoryPins, type PinStore } from "../../src/remote/harness/pins.ts";
import { checked } from "./answer_check.ts";
import { checkedChannelThrough } from "./rendezvous_channel.ts";
import { Client, type ConnectOptions, openWebSocket } from "./rpc_client.ts";
import type { TinyRendezvous } from "./tiny_rendezvous.ts";

export type Form = "noise" | "plain";

export async function connectThrough(
  rendezvous: TinyRendezvous,
  form: Form,
  options: Partial<ConnectOptions> & { pins?: PinStore } = {},
): Promise<Client> {
  const { pins = memoryPins(), ...rest } = options;
  const channel = form === "plain"
    ? await checked(await openWebSocket(`${rendezvous.url.replace(/^http/, "ws")}/client`))
    : await checkedChannelThrough({ rendezvous: rendezvous.url, executor: "devbox", token: "client-token", pins });
  return await Client.handshake(channel, { clientName: "test", ...rest });
}
