/** Process events as wire notifications, for the client that holds the session. */

import type { ProcessEvent, ProcessEventSink } from "../process/events.ts";
import type { NetworkDenial } from "../process/backend.ts";
import type { ProcessEnd } from "../process/process_views.ts";
import type {
  DetailFields,
  NetworkDenialField,
  ProcessClosedNotification,
  ProcessExitedNotification,
} from "../protocol/process.ts";
import { escapeToAscii } from "../rpc/envelope.ts";
import type { Outlet } from "./connection.ts";

export class ProcessOutlet implements ProcessEventSink {
  readonly #outlet: Outlet;

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
        const processId = escapeToAscii(JSON.stringify(event.processId));
        const head = `{"method":"process/output","params":{"processId":${processId},"seq":${seq},"stream":"${stream}",`;
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
    }
  }
}

export interface ProcessDetails {
  readonly end: ProcessEnd | null;
  readonly networkDenials: readonly NetworkDenial[] | null;
}

/** What is known of a process in the fields a client has asked for: none, unless it did. */
export function detailFields(outlet: Outlet, { end, networkDenials }: ProcessDetails): DetailFields {
  return {
    ...(outlet.wants.has("processEndReason") ? { endReason: end?.reason ?? null, signal: end?.signal ?? null } : {}),
    ...(outlet.wants.has("networkDenials") ? { networkDenials: denialFields(networkDenials) } : {}),
  };
}

function denialFields(denials: readonly NetworkDenial[] | null): NetworkDenialField[] | null {
  return denials?.map(({ call, program }) => ({ call, program })) ?? null;
}
