/** Everything a request with a sandbox object needs, wired together. Loaded with the first such request. */

import type { Clock } from "../clock.ts";
import { DomainError } from "../errors.ts";
import { type CommandConfinement, type CommandRequest, SandboxService } from "../launch/sandbox_service.ts";
import type { SandboxSetting } from "../launch/backends/sandbox_probe.ts";
import { sandboxReport } from "../launch/sandbox_report.ts";
import type { FileSystem } from "../fs/file_system.ts";
import { type ConfinedReader, watchesLikeConfined } from "../fs/confined/confined_reader.ts";
import { ConfinedWatch } from "../fs/confined/confined_watch.ts";
import { type HelperOwner, HelperPool } from "../fs/confined/helper_pool.ts";
import type { WatchOrder, WatchSource } from "../fs/watch/open_watch.ts";
import { mayReadDirectly, SandboxedFileSystem } from "../fs/confined/sandboxed.ts";
import type { FilePolicy } from "../launch/policy/policy.ts";
import type { Logger } from "../log.ts";
import type { ProcessBackend } from "../process/backend.ts";
import { runPlan, runProgram } from "../process/posix/run_plan.ts";
import { toByteString } from "../os/files/byte_string.ts";
import { realPath } from "../os/files/file_calls.ts";
import type { NativePath } from "../path_uri.ts";
import type { SandboxReport } from "../protocol/environment.ts";
import type { Sandbox } from "../protocol/sandbox.ts";
import { createHelperStarter } from "../fs/confined/helper_processes.ts";
import { type HelperProgram, helperProgram } from "../fs/confined/helper_program.ts";
import type { RuntimePaths } from "./runtime_paths.ts";
import { SandboxDecoder } from "./sandbox_decoder.ts";

export interface SandboxingOptions {
  readonly backend: ProcessBackend;
  readonly setting: SandboxSetting;
  readonly serverEnv: Readonly<Record<string, string>>;
  readonly paths: RuntimePaths;
  /** Whether the server asks for no token. Then a confined program with network can connect, too. */
  readonly isOpen?: boolean;
  readonly log: Logger;
  readonly clock: Clock;
}

/** The files as this program sees them: with all its rights, and with those of a confined client. */
export interface OwnFiles {
  readonly direct: FileSystem;
  readonly reader: ConfinedReader;
}

/** For hosts that can confine nothing: requests that would need a helper are refused before. */
const NO_HELPER: HelperProgram = { program: "", argv: [], env: {}, needs: [] };

export class Sandboxing {
  readonly service: SandboxService;
  readonly #found: HelperProgram | DomainError;
  readonly #helpers: HelperPool;
  readonly #decoder: SandboxDecoder;

  readonly #log: Logger;
  #isOpenDoorUntold: boolean;

  constructor({ backend, setting, serverEnv, paths, isOpen = false, log, clock }: SandboxingOptions) {
    this.#log = log;
    this.#isOpenDoorUntold = isOpen;
    this.service = new SandboxService({
      setting,
      serverEnv,
      log,
      clock,
      launch: (plan) => runPlan(backend, plan),
      run: (program, args) => runProgram(backend, program, args),
      ...(paths.bubblewrap === undefined ? {} : { bubblewrapPath: paths.bubblewrap }),
    });
    this.#found = this.service.obstacle === null ? findHelper(serverEnv, paths) : NO_HELPER;
    const start = createHelperStarter({ backend, service: this.service, program: () => this.#program, log });
    this.#helpers = new HelperPool({ start, clock });
    this.#decoder = new SandboxDecoder(log);
  }

  get #program(): HelperProgram {
    if (this.#found instanceof DomainError) throw this.#found;
    return this.#found;
  }

  /** Null: the command runs as without a sandbox object. */
  confineCommand(sandbox: unknown, command: CommandRequest): CommandConfinement | null {
    const decoded = this.#decoder.decode(sandbox);
    const confinement = this.service.confineCommand(decoded, command);
    if (confinement !== null) this.#warnOfOpenDoor(decoded);
    return confinement;
  }

  /** The files a connection's request may work on. `owner` stands for the connection. */
  async files(raw: unknown, owner: HelperOwner, { direct, reader }: OwnFiles): Promise<FileSystem> {
    const sandbox = this.#decoder.decode(raw);
    const look = () => this.service.filePolicy(sandbox, this.#program.needs);
    const policy = await look();
    if (policy === "unrestricted") return direct;
    const renew = async (): Promise<FilePolicy> => {
      const renewed = await look();
      if (renewed === "unrestricted") throw new Error("a sandbox object turned out to mean full access");
      return renewed;
    };
    return new SandboxedFileSystem({ pool: this.#helpers, owner, policy, renew, reader });
  }

  /** How a path is watched under a sandbox object. Null: the server watches the path itself, as without one. */
  async watch(
    raw: unknown,
    owner: HelperOwner,
    path: NativePath,
  ): Promise<((order: WatchOrder) => WatchSource) | null> {
    const sandbox = this.#decoder.decode(raw);
    const policy = await this.service.filePolicy(sandbox, this.#program.needs);
    if (policy === "unrestricted") return null;
    const isDenied = this.service.watchDenials(sandbox);
    const isReadable = isDenied === null && mayReadDirectly(policy, path) && isFreeOfLinks(path);
    if (isReadable && watchesLikeConfined()) return null;
    return (order) => new ConfinedWatch({ pool: this.#helpers, owner, policy, isDenied }, order);
  }

  /** What sandboxes are made with here. The first call examines the host. */
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

  /** Once: a confined process with network can connect to this server, which asks for no token, and leave its sandbox. */
  #warnOfOpenDoor({ permissions }: Sandbox): void {
    if (!this.#isOpenDoorUntold || permissions.type !== "managed" || permissions.network !== "enabled") return;
    this.#isOpenDoorUntold = false;
    this.#log.warn(
      "a confined process with network access can connect to this server, which asks for no token, and run commands " +
        "without a sandbox: start the server with --ws-auth",
    );
  }
}

/** A helper that is missing or wrong fails every sandboxed file request, but no process. */
function findHelper(serverEnv: SandboxingOptions["serverEnv"], { helper }: RuntimePaths): HelperProgram | DomainError {
  try {
    return helperProgram(serverEnv, helper);
  } catch (error) {
    if (error instanceof DomainError && error.kind === "invalidRequest") return error;
    throw error;
  }
}

function isFreeOfLinks(path: NativePath): boolean {
  const bytes = toByteString(path);
  return realPath(bytes) === bytes;
}
