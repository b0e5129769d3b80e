/** Process events as wire notifications, for the client that holds the session. */

import type { ProcessEvent, ProcessEventSink } from "../process/session/events.ts";
import type { NetworkDenial } from "../process/backend.ts";
import type { ProcessEnd } from "../process/session/process_views.ts";
import type {
  DetailFields,
  NetworkDenialField,
  ProcessClosedNotification,
  ProcessExitedNotification,
} from "../protocol/process.ts";
import type { ProcessResizedNotification } from "../protocol/process_results.ts";
import { encodeNotification } from "../rpc/envelope.ts";
import { escapeToAscii } from "../rpc/encoded_result.ts";
import type { Outlet } from "./call_context.ts";

export class ProcessOutlet implements ProcessEventSink {
  readonly #outlet: Outlet;
  /** The beginning of each notification of output, by process: an id may be long, and chunks are many. */
  readonly #heads = new Map<string, string>();
  /** Terminals that others resized while there was no room: the last size of each. */
  readonly #resizedMeanwhile = new Map<string, ProcessResizedNotification>();

  constructor(outlet: Outlet) {
    this.#outlet = outlet;
  }

  get hasRoom(): boolean {
    return this.#outlet.hasRoom;
  }

  event(event: ProcessEvent): void {
    switch (event.type) {
      case "output": {
        const { seq, stream, bytes } = event.chunk;
        // The hot path: base64 needs no escaping, so the largest part of the message is not looked at again.
        const head = `${this.#headOf(event.processId)}${seq},"stream":"${stream}",`;
        this.#outlet.output([head, '"chunk":"', bytes.toBase64(), '"}}']);
        return;
      }
      case "exited": {
        const { processId, seq, exit, networkDenials } = event;
        const { exitCode, sandboxDenied, end } = exit;
        const params: ProcessExitedNotification = {
          processId,
          seq,
          exitCode,
          sandboxDenied,
          ...detailFields(this.#outlet, { end, networkDenials }),
        };
        this.#outlet.notify("process/exited", params);
        return;
      }
      case "closed": {
        this.#heads.delete(event.processId);
        const params: ProcessClosedNotification = { processId: event.processId, seq: event.seq };
        this.#outlet.notify("process/closed", params);
        return;
      }
      case "started":
        if (this.#outlet.wants.has("process/started")) {
          this.#outlet.notify("process/started", { processId: event.processId });
        }
        return;
      case "failed":
        if (this.#outlet.wants.has("process/failed")) {
          this.#outlet.notify("process/failed", { processId: event.processId, message: event.message });
        }
        return;
      case "resized":
        if (event.by !== this.#outlet && this.#outlet.wants.has("process/resized")) {
          this.#resized({ uid: event.uid, processId: event.processId, ...event.size });
        }
    }
  }

  #headOf(processId: string): string {
    let head = this.#heads.get(processId);
    if (head === undefined) {
      head = `{"method":"process/output","params":{"processId":${escapeToAscii(JSON.stringify(processId))},"seq":`;
      this.#heads.set(processId, head);
    }
    return head;
  }

  /** There is room again. */
  tellResized(): void {
    for (const params of this.#resizedMeanwhile.values()) {
      if (!this.#outlet.hasRoom) return;
      this.#resizedMeanwhile.delete(params.uid);
      this.#resized(params);
    }
  }

  /** Sent only while there is room, like output: others may resize as often as they like. */
  #resized(params: ProcessResizedNotification): void {
    if (this.#outlet.hasRoom) this.#outlet.output(encodeNotification("process/resized", params));
    else this.#resizedMeanwhile.set(params.uid, params);
  }
}

export interface ProcessDetails {
  readonly end: ProcessEnd | null;
  readonly networkDenials: readonly NetworkDenial[] | null;
}

/** The optional fields about a process that the client asked for; empty if it asked for none. */
export function detailFields(outlet: Outlet, { end, networkDenials }: ProcessDetails): DetailFields {
  return {
    ...(outlet.wants.has("processEndReason") ? { endReason: end?.reason ?? null, signal: end?.signal ?? null } : {}),
    ...(outlet.wants.has("networkDenials") ? { networkDenials: denialFields(networkDenials) } : {}),
  };
}

function denialFields(denials: readonly NetworkDenial[] | null): NetworkDenialField[] | null {
  return denials?.map(({ call, program }) => ({ call, program })) ?? null;
}
