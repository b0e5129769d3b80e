/** A client on a thread of its own: what it waits for is the server, never the test beside it. */

import { connect } from "./rpc_client.ts";

/** Between two calls: often enough to meet every stall worth a word, seldom enough to be no load. */
const PAUSE_MS = 2;

interface Scope {
  onmessage: ((event: MessageEvent<{ url: string } | "stop">) => void) | null;
  postMessage(message: unknown): void;
}
const scope = self as unknown as Scope;

let isOver = false;

scope.onmessage = async ({ data }) => {
  if (data === "stop") {
    isOver = true;
    return;
  }
  const client = await connect(data.url, { clientName: "bystander" });
  await client.call("environment/status", null);
  scope.postMessage("ready");
  let longestMs = 0;
  try {
    while (!isOver) {
      const begunAt = performance.now();
      await client.call("environment/status", null);
      longestMs = Math.max(longestMs, performance.now() - begunAt);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    await client.close();
    scope.postMessage({ longestMs });
  } catch (error) {
    scope.postMessage({ failure: String(error) });
  }
};
