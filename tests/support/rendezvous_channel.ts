/** A link through a rendezvous as the channel that a `Client` is made on. */

import { type HarnessOptions, openRendezvousLink } from "../../src/remote/harness/harness.ts";
import { checked } from "./answer_check.ts";
import type { Channel } from "./rpc_client.ts";

/** Checked like any other. */
export async function checkedChannelThrough(options: HarnessOptions): Promise<Channel> {
  const link = await openRendezvousLink(options);
  const channel: Channel = {
    // When it cannot be sent the link is over, and says so at its end.
    send: (text) => void link.send([text]).catch(() => {}),
    onMessage: () => {},
    onClose: () => {},
    close: () => link.close(),
  };
  // On a later turn, so that whoever opened the channel has set its functions.
  setTimeout(async () => {
    const end = await link.receive((message) => channel.onMessage(message ?? ""));
    channel.onClose("reason" in end ? end.reason : "connection closed");
  });
  return await checked(channel);
}
