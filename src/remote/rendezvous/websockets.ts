/**
 * The websockets of a rendezvous: who may open one, what it is joined to, and its audit lines.
 *
 * Executors and harnesses use URLs that the registry has signed. Clients of plain executors use their token.
 */

import type { Clock } from "../../clock.ts";
import type { Logger } from "../../log.ts";
import { sharedPacer } from "../../os/loop/pacer.ts";
import type { HttpResponse } from "../../transport/door/http_response.ts";
import { MessageSocket } from "../../transport/websocket/message_socket.ts";
import type { AcceptedStream } from "../../transport/listen/stream_source.ts";
import type { Admissions } from "../../transport/tokens/admissions.ts";
import type { Wish } from "../../transport/tokens/token_table.ts";
import { type AcceptedUpgrade, refuseHandshake, websocketAccept } from "../../transport/door/upgrade.ts";
import { CLOSE_CODE } from "../../transport/websocket/websocket_frames.ts";
import { MAX_RELAY_MESSAGE_BYTES } from "../relay/limits.ts";
import { problem } from "./answers.ts";
import { auditFields, type Caller, type Request } from "./caller.ts";
import type { ConnectionCounts } from "./connection_counts.ts";
import { FrameSocket } from "./frame_socket.ts";
import { HOLD_UPGRADE_MS, MAX_SILENT_MS, PING_INTERVAL_MS, PROBE_MS, type RendezvousLimits } from "./limits.ts";
import { PlainExecutor } from "./plain_executor.ts";
import type { Registry } from "./registry.ts";
import type { RelayExecutor } from "./relay_executor.ts";
import { complainOfKind, staleUrl, tooManyClients } from "./socket_refusals.ts";
import { type RunningSocket, splice } from "./splice.ts";
import { type Ticket, type TicketOffice, type TicketPurpose, tokenOf } from "./tickets.ts";
import { UsedTickets } from "./used_tickets.ts";

/** What happens to an upgrade. Exactly one of the two is called, once. */
export interface RendezvousUpgrade extends AcceptedUpgrade {
  serve(stream: AcceptedStream, initialBytes: Uint8Array<ArrayBuffer>): Promise<void>;
  abandon(): void;
}

export interface WebsocketsOptions {
  readonly registry: Registry;
  readonly office: TicketOffice;
  readonly admissions: Admissions;
  readonly counts: ConnectionCounts;
  readonly limits: RendezvousLimits;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A websocket of either kind that can be ended. */
interface Endable {
  end(reason: string): void;
}

type Life = (stream: AcceptedStream, initialBytes: Uint8Array<ArrayBuffer>) => { socket: Endable; life: Promise<void> };

/** The part that clients of 0.131 to 0.140 add to a URL to say that they speak the relay's framing. */
const HARNESS_ROLE = "harness";

export class Websockets {
  readonly #options: WebsocketsOptions;
  readonly #usedTickets: UsedTickets;

  constructor(options: WebsocketsOptions) {
    this.#options = options;
    this.#usedTickets = new UsedTickets();
  }

  /** An executor that uses the URL of `register`. */
  async executor(id: string, request: Request, address: string): Promise<HttpResponse | RendezvousUpgrade> {
    const { registry, admissions } = this.#options;
    const ticket = await this.#ticketOf(request, "executor", id);
    const entry = ticket === null ? null : tokenOf(ticket, admissions.table);
    const wish: Wish = { role: "executor", id };
    if (ticket === null || entry === null || !admissions.holds(entry, wish)) return staleUrl("register");
    const executor = registry.find(id);
    if (executor === null || executor.registration.registrationId !== ticket.registration) return staleUrl("register");
    // Executors with many clients come back to the same URL; those with one register anew.
    if (executor instanceof PlainExecutor) {
      if (ticket.expiresAtMs <= Date.now()) return staleUrl("register");
    } else {
      // This may take some time, while the present websocket is asked for a sign of life.
      if (!request.admit()) return problem(503, "too_many_connections", "too many connections: try again");
      if (!await executor.mayComeBack(ticket.registration, PROBE_MS)) return staleUrl("register");
    }

    const caller: Caller = { entry, address };
    const { registration } = executor;
    return this.#upgrade(request, { caller, wish }, (stream, initialBytes) => {
      const about = { ...auditFields(id, caller), kind: executor.kind, name: registration.name ?? undefined };
      if (executor instanceof PlainExecutor) {
        const running = this.#frameSocket(stream, initialBytes);
        return { socket: endFrames(running), life: this.#audited("executor", about, executor.serve(running)) };
      }
      const socket = this.#messageSocket(stream, initialBytes);
      return {
        socket: endMessages(socket),
        life: this.#audited("executor", about, executor.serve(socket, registration)),
      };
    });
  }

  /** A harness that uses the URL of `connect`. */
  async harness(id: string, request: Request, address: string): Promise<HttpResponse | RendezvousUpgrade> {
    const { registry, admissions } = this.#options;
    const ticket = await this.#ticketOf(request, "harness", id);
    const entry = ticket === null ? null : tokenOf(ticket, admissions.table);
    const wish: Wish = { role: "client", id };
    if (ticket === null || entry === null || !admissions.holds(entry, wish)) return staleUrl("connect");
    const executor = registry.find(id);
    if (executor === null || executor instanceof PlainExecutor) return staleUrl("connect");
    if (executor.servedRegistration?.registrationId !== ticket.registration) return staleUrl("connect");
    if (ticket.expiresAtMs <= Date.now() || !this.#usedTickets.use(ticket)) return staleUrl("connect");
    return this.#harnessUpgrade(executor, request, { caller: { entry, address }, wish });
  }

  /** A client with its own token. It waits while its executor is away. */
  async client(id: string, request: Request, caller: Caller): Promise<HttpResponse | RendezvousUpgrade> {
    const malformed = refuseHandshake(request.head);
    if (malformed !== null) return malformed;
    if (!request.admit()) return problem(503, "too_many_connections", "too many connections: try again");
    const wish: Wish = { role: "client", id };
    const isHarness = queryOf(request).get("role") === HARNESS_ROLE;
    const deadlineMs = this.#options.clock.now() + HOLD_UPGRADE_MS;
    for (;;) {
      const found = await this.#options.registry.waitFor(id, () => this.#usable(id, isHarness), {
        withinMs: Math.max(0, deadlineMs - this.#options.clock.now()),
        gone: request.whenGone(),
      });
      if (found === null) {
        return problem(503, "executor_not_connected", `executor ${id} is not connected or busy: try again`);
      }
      if ("status" in found) return found;
      if (!("running" in found)) return this.#harnessUpgrade(found.executor, request, { caller, wish });
      if (!await PlainExecutor.isFresh(found.running, PROBE_MS)) continue;
      return this.#clientUpgrade(found, request, { caller, wish });
    }
  }

  /** What a client of this kind gets now: a way to the executor, a final refusal, or nothing yet. */
  #usable(
    id: string,
    isHarness: boolean,
  ): { executor: PlainExecutor; running: RunningSocket } | { executor: RelayExecutor } | HttpResponse | null {
    const executor = this.#options.registry.find(id);
    if (executor === null || !executor.isConnected) return null;
    const complaint = complainOfKind(executor, isHarness);
    if (complaint !== null) return problem(409, "wrong_protocol", complaint);
    if (executor.clients >= this.#options.limits.clientsPerExecutor) return tooManyClients(id);
    if (!(executor instanceof PlainExecutor)) return { executor };
    const running = executor.take();
    return running === null ? null : { executor, running };
  }

  #clientUpgrade(
    { executor, running }: { executor: PlainExecutor; running: RunningSocket },
    request: Request,
    who: { caller: Caller; wish: Wish },
  ): HttpResponse | RendezvousUpgrade {
    const about = auditFields(executor.registration.executorId, who.caller);
    const answer = this.#upgrade(request, who, (stream, initialBytes) => {
      const client = this.#frameSocket(stream, initialBytes);
      const executorBytesBefore = running.socket.receivedBytes;
      const spliced = splice(client, running).then(({ first, end }) => ({
        endedBy: first,
        reason: end.reason || undefined,
        bytesToExecutor: client.socket.receivedBytes,
        bytesToClient: running.socket.receivedBytes - executorBytesBefore,
      }));
      return { socket: endFrames(client), life: this.#audited("client", about, spliced) };
    }, () => executor.giveBack(running));
    if (answer.type === "response") executor.giveBack(running);
    return answer;
  }

  #harnessUpgrade(
    executor: RelayExecutor,
    request: Request,
    who: { caller: Caller; wish: Wish },
  ): HttpResponse | RendezvousUpgrade {
    const id = executor.registration.executorId;
    if (executor.clients >= this.#options.limits.clientsPerExecutor) return tooManyClients(id);
    return this.#upgrade(request, who, (stream, initialBytes) => {
      const socket = this.#messageSocket(stream, initialBytes);
      const life = this.#audited("client", auditFields(id, who.caller), executor.serveHarness(socket));
      return { socket: endMessages(socket), life };
    });
  }

  /** The upgrade itself: checks the limits, counts it, and ends it when the token is not valid any more. */
  #upgrade(
    request: Request,
    { caller, wish }: { caller: Caller; wish: Wish },
    begin: Life,
    onAbandon: () => void = () => {},
  ): HttpResponse | RendezvousUpgrade {
    const malformed = refuseHandshake(request.head);
    if (malformed !== null) return malformed;
    const [key = ""] = request.head.headers.get("sec-websocket-key") ?? [];
    const [requestId = null] = request.head.headers.get("x-request-id") ?? [];
    const accept = websocketAccept(key);
    const { counts, admissions } = this.#options;
    const place = counts.take(caller.entry.name, caller.address);
    if (typeof place === "string") return problem(429, "too_many_connections", place);
    const admission = admissions.admit(caller.entry, wish);
    const leave = () => {
      place();
      admission.release();
    };
    return {
      type: "upgrade",
      accept,
      requestId,
      abandon: () => {
        leave();
        onAbandon();
      },
      serve: async (stream, initialBytes) => {
        const { socket, life } = begin(stream, initialBytes);
        const showOut = () => socket.end((admission.revoked.reason as Error).message);
        admission.revoked.addEventListener("abort", showOut);
        if (admission.revoked.aborted) showOut();
        try {
          await life;
        } finally {
          leave();
        }
      },
    };
  }

  /** Writes the audit lines: who came, and who left after how long with how many bytes. */
  async #audited(
    who: "executor" | "client",
    about: Readonly<Record<string, string | undefined>>,
    life: Promise<object | void>,
  ): Promise<void> {
    const { log, clock } = this.#options;
    const begunMs = clock.now();
    log.info("audit", { event: `${who} connected`, ...about });
    const facts = await life ?? {};
    log.info("audit", {
      event: `${who} gone`,
      ...about,
      seconds: Math.round((clock.now() - begunMs) / 1000),
      ...facts,
    });
  }

  async #ticketOf(request: Request, purpose: TicketPurpose, id: string): Promise<Ticket | null> {
    const text = queryOf(request).get("ticket");
    const ticket = text === null ? null : await this.#options.office.read(text, purpose);
    return ticket?.id === id ? ticket : null;
  }

  #frameSocket(stream: AcceptedStream, initialBytes: Uint8Array<ArrayBuffer>): RunningSocket {
    const socket = new FrameSocket(stream, { clock: this.#options.clock, initialBytes, turn });
    return { socket, ended: socket.run() };
  }

  #messageSocket(stream: AcceptedStream, initialBytes: Uint8Array<ArrayBuffer>): MessageSocket {
    return new MessageSocket(stream, {
      clock: this.#options.clock,
      pingIntervalMs: PING_INTERVAL_MS,
      maxSilentPings: MAX_SILENT_MS / PING_INTERVAL_MS,
      maxFrameBytes: MAX_RELAY_MESSAGE_BYTES,
      maxMessageBytes: MAX_RELAY_MESSAGE_BYTES,
      initialBytes,
      turn,
    });
  }
}

function turn(): Promise<void> {
  return sharedPacer().turn();
}

function endFrames({ socket }: RunningSocket): Endable {
  return { end: (reason) => socket.close(CLOSE_CODE.policyViolation, reason) };
}

function endMessages(socket: MessageSocket): Endable {
  return { end: (reason) => socket.close({ cause: "violation", reason }) };
}

function queryOf({ head }: Request): URLSearchParams {
  return new URLSearchParams(/\?(.*)$/s.exec(head.target)?.[1] ?? "");
}
