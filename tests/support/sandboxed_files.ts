/** Confined file systems on this machine, with real helpers. */

import { type Clock, systemClock } from "../../src/clock.ts";
import { createDirectFileSystem } from "../../src/fs/direct.ts";
import type { FileSystem } from "../../src/fs/file_system.ts";
import { HelperPool, type HelperPoolOptions } from "../../src/fs/helper_pool.ts";
import { SandboxedFileSystem } from "../../src/fs/sandboxed.ts";
import type { FilePolicy } from "../../src/launch/policy.ts";
import type { SandboxSetting } from "../../src/launch/sandbox_probe.ts";
import { silentLogger } from "../../src/log.ts";
import { createHelperStarter } from "../../src/server/helper_processes.ts";
import { helperProgram } from "../../src/server/helper_program.ts";
import { SandboxHost } from "./sandbox_host.ts";

export interface SandboxedFilesOptions
  extends Partial<Pick<HelperPoolOptions, "maxHelpers" | "idleMs" | "briefIdleMs">> {
  readonly clock?: Clock;
  readonly setting?: SandboxSetting;
}

export class SandboxedFiles implements AsyncDisposable {
  readonly host: SandboxHost;
  readonly pool: HelperPool;
  readonly #direct = createDirectFileSystem();
  readonly #program = helperProgram(Deno.env.toObject());

  private constructor(host: SandboxHost, { clock = systemClock, ...limits }: SandboxedFilesOptions) {
    this.host = host;
    const { backend, service } = host;
    const start = createHelperStarter({ backend, service, program: this.#program, log: silentLogger() });
    this.pool = new HelperPool({ start, clock, ...limits });
  }

  static async open(options: SandboxedFilesOptions = {}): Promise<SandboxedFiles> {
    const { setting = "auto", ...others } = options;
    return new SandboxedFiles(await SandboxHost.open(setting), others);
  }

  async policy(text: string): Promise<FilePolicy> {
    const policy = await this.host.service.filePolicy(this.host.sandbox(text), this.#program.needs);
    if (policy === "unrestricted") throw new Error(`${text} confines nothing`);
    return policy;
  }

  /** Files under a policy like `read /, write ws`. */
  async under(text: string, owner: object = this): Promise<FileSystem> {
    const renew = () => this.policy(text);
    const { pool } = this;
    return new SandboxedFileSystem({ pool, owner, policy: await renew(), renew, direct: this.#direct });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.pool.close();
    await this.host[Symbol.asyncDispose]();
  }
}
