/** Confined file helpers as processes: how the pool starts them. */

import type { HelperEvents, HelperPort } from "./helper_client.ts";
import type { FilePolicy } from "../../launch/policy/policy.ts";
import type { SandboxService } from "../../launch/sandbox_service.ts";
import type { Logger } from "../../log.ts";
import type { ExitStatus, ProcessBackend, ProcessObserver, SpawnedProcess } from "../../process/backend.ts";
import { exitCodeOf, SIGKILL } from "../../process/signals.ts";
import type { HelperProgram } from "./helper_program.ts";

export interface HelperProcessesOptions {
  readonly backend: ProcessBackend;
  readonly service: SandboxService;
  program(): HelperProgram;
  readonly log: Logger;
}

/** How long a helper may take to finish its requests after its input has ended. */
const CLOSE_GRACE_MS = 5_000;

/** How much is kept of what a helper writes to standard error. */
const MAX_COMPLAINT_CHARACTERS = 2000;

export function createHelperStarter({ backend, service, program: find, log }: HelperProcessesOptions) {
  return async (files: FilePolicy, events: HelperEvents): Promise<HelperPort> => {
    const { program, argv, env } = find();
    const command = { program, argv, env, cwd: "/" };
    const port = new HelperProcess(events, log);
    const child = await backend.spawn({
      argv: command.argv,
      arg0: null,
      cwd: command.cwd,
      env: command.env,
      io: { type: "pipe", stdin: "open" },
      confinement: { prepare: (leftovers) => service.prepareOwn(command, files, leftovers) },
    });
    port.child = child;
    child.begin(port);
    return port;
  };
}

class HelperProcess implements HelperPort, ProcessObserver {
  child: SpawnedProcess | null = null;
  readonly #events: HelperEvents;
  readonly #log: Logger;
  #complaint = "";
  #status: ExitStatus | null = null;
  #hasOutputEnded = false;
  #killTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(events: HelperEvents, log: Logger) {
    this.#events = events;
    this.#log = log;
  }

  write(bytes: Uint8Array<ArrayBuffer>): void {
    // A helper that does not read is about to end; then all open requests are told so.
    void this.child?.write(bytes);
  }

  close(): void {
    this.child?.closeInput();
    this.#killTimer ??= setTimeout(() => this.kill(), CLOSE_GRACE_MS);
  }

  kill(): void {
    this.child?.signalGroup(SIGKILL);
  }

  output(stream: "stdout" | "stderr" | "pty", bytes: Uint8Array<ArrayBuffer>): void {
    if (stream === "stdout") this.#events.received(bytes);
    else if (this.#complaint.length < MAX_COMPLAINT_CHARACTERS) this.#complaint += new TextDecoder().decode(bytes);
  }

  exited(status: ExitStatus): void {
    this.#status = status;
    this.#endIfOver();
  }

  outputEnded(): void {
    this.#hasOutputEnded = true;
    this.#endIfOver();
  }

  #endIfOver(): void {
    if (this.#status === null || !this.#hasOutputEnded) return;
    clearTimeout(this.#killTimer);
    this.child?.dispose();
    const code = exitCodeOf(this.#status);
    const complaint = this.#complaint.trim();
    if (complaint !== "") this.#log.warn("a confined file helper reported an error", { code, complaint });
    this.#events.ended(`the confined file helper ended with code ${code}${complaint === "" ? "" : `: ${complaint}`}`);
  }
}
