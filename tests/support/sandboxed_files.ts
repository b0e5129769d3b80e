/** Confined file systems on this machine, with real helpers. */

import { invalidRequest } from "../../src/errors.ts";
import { type Clock, systemClock } from "../../src/clock.ts";
import { ConfinedReader } from "../../src/fs/confined/confined_reader.ts";
import type { FileSystem } from "../../src/fs/file_system.ts";
import { HelperPool, type HelperPoolOptions } from "../../src/fs/confined/helper_pool.ts";
import { createIoContext } from "../../src/fs/io_context.ts";
import { SandboxedFileSystem } from "../../src/fs/confined/sandboxed.ts";
import type { FilePolicy } from "../../src/launch/policy/policy.ts";
import type { SandboxSetting } from "../../src/launch/backends/sandbox_probe.ts";
import { silentLogger } from "../../src/log.ts";
import { createHelperStarter } from "../../src/fs/confined/helper_processes.ts";
import { helperProgram } from "../../src/fs/confined/helper_program.ts";
import { SandboxHost } from "./sandbox_host.ts";

export interface SandboxedFilesOptions
  extends Partial<Pick<HelperPoolOptions, "maxHelpers" | "idleMs" | "briefIdleMs">> {
  readonly clock?: Clock;
  readonly setting?: SandboxSetting;
}

/** Leaves everything to a helper. */
class NoReader extends ConfinedReader {
  override readFile = refuse;
  override getMetadata = refuse;
  override openToRead = refuse;
}

function refuse(): Promise<never> {
  return Promise.reject(invalidRequest("left to a helper"));
}

/** Must not be asked at all. */
class UnwantedReader extends ConfinedReader {
  override readFile = complain;
  override getMetadata = complain;
  override openToRead = complain;
}

function complain(): Promise<never> {
  return Promise.reject(new Error("the server has read by itself what is for a helper to read"));
}

export class SandboxedFiles implements AsyncDisposable {
  readonly host: SandboxHost;
  readonly pool: HelperPool;
  readonly #reader = new ConfinedReader(createIoContext());
  readonly #program = helperProgram(Deno.env.toObject());

  private constructor(host: SandboxHost, { clock = systemClock, ...limits }: SandboxedFilesOptions) {
    this.host = host;
    const { backend, service } = host;
    const start = createHelperStarter({ backend, service, program: () => this.#program, log: silentLogger() });
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
  under(text: string, owner: object = this): Promise<FileSystem> {
    return this.#under(text, owner, this.#reader);
  }

  /** The same, but nothing is read without a helper. */
  byHelper(text: string, owner: object = this): Promise<FileSystem> {
    return this.#under(text, owner, new NoReader(createIoContext()));
  }

  /** For policies under which the server must not read by itself: a failure if it tries. */
  underHelpersOnly(text: string, owner: object = this): Promise<FileSystem> {
    return this.#under(text, owner, new UnwantedReader(createIoContext()));
  }

  async #under(text: string, owner: object, reader: ConfinedReader): Promise<FileSystem> {
    const renew = () => this.policy(text);
    return new SandboxedFileSystem({ pool: this.pool, owner, policy: await renew(), renew, reader });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.pool.close();
    await this.host[Symbol.asyncDispose]();
  }
}
