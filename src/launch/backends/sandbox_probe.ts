/**
 * Finds out which sandboxes work on this host, once, when the first request needs one. Chooses one for each policy.
 *
 * A backend counts as available only after a canary: a real confined process that could write where it may and could
 * not where it may not. A policy that no available backend can enforce is refused with every backend's reason. Nothing
 * ever runs with less than was asked for.
 */

import { type Clock, systemClock } from "../../clock.ts";
import { invalidRequest, messageOf } from "../../errors.ts";
import type { SandboxSetting } from "../../protocol/environment.ts";
import type { BubblewrapTool } from "./bubblewrap.ts";
import type { Availability, Unavailability } from "./bubblewrap_tool.ts";
import type { Enforcement } from "../confine.ts";
import type { KernelMounts } from "../kernel_mounts.ts";
import { type LandlockHost, landlockPlan } from "./landlock.ts";
import { isUnconfined, type Policy } from "../policy/policy.ts";

export type { SandboxSetting };

export interface ProbeHost {
  readonly isLinux: boolean;
  findBubblewrap(): Promise<Availability<BubblewrapTool>>;
  /** The kernel's version of Landlock. */
  landlockAbi(): Availability<number>;
  /** Paths of the entries of the root directory, without links. */
  listTopLevel(): readonly string[];
  readonly kernelMounts: KernelMounts;
  /** Null when a confined process behaved as it should, otherwise what it did. */
  canary(enforcement: Enforcement): Promise<string | null>;
}

/** The findings, for the log, `environmentInfo` and people. */
export interface SandboxFacts {
  readonly bubblewrap: Availability<BubblewrapTool>;
  readonly landlock: Availability<number>;
}

/** The better one first. */
const BACKENDS = ["bubblewrap", "landlock"] as const;

/** What is confined: a client's command, or our own helper for file operations. */
export type Purpose = "command" | "files";

/** A failure may pass, or be fixed by installing something: try again after this time. */
const RETRY_AFTER_MS = 30_000;

/** The machine has run out of processes, memory or descriptors, which says nothing about the sandbox. */
const EXHAUSTION =
  /\(os error (?:11|12|23|24)\)|Resource temporarily unavailable|Cannot allocate memory|Too many open files/;

/** Whether something failed for a reason that passes by itself, when other programs end. */
export function isExhaustion(reason: string): boolean {
  return EXHAUSTION.test(reason);
}

/** Time enough for others to end, and so long that a storm of requests does not become a storm of trials. */
const RETRY_AFTER_EXHAUSTION_MS = 500;

export interface SandboxProbeOptions {
  readonly setting: SandboxSetting;
  readonly host: ProbeHost;
  readonly clock?: Clock;
}

export class SandboxProbe {
  readonly #setting: SandboxSetting;
  readonly #host: ProbeHost;
  readonly #bubblewrap: Remembered<BubblewrapTool>;
  readonly #landlock: Remembered<number>;

  constructor({ setting, host, clock = systemClock }: SandboxProbeOptions) {
    this.#setting = setting;
    this.#host = host;
    this.#bubblewrap = new Remembered(() => this.#tryBubblewrap(), clock);
    this.#landlock = new Remembered(() => this.#tryLandlock(), clock);
  }

  /** Tests everything, needed or not. */
  async facts(): Promise<SandboxFacts> {
    return { bubblewrap: await this.#bubblewrap.get(), landlock: await this.#landlock.get() };
  }

  /** How to enforce a policy here. Rejects with all reasons when that is not possible. */
  async choose(policy: Policy, purpose: Purpose = "command"): Promise<Enforcement> {
    if (isUnconfined(policy)) return { type: "none" };
    if (this.#setting === "refuse") throw unenforceable(["sandboxed requests are turned off (--sandbox refuse)"]);
    if (!this.#host.isLinux) throw unenforceable(["there is no supported sandbox for this system"]);

    // If no files are confined, Landlock changes less for a command: namespaces would hide the owners of other users'
    // files, and would end processes that the command leaves running. A helper leaves none. But it lives so long that
    // directories may be made in the root directory meanwhile, and Landlock does not let it write to those.
    const isOpenCommand = purpose === "command" && policy.files === "unrestricted";
    const order = isOpenCommand ? ["landlock", "bubblewrap"] as const : BACKENDS;
    const reasons: string[] = [];
    for (const backend of order) {
      if (this.#setting !== "auto" && this.#setting !== backend) continue;
      const found = backend === "bubblewrap" ? await this.#byBubblewrap() : await this.#byLandlock(policy);
      if (typeof found !== "string") return found;
      reasons.push(found);
    }
    throw unenforceable(reasons);
  }

  /** The reason, if it is not available. */
  async #byBubblewrap(): Promise<Enforcement | string> {
    const bubblewrap = await this.#bubblewrap.get();
    return bubblewrap.isAvailable ? { type: "bubblewrap", tool: bubblewrap.value } : bubblewrap.reason;
  }

  async #byLandlock(policy: Policy): Promise<Enforcement | string> {
    const landlock = await this.#landlock.get();
    if (!landlock.isAvailable) return landlock.reason;
    const plan = landlockPlan(policy, this.#landlockHost(landlock.value));
    return plan.type === "ruleset" ? { type: "landlock", ruleset: plan.ruleset } : plan.reason;
  }

  #landlockHost(abi: number): LandlockHost {
    return { abi, topLevel: this.#host.listTopLevel(), kernelMounts: this.#host.kernelMounts };
  }

  async #tryBubblewrap(): Promise<Availability<BubblewrapTool>> {
    const found = await this.#host.findBubblewrap();
    if (!found.isAvailable) return found;
    const trial = (): Promise<string | null> => this.#host.canary({ type: "bubblewrap", tool: found.value });
    // What somebody mounts in just that moment looks like a sandbox that is led astray.
    const failure = await trial() === null ? null : await trial();
    return failure === null
      ? found
      : broken(found.value, `bubblewrap ${found.value.version} does not work here: ${failure}`);
  }

  async #tryLandlock(): Promise<Availability<number>> {
    const abi = this.#host.landlockAbi();
    if (!abi.isAvailable) return abi;
    const plan = landlockPlan(READ_ONLY, this.#landlockHost(abi.value));
    if (plan.type === "inexpressible") {
      return { isAvailable: false, reason: plan.reason, problem: "outdated", found: abi.value };
    }
    const failure = await this.#host.canary({ type: "landlock", ruleset: plan.ruleset });
    return failure === null ? abi : broken(abi.value, `Landlock does not work here: ${failure}`);
  }
}

/** The policy that every backend must be able to enforce. */
const READ_ONLY: Policy = {
  files: { base: "read", rules: [], missing: [], pinned: [], links: [] },
  network: "restricted",
};

/** Asks once; concurrent callers get the same answer. A success is remembered for good. */
class Remembered<T> {
  readonly #ask: () => Promise<Availability<T>>;
  readonly #clock: Clock;
  #answer: Promise<Availability<T>> | null = null;
  #askAgainAt = Infinity;

  constructor(ask: () => Promise<Availability<T>>, clock: Clock) {
    this.#ask = ask;
    this.#clock = clock;
  }

  get(): Promise<Availability<T>> {
    if (this.#answer === null || this.#clock.now() >= this.#askAgainAt) {
      this.#askAgainAt = Infinity;
      this.#answer = this.#ask().catch((error): Availability<T> => {
        return { isAvailable: false, reason: messageOf(error) };
      }).then((answer) => {
        if (!answer.isAvailable) this.#askAgainAt = this.#clock.now() + retryDelay(answer.reason);
        return answer;
      });
    }
    return this.#answer;
  }
}

function retryDelay(reason: string): number {
  return isExhaustion(reason) ? RETRY_AFTER_EXHAUSTION_MS : RETRY_AFTER_MS;
}

function broken<T>(found: T, reason: string): Unavailability<T> {
  return { isAvailable: false, reason, problem: "broken", found };
}

function unenforceable(reasons: readonly string[]): Error {
  return invalidRequest(`Cannot enforce the sandbox: ${[...new Set(reasons)].join("; ")}`);
}
