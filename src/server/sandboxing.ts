/** Everything a request with a sandbox object needs, wired together. Loaded with the first such request. */

import type { Clock } from "../clock.ts";
import { type CommandConfinement, type CommandRequest, SandboxService } from "../launch/sandbox_service.ts";
import type { SandboxSetting } from "../launch/sandbox_probe.ts";
import { sandboxReport } from "../launch/sandbox_report.ts";
import type { FileSystem } from "../fs/file_system.ts";
import { ConfinedWatch } from "../fs/confined_watch.ts";
import { type HelperOwner, HelperPool } from "../fs/helper_pool.ts";
import type { WatchOrder, WatchSource } from "../fs/open_watch.ts";
import { mayReadDirectly, SandboxedFileSystem } from "../fs/sandboxed.ts";
import type { FilePolicy } from "../launch/policy.ts";
import type { Logger } from "../log.ts";
import type { ProcessBackend } from "../process/backend.ts";
import { runPlan } from "../process/run_plan.ts";
import { toByteString } from "../os/byte_string.ts";
import { realPath } from "../os/file_calls.ts";
import type { NativePath } from "../path_uri.ts";
import type { SandboxReport } from "../protocol/environment.ts";
import { type Sandbox, SandboxParam } from "../protocol/sandbox.ts";
import { decodeParams } from "../rpc/method_table.ts";
import { createHelperStarter } from "./helper_processes.ts";
import { type HelperProgram, helperProgram } from "./helper_program.ts";

export interface SandboxingOptions {
  readonly backend: ProcessBackend;
  readonly setting: SandboxSetting;
  readonly serverEnv: Readonly<Record<string, string>>;
  readonly log: Logger;
  readonly clock: Clock;
}

export class Sandboxing {
  readonly service: SandboxService;
  readonly #program: HelperProgram;
  readonly #helpers: HelperPool;

  constructor({ backend, setting, serverEnv, log, clock }: SandboxingOptions) {
    this.service = new SandboxService({ setting, serverEnv, log, clock, launch: (plan) => runPlan(backend, plan) });
    this.#program = helperProgram(serverEnv);
    const start = createHelperStarter({ backend, service: this.service, program: this.#program, log });
    this.#helpers = new HelperPool({ start, clock });
  }

  /** Null: the command runs as without a sandbox object. */
  confineCommand(sandbox: unknown, command: CommandRequest): CommandConfinement | null {
    return this.service.confineCommand(decodeSandbox(sandbox), command);
  }

  /** The files a connection's request may work on. `owner` stands for the connection. */
  async files(raw: unknown, owner: HelperOwner, direct: FileSystem): Promise<FileSystem> {
    const sandbox = decodeSandbox(raw);
    const look = () => this.service.filePolicy(sandbox, this.#program.needs);
    const policy = await look();
    if (policy === "unrestricted") return direct;
    const renew = async (): Promise<FilePolicy> => {
      const renewed = await look();
      if (renewed === "unrestricted") throw new Error("a sandbox object came to mean full access");
      return renewed;
    };
    return new SandboxedFileSystem({ pool: this.#helpers, owner, policy, renew, direct });
  }

  /** How a path is watched under a sandbox object; null when with the server's own eyes, as without one. */
  async watch(
    raw: unknown,
    owner: HelperOwner,
    path: NativePath,
  ): Promise<((order: WatchOrder) => WatchSource) | null> {
    const sandbox = decodeSandbox(raw);
    const policy = await this.service.filePolicy(sandbox, this.#program.needs);
    if (policy === "unrestricted") return null;
    const isDenied = this.service.deniedNames(sandbox);
    if (isDenied === null && mayReadDirectly(policy, path) && isFreeOfLinks(path)) return null;
    return (order) => new ConfinedWatch({ pool: this.#helpers, owner, policy, isDenied }, order);
  }

  /** What sandboxes are made with here; looks when nobody has before. */
  async report(): Promise<SandboxReport> {
    return sandboxReport(await this.service.describe());
  }

  /** The connection is gone. */
  closeOwner(owner: HelperOwner): void {
    this.#helpers.closeOwner(owner);
  }

  close(): void {
    this.#helpers.close();
  }
}

function isFreeOfLinks(path: NativePath): boolean {
  const bytes = toByteString(path);
  return realPath(bytes) === bytes;
}

function decodeSandbox(raw: unknown): Sandbox {
  return decodeParams(SandboxParam, raw);
}
