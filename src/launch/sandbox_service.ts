/**
 * What the server asks when a request carries a sandbox object: whether anything is confined, how, and whether this host
 * can do it. Made once; looks at the host when the first request needs it.
 *
 * Decides and starts nothing: the canary is run by the function it is given, plans are carried out by whoever asked. A
 * request that cannot be honoured as it stands is refused here, before anything has happened.
 */

import type { Clock } from "../clock.ts";
import { internalError, invalidRequest } from "../errors.ts";
import type { Logger } from "../log.ts";
import { byteStringOf, fromByteString } from "../os/byte_string.ts";
import { findProgram } from "../os/find_program.ts";
import { landlockVersion } from "../os/landlock.ts";
import { type Program, refuseNul } from "../os/program.ts";
import type { NativePath } from "../path_uri.ts";
import type { Sandbox } from "../protocol/sandbox.ts";
import { findBubblewrap } from "./bubblewrap_tool.ts";
import { type Enforcement, type PreparedLaunch, prepareLaunch, visibleCommand, type WantedCommand } from "./confine.ts";
import { deniedNames, type IsDenied } from "./denied_names.ts";
import { DenoHostTree } from "./deno_host_tree.ts";
import { DenoToolHost } from "./deno_tool_host.ts";
import { scanGlobs } from "./glob_scan.ts";
import type { HostTree } from "./host_tree.ts";
import type { ConfinedCommand, LaunchPlan } from "./launch_plan.ts";
import { OsHostTree } from "./os_host_tree.ts";
import { accessTo, type FilePolicy, type Policy, refuseUnmanagedNetwork } from "./policy.ts";
import { RealPlaceholderFiles } from "./placeholder_files.ts";
import { type LeftoverList, PathAppearedError } from "./placeholders.ts";
import { type EntryContext, type RequestedFiles, type RequestedPolicy, requestedPolicy } from "./policy_entries.ts";
import { resolveFiles } from "./policy_resolve.ts";
import { RememberedTree } from "./remembered_tree.ts";
import { type CanaryHost, runCanary } from "./sandbox_canary.ts";
import { type SandboxFacts, SandboxProbe, type SandboxSetting } from "./sandbox_probe.ts";

export interface SandboxServiceOptions {
  readonly setting: SandboxSetting;
  readonly serverEnv: Readonly<Record<string, string>>;
  readonly log: Logger;
  /** Carries a plan out and waits for its end. */
  readonly launch: CanaryHost["launch"];
  /** The operator's own bubblewrap. */
  readonly bubblewrapPath?: string;
  readonly clock?: Clock;
}

/** A command as a request wants it. */
export interface CommandRequest extends Program {
  readonly cwd: NativePath;
  /** The command may reach the network through a proxy only, whatever the sandbox object says. */
  readonly enforceManagedNetwork: boolean;
}

export interface CommandConfinement {
  /** How to start the command, for the disk as it is now. */
  prepare(leftovers?: LeftoverList): Promise<ConfinedLaunch>;
}

/** A plan, and on the host what it needs. */
export interface ConfinedLaunch extends PreparedLaunch {
  readonly plan: LaunchPlan;
}

/** How this server confines, for the log and for people. */
export interface SandboxDescription extends SandboxFacts {
  readonly setting: SandboxSetting;
}

/** Something comes into existence between two looks only if somebody makes it in that millisecond. */
const MAX_ATTEMPTS = 5;

/** More than one client alternates between. */
const MAX_REMEMBERED_POLICIES = 64;

export class SandboxService {
  readonly #options: SandboxServiceOptions;
  readonly #probe: SandboxProbe;
  readonly #tree = Deno.build.os === "linux" ? new OsHostTree() : new DenoHostTree();
  readonly #placeholders = new RealPlaceholderFiles();
  readonly #isRoot = Deno.uid() === 0;
  /** What was made of the latest requests for file operations, for as long as the disk agrees. Oldest first. */
  readonly #filePolicies = new Map<string, { readonly tree: RememberedTree; readonly policy: FilePolicy }>();
  readonly #reported = new Set<Enforcement["type"] | "refused">();

  constructor(options: SandboxServiceOptions) {
    this.#options = options;
    this.#probe = createProbe(options, this.#tree, this.#isRoot);
  }

  /** How a command is confined; null when the object confines nothing. Refuses what it can tell at once. */
  confineCommand(sandbox: Sandbox, command: CommandRequest): CommandConfinement | null {
    const requested = requestedPolicy(sandbox, entryContext(command.env.TMPDIR));
    if (command.enforceManagedNetwork) refuseUnmanagedNetwork({ ...requested, files: "unrestricted" });
    if (requested.files === "unrestricted" && requested.network === "enabled") return null;
    // Before anything is made of them: arguments of wrappers are separated by NUL.
    refuseNul(command);
    return { prepare: (leftovers) => this.#prepareCommand(requested, command, leftovers) };
  }

  /**
   * What file operations may do. `unrestricted`: no more confined than without a sandbox object. What the program that
   * does them needs to run (`needs`, paths free of links) can be read under the policy, besides what the client granted.
   */
  async filePolicy(sandbox: Sandbox, needs: readonly string[]): Promise<"unrestricted" | FilePolicy> {
    const requested = requestedPolicy(sandbox, entryContext(this.#options.serverEnv.TMPDIR));
    if (requested.files === "unrestricted") return "unrestricted";
    const { entries, globs } = requested.files;
    // What a pattern matches is only found by looking through everything again.
    if (globs.length > 0) return await this.#filePolicy(requested.files, needs, new RememberedTree(this.#tree));
    const key = JSON.stringify([entries, needs]);
    const known = this.#filePolicies.get(key);
    if (known !== undefined && known.tree.isStillSo) return known.policy;
    const tree = new RememberedTree(this.#tree);
    const policy = await this.#filePolicy(requested.files, needs, tree);
    this.#filePolicies.delete(key);
    this.#filePolicies.set(key, { tree, policy });
    if (this.#filePolicies.size > MAX_REMEMBERED_POLICIES) this.#filePolicies.delete(oldestKey(this.#filePolicies)!);
    return policy;
  }

  /** What a sandbox object denies by name, be it there or not; null when nothing. */
  deniedNames(sandbox: Sandbox): IsDenied | null {
    const { files } = requestedPolicy(sandbox, entryContext(this.#options.serverEnv.TMPDIR));
    return files === "unrestricted" ? null : deniedNames(files, this.#tree);
  }

  async #filePolicy(requested: RequestedFiles, needs: readonly string[], tree: HostTree): Promise<FilePolicy> {
    const files = await this.#resolveFiles(requested, tree);
    const denied = needs.find((path) => accessTo(files, path) === "deny");
    if (denied !== undefined) {
      throw invalidRequest(`Cannot enforce the sandbox: it denies ${denied}, which confined file operations need`);
    }
    const hidden = needs.filter((path) => accessTo(files, path) === "hidden");
    if (hidden.length === 0) return files;
    const entries = [...requested.entries, ...hidden.map((path) => ({ path, access: "read" as const }))];
    return await this.#resolveFiles({ ...requested, entries }, tree);
  }

  /** A launch of a program of our own, without network. Rejects when the policy cannot be enforced. */
  async prepareOwn(command: ConfinedCommand, files: FilePolicy, leftovers?: LeftoverList): Promise<ConfinedLaunch> {
    return await this.#prepare(command, { files, network: "restricted" }, { leftovers, reportsDenials: false });
  }

  /** What a sandbox object would be enforced with for a command, without preparing anything. Rejects as that would. */
  async outlook(sandbox: Sandbox, tmpdir?: string): Promise<Enforcement["type"]> {
    const policy = await this.#resolve(requestedPolicy(sandbox, entryContext(tmpdir)));
    return (await this.#probe.choose(policy)).type;
  }

  /** Looks at everything this host offers. */
  async describe(): Promise<SandboxDescription> {
    return { setting: this.#options.setting, ...await this.#probe.facts() };
  }

  async #prepareCommand(
    requested: RequestedPolicy,
    command: CommandRequest,
    leftovers: LeftoverList | undefined,
  ): Promise<ConfinedLaunch> {
    for (let attempt = 1;; attempt++) {
      const policy = await this.#resolve(requested);
      try {
        const visible = visibleCommand(wantedCommand(command), policy, this.#tree);
        return await this.#prepare(visible, policy, { leftovers, reportsDenials: true });
      } catch (error) {
        if (!(error instanceof PathAppearedError) || attempt === MAX_ATTEMPTS) throw error;
      }
    }
  }

  async #prepare(
    command: ConfinedCommand,
    policy: Policy,
    options: { leftovers: LeftoverList | undefined; reportsDenials: boolean },
  ): Promise<ConfinedLaunch> {
    const enforcement = await this.#choose(policy);
    const { plan, release } = prepareLaunch(command, policy, {
      enforcement,
      architecture: Deno.build.arch,
      isRoot: this.#isRoot,
      placeholders: this.#placeholders,
      ...options,
    });
    if (plan === null) throw new Error("what was to be confined is not");
    return { plan, release };
  }

  async #resolve({ files, network }: RequestedPolicy): Promise<Policy> {
    if (files === "unrestricted") return { files, network };
    return { files: await this.#resolveFiles(files, new RememberedTree(this.#tree)), network };
  }

  async #resolveFiles(requested: RequestedFiles, tree: HostTree): Promise<FilePolicy> {
    const { globs, globScanMaxDepth: maxDepth } = requested;
    const matches = globs.length === 0 ? [] : await scanGlobs(globs, this.#tree, { maxDepth });
    return resolveFiles(requested, matches, tree);
  }

  async #choose(policy: Policy): Promise<Enforcement> {
    try {
      const enforcement = await this.#probe.choose(policy);
      await this.#report(enforcement);
      return enforcement;
    } catch (error) {
      if (!this.#reported.has("refused")) {
        this.#options.log.warn("a sandbox was refused", { reason: error instanceof Error ? error.message : "" });
      }
      this.#reported.add("refused");
      throw error;
    }
  }

  /** Once for each way: which it is, and why it is not the better one. */
  async #report(enforcement: Enforcement): Promise<void> {
    if (this.#reported.has(enforcement.type)) return;
    this.#reported.add(enforcement.type);
    const { log, setting } = this.#options;
    if (enforcement.type === "bubblewrap") {
      const { path, version } = enforcement.tool;
      log.info("sandboxes are made with bubblewrap", { path, version });
    } else if (enforcement.type === "landlock") {
      const { bubblewrap, landlock } = await this.#probe.facts();
      const version = landlock.isAvailable ? landlock.value : null;
      const reason = setting === "landlock" ? "chosen" : bubblewrap.isAvailable ? "" : bubblewrap.reason;
      log.warn("sandboxes are made with Landlock, which most policies cannot be expressed with", { version, reason });
    } else if (enforcement.type === "seccomp") log.info("only the network is confined, with the system call filter");
  }
}

function oldestKey<Key>(map: ReadonlyMap<Key, unknown>): Key | undefined {
  for (const key of map.keys()) return key;
  return undefined;
}

function createProbe(options: SandboxServiceOptions, tree: DenoHostTree, isRoot: boolean): SandboxProbe {
  const { setting, serverEnv, bubblewrapPath, clock } = options;
  const canaryHost: CanaryHost = {
    architecture: Deno.build.arch,
    isRoot,
    tree,
    makeDirectory: async () => await Deno.realPath(await Deno.makeTempDir({ prefix: "exec-server-canary-" })),
    removeDirectory: (path) => Deno.remove(path, { recursive: true }),
    makeEmptyDirectory: (path) => Deno.mkdir(path),
    placeholders: new RealPlaceholderFiles(),
    launch: options.launch,
  };
  return new SandboxProbe({
    setting,
    ...(clock === undefined ? {} : { clock }),
    host: {
      platform: Deno.build.os === "linux" || Deno.build.os === "darwin" ? Deno.build.os : "other",
      findBubblewrap: () =>
        findBubblewrap(new DenoToolHost(), {
          searchPath: serverEnv.PATH ?? "",
          ...(bubblewrapPath === undefined ? {} : { chosenPath: bubblewrapPath }),
        }),
      landlockAbi: () => {
        const version = landlockVersion();
        return version > 0
          ? { isAvailable: true, value: version }
          : { isAvailable: false, reason: "this kernel has no Landlock", problem: "missing" };
      },
      listTopLevel: () =>
        [...Deno.readDirSync("/")].filter(({ isSymlink }) => !isSymlink).map(({ name }) => `/${name}`),
      canary: (enforcement) => runCanary(enforcement, canaryHost),
    },
  });
}

function entryContext(tmpdir: string | undefined): EntryContext {
  return { tmpdir: tmpdir ?? null, platform: Deno.build.os === "darwin" ? "darwin" : "linux" };
}

function wantedCommand({ argv, arg0, cwd, env }: CommandRequest): WantedCommand {
  if (typeof cwd !== "string") throw internalError("Cannot start process in its sandbox: its directory is not UTF-8");
  const candidates = findProgram({ argv, cwd, env }).map((path) => {
    const text = fromByteString(byteStringOf(path));
    if (typeof text !== "string") throw internalError("Cannot start process in its sandbox: its path is not UTF-8");
    return text.startsWith("/") ? text : `${cwd}/${text}`;
  });
  return { candidates, argv: [arg0 ?? argv[0]!, ...argv.slice(1)], env, cwd };
}
