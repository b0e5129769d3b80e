/**
 * A part of the warm-up: it makes the requests that clients usually send first, without a client.
 *
 * The runtime compiles a function when it is first called, which takes longer than most requests do. So a connection
 * without a peer asks what clients ask first, and the answers are dropped. It only looks, has a session of its own that
 * no client can know, and writes nothing to the log.
 */

import type { Clock } from "../clock.ts";
import type { EnvironmentInfo } from "../protocol/environment.ts";
import { silentLogger } from "../log.ts";
import type { Link, LinkEnd, OutboundMessage } from "../rpc/link.ts";
import { wholeText } from "../rpc/whole_text.ts";
import type { CallContext } from "./call_context.ts";
import { Connection } from "./connection.ts";
import type { LateMethods, Methods } from "./late_methods.ts";
import { SessionRegistry } from "./sessions.ts";
import type { SessionState } from "./session_state.ts";

export interface RehearsalOptions {
  readonly clock: Clock;
  readonly methods: LateMethods<Methods<CallContext<SessionState>, SessionState>>;
  readonly environmentInfo: EnvironmentInfo;
  createResources(): SessionState;
}

/** Small, and there wherever files can be read at all. */
const SMALL_FILE = "file:///proc/self/comm";

/** One answer each, but for the notification. */
const SCRIPT: readonly { readonly method: string; readonly params?: Record<string, unknown> }[] = [
  { method: "initialize", params: { clientName: "rehearsal" } },
  { method: "initialized" },
  { method: "environment/info" },
  { method: "environment/status" },
  { method: "fs/getMetadata", params: { path: "file:///" } },
  { method: "fs/readFile", params: { path: SMALL_FILE } },
  { method: "process/list", params: {} },
  // Of a process that is not there.
  { method: "process/write", params: { processId: "none", chunk: "" } },
  { method: "process/terminate", params: { processId: "none" } },
];

/** Resolves with the answers when all have been given. */
export async function rehearse({ createResources, ...options }: RehearsalOptions): Promise<string[]> {
  const link = new ScriptedLink();
  const log = silentLogger();
  const sessions = new SessionRegistry({
    clock: options.clock,
    log,
    detachedTtlMs: 0,
    createResources,
    endResources: (state, reason) => state.end(reason, 0),
  });
  const connection = new Connection({
    ...options,
    link,
    log,
    sessions,
    concurrentRequests: null,
    onGreeted: () => {},
    answersAfterEnd: false,
  });
  await connection.run();
  await sessions.endAll("sessionEnded");
  return link.answers;
}

/** Sends one request after the other, each when the one before has been answered. */
class ScriptedLink implements Link {
  readonly answers: string[] = [];
  #answered: () => void = () => {};
  #isClosed = false;

  async receive(receiver: (message: string) => void | Promise<void>): Promise<LinkEnd> {
    for (const [id, { method, params }] of SCRIPT.entries()) {
      if (this.#isClosed) break;
      const isRequest = method !== "initialized";
      const answer = isRequest ? new Promise<void>((resolve) => this.#answered = resolve) : null;
      await receiver(JSON.stringify({ ...(isRequest ? { id } : {}), method, params }));
      await answer;
    }
    return { type: "peerClosed" };
  }

  async send(messages: readonly OutboundMessage[]): Promise<void> {
    for (const message of messages) this.answers.push(await wholeText(message));
    this.#answered();
  }

  probe(): void {}

  close(): void {
    this.#isClosed = true;
    this.#answered();
  }
}
