/** A session's processes on fake children and a clock that stands still, and a sink that remembers. */

import assert from "node:assert/strict";
import { DomainError } from "../../src/errors.ts";
import { silentLogger } from "../../src/log.ts";
import type { ProcessEvent, ProcessEventSink } from "../../src/process/session/events.ts";
import { ProcessManager, type ProcessManagerOptions, type StartOptions } from "../../src/process/session/manager.ts";
import type { ReadOptions } from "../../src/process/session/managed_process.ts";
import { FakeBackend, type FakeChild } from "./fake_backend.ts";
import { ManualClock } from "./manual_clock.ts";

export class RecordingSink implements ProcessEventSink {
  hasRoom = true;
  readonly events: ProcessEvent[] = [];

  event(event: ProcessEvent): void {
    this.events.push(event);
  }

  /** The events in a form that fits on a line: `p 1 stdout hi`, `p 2 exited 0`, `p 3 closed`. */
  get lines(): string[] {
    return this.events.map((event) => {
      switch (event.type) {
        case "output": {
          const { seq, stream, bytes } = event.chunk;
          return `${event.processId} ${seq} ${stream} ${new TextDecoder().decode(bytes)}`;
        }
        case "exited":
          return `${event.processId} ${event.seq} exited ${event.exit.exitCode}`;
        case "closed":
          return `${event.processId} ${event.seq} closed`;
        case "started":
          return `${event.processId} started`;
        case "failed":
          return `${event.processId} failed ${event.message}`;
        case "resized":
          return `${event.processId} resized ${event.size.rows}x${event.size.cols}`;
      }
    });
  }
}

export const PIPE = { type: "pipe", stdin: "closed" } as const;
export const PIPE_WITH_INPUT = { type: "pipe", stdin: "open" } as const;
export const TERMINAL = { type: "pty", rows: 24, cols: 80 } as const;

export function startOptions(
  fields: Partial<StartOptions> & { io?: StartOptions["request"]["io"] } = {},
): StartOptions {
  const { io = PIPE, ...rest } = fields;
  return {
    processId: "p",
    kind: "direct",
    request: { argv: ["program"], arg0: null, cwd: "/", env: {}, io },
    isSandboxed: false,
    timeoutMs: null,
    idleTimeoutMs: null,
    keepOnSessionEnd: false,
    ...rest,
  };
}

export class ProcessSession {
  readonly clock = new ManualClock();
  readonly backend = new FakeBackend(this.clock);
  readonly sink = new RecordingSink();
  readonly manager: ProcessManager;

  constructor(options: Partial<ProcessManagerOptions> = {}) {
    this.manager = new ProcessManager({ backend: this.backend, clock: this.clock, log: silentLogger(), ...options });
    this.manager.attach(this.sink);
  }

  /** Starts a process whose answer has been sent, and returns its child. */
  async start(fields: Parameters<typeof startOptions>[0] = {}): Promise<FakeChild> {
    const started = await this.manager.start(startOptions(fields));
    started.begin();
    return this.backend.last;
  }

  /** Reads what is there now. */
  async read(processId = "p", fields: Partial<ReadOptions> = {}) {
    return await this.manager.get(processId).read({ afterSeq: 0, maxBytes: null, waitMs: 0, ...fields });
  }
}

/** Expects a refusal with this text. */
export async function refuses(action: () => unknown, message: string): Promise<void> {
  await assert.rejects(async () => await action(), (error: unknown) => {
    assert(error instanceof DomainError);
    assert.deepEqual([error.kind, error.message], ["invalidRequest", message]);
    return true;
  });
}
