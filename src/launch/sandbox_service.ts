/**
 * What the server asks when a request carries a sandbox object: whether anything is confined, how, and whether this
 * host can do it. Made once; examines the host when the first request needs it.
 *
 * Only decides: the canary is run by the function it is given, and plans are carried out by the caller. A request that
 * cannot be enforced as it stands is refused here, before anything has happened.
 *
 * More than 300 lines: the questions of commands, files and watched programs share what was found out about the host.
 */

import { internalError, invalidRequest, messageOf } from "../errors.ts";
import { errorFields, type Logger } from "../log.ts";
import { byteStringOf, fromByteString } from "../os/files/byte_string.ts";
import { type MountEntry, OwnMountTable } from "../os/files/mount_table.ts";
import { findProgram } from "../os/children/find_program.ts";
import { ownGid, ownUid } from "../os/own_ids.ts";
import { type Program, refuseUnstartable } from "../os/children/program.ts";
import type { NativePath } from "../path_uri.ts";
import type { Sandbox } from "../protocol/sandbox.ts";
import { planBubblewrap } from "./backends/bubblewrap.ts";
import { planOwnNamespaces } from "./backends/own_namespaces.ts";
import { createProbe, type HostProbeOptions } from "./backends/host_probe.ts";
import { type Enforcement, prepareLaunch, visibleCommand, type WantedCommand } from "./confine.ts";
import { type IsDenied, watchDenials } from "./policy/watch_denials.ts";
import { DenoHostTree } from "./policy/deno_host_tree.ts";
import { Places } from "./places.ts";
import type { GlobPattern } from "./policy/glob_pattern.ts";
import { scanGlobs } from "./policy/glob_scan.ts";
import type { HostTree } from "./policy/host_tree.ts";
import { planStub } from "./backends/landlock.ts";
import { HostKernelMounts, NO_KERNEL_MOUNTS } from "./kernel_mounts.ts";
import type { ConfinedCommand, InheritedDescriptor, LaunchPlan, PreparedLaunch } from "./launch_plan.ts";
import { OsHostTree } from "./policy/os_host_tree.ts";
import {
  accessTo,
  ALL_FILES,
  type FilePolicy,
  helperPolicy,
  type Policy,
  refuseUnmanagedNetwork,
} from "./policy/policy.ts";
import { RealPlaceholderFiles } from "./policy/placeholder_files.ts";
import { type LeftoverList, PathAppearedError } from "./policy/placeholders.ts";
import {
  type EntryContext,
  type RequestedFiles,
  type RequestedPolicy,
  requestedPolicy,
} from "./policy/policy_entries.ts";
import { resolveFiles } from "./policy/policy_resolve.ts";
import { RememberedTree } from "./policy/remembered_tree.ts";
import { sandboxObstacle } from "./sandbox_obstacle.ts";
import { dependsOnDisk, hides, planKey, type Standby } from "./standby.ts";
import { lateCommand } from "./stub/late_command.ts";
import { mayBeForbidden } from "./stub/launch_stub.ts";
import {
  isExhaustion,
  type Purpose,
  type SandboxFacts,
  type SandboxProbe,
  type SandboxSetting,
} from "./backends/sandbox_probe.ts";

export interface SandboxServiceOptions extends HostProbeOptions {
  readonly log: Logger;
}

/** A command as a request wants it. */
export interface CommandRequest extends Program {
  readonly cwd: NativePath;
  /** The command may reach the network only through a proxy, whatever the sandbox object says. */
  readonly enforceManagedNetwork: boolean;
  /**
   * Whether the one who carries out the plan decides about every program that the command starts. Then there is a plan
   * even where nothing is confined.
   */
  readonly asksBeforeExec?: boolean;
  /** Whether it is to be told from inside how the command ends, where that is possible; always if it asks before. */
  readonly tellsEnd?: boolean;
  /**
   * Processes and threads inside at a time, where the sandbox can count them: with Linux 5.14, a sandbox that has
   * namespaces, and a server that is not root.
   */
  readonly maxProcesses?: number | undefined;
  readonly inherited?: readonly InheritedDescriptor[];
}

export interface CommandConfinement {
  /** Files are confined by something else (`external`), and only the network here. */
  readonly leavesFilesToOthers: boolean;
  /** How to start the command, for the disk as it is now. */
  prepare(leftovers?: LeftoverList): Promise<PreparedLaunch>;
}

/** How this server confines, for the log and for people. */
export interface SandboxDescription extends SandboxFacts {
  readonly setting: SandboxSetting;
}

/** A path can appear between two looks only if a program creates it in that millisecond. */
const MAX_ATTEMPTS = 5;

/**
 * Searches for what globs match, at a time. Each lists whole directories, so a thousand would fill the memory and the
 * runtime's threads; and more than one, because one on a slow network mount must not hold up the others.
 */
const MAX_SCANS = 4;

/** More policies than one client alternates between. */
const MAX_REMEMBERED_POLICIES = 64;

/** A sandbox without a command, and all that it depends on. */
interface SandboxForLater {
  /** The sandbox object, and what else was asked for, as a text. */
  readonly asked: string;
  readonly mounts: readonly MountEntry[];
  readonly tree: RememberedTree;
  readonly policy: Policy;
  readonly plan: LaunchPlan;
  readonly key: string;
  /** The stub makes it without bubblewrap. */
  readonly isOwn: boolean;
}

/** In a row, at what a system may forbid. As many as this are its will. */
const MAX_FORBIDDEN_NAMESPACES = 3;
/** In a row, for other reasons than exhaustion. Fewer than this may be the work of somebody who is busy mounting. */
const MAX_FAILED_NAMESPACES = 12;

/** What a sandbox object asks for files. */
interface FileRequest {
  readonly files: "unrestricted" | RequestedFiles;
  /** The object confines nothing, or says that something else confines files (`external`). */
  readonly isFree: boolean;
  readonly needs: readonly string[];
  /** Equal for all objects that ask for the same without patterns. */
  readonly key: string;
}

export class SandboxService {
  readonly #options: SandboxServiceOptions;
  readonly #probe: SandboxProbe;
  readonly #kernelMounts = Deno.build.os === "linux" ? new HostKernelMounts() : NO_KERNEL_MOUNTS;
  readonly #scanPlaces = new Places(MAX_SCANS);
  readonly #tree = Deno.build.os === "linux" ? new OsHostTree(this.#kernelMounts) : new DenoHostTree();
  readonly #mountTable = new OwnMountTable();
  readonly #placeholders = new RealPlaceholderFiles();
  /** Why every sandbox is refused; null when some are possible. */
  readonly obstacle = sandboxObstacle();
  readonly #isRoot = ownUid() === 0;
  /** Policies made for the latest file operations, valid while the disk stays the same. Oldest first. */
  readonly #filePolicies = new Map<string, { readonly tree: RememberedTree; readonly policy: FilePolicy }>();
  readonly #fileRequests = new WeakMap<Sandbox, FileRequest>();
  /** Sandboxes of the stub's own that could not be made since the last that could. */
  #failedNamespaces = { forbidden: 0, all: 0 };
  /** They are never made again: some systems let bubblewrap make namespaces, but nobody else. */
  #isLeftToBubblewrap = false;
  /** The latest. Commands that follow each other usually have the same sandbox. */
  #forLater: SandboxForLater | null = null;
  readonly #reported = new Set<Enforcement["type"] | "network" | "refused">();

  constructor(options: SandboxServiceOptions) {
    this.#options = options;
    this.#probe = createProbe(options, { tree: this.#tree, isRoot: this.#isRoot, kernelMounts: this.#kernelMounts });
  }

  /** How a command is confined; null when the object confines nothing. Refuses at once what it can. */
  confineCommand(sandbox: Sandbox, command: CommandRequest): CommandConfinement | null {
    const requested = requestedPolicy(sandbox, entryContext(command.env.TMPDIR));
    if (command.enforceManagedNetwork) refuseUnmanagedNetwork({ ...requested, files: "unrestricted" });
    if (requested.files === "unrestricted" && requested.network === "enabled") {
      return command.asksBeforeExec === true ? this.planCommand(command) : null;
    }
    this.#mustBePossible();
    // Checked first, because the arguments of wrappers are separated by NUL.
    refuseUnstartable(command);
    return {
      leavesFilesToOthers: sandbox.permissions.type === "external",
      prepare: (leftovers) => this.#prepareCommand(requested, command, leftovers),
    };
  }

  /**
   * For a command whose sandbox could have been made before the command was known; null for any other. Throws where
   * starting it would be refused.
   */
  async standBy(sandbox: Sandbox, command: CommandRequest): Promise<Standby | null> {
    if (command.enforceManagedNetwork || command.inherited !== undefined) return null;
    // Read first: what is mounted after this is noticed the next time.
    const mounts = this.#mountTable.entries;
    const made = mounts === null ? null : await this.#sandboxForLater(sandbox, command, mounts);
    if (made === null) return null;
    refuseUnstartable(command);
    const late = lateCommand(visibleCommand(wantedCommand(command), made.policy, this.#tree));
    if (late === null) return null;
    const { key, plan, policy, isOwn } = made;
    const prepare = (): Promise<PreparedLaunch> => Promise.resolve({ plan, policy, release: () => {} });
    const told: Pick<Standby, "made" | "failed"> = isOwn
      ? {
        made: () => void (this.#failedNamespaces = { forbidden: 0, all: 0 }),
        failed: (error, report) => this.#namespacesFailed(error, report !== null && mayBeForbidden(report)),
      }
      : { made() {}, failed() {} };
    return { key, mounts: made.mounts, command: late, prepare, ...told };
  }

  #namespacesFailed(error: unknown, mayBeForbidden: boolean): void {
    if (this.#isLeftToBubblewrap || isExhaustion(messageOf(error))) return;
    const failed = this.#failedNamespaces;
    failed.all++;
    if (mayBeForbidden) failed.forbidden++;
    if (failed.forbidden < MAX_FORBIDDEN_NAMESPACES && failed.all < MAX_FAILED_NAMESPACES) return;
    this.#isLeftToBubblewrap = true;
    this.#forLater = null;
    this.#options.log.info("sandboxes that wait for commands are made with bubblewrap, too", errorFields(error));
  }

  /** The part of it that is the same for all commands: made again only when the disk or the mounts have changed. */
  async #sandboxForLater(
    sandbox: Sandbox,
    { env, asksBeforeExec = false, maxProcesses }: CommandRequest,
    mounts: readonly MountEntry[],
  ): Promise<SandboxForLater | null> {
    const asked = JSON.stringify([sandbox, env.TMPDIR, asksBeforeExec, maxProcesses]);
    const known = this.#forLater;
    if (known?.asked === asked && known.mounts === mounts && known.tree.isStillSo) return known;
    const { files, network } = requestedPolicy(sandbox, entryContext(env.TMPDIR));
    if (files === "unrestricted" || hides(files)) return null;
    this.#mustBePossible();
    const tree = new RememberedTree(this.#tree);
    const policy: Policy = { files: await this.#resolveFiles(files, tree), network };
    if (dependsOnDisk(policy)) return null;
    const enforcement = await this.#choose(policy, "command");
    if (enforcement.type !== "bubblewrap") return null;
    const own = this.#ownNamespaces(policy, { asksBeforeExec, maxProcesses });
    const plan = own ?? planBubblewrap(null, policy, {
      tool: enforcement.tool,
      architecture: Deno.build.arch,
      isRoot: this.#isRoot,
      reportsDenials: true,
      asksBeforeExec,
      tellsEnd: asksBeforeExec,
      maxProcesses,
      kernelMounts: this.#kernelMounts,
    });
    return this.#forLater = { asked, mounts, tree, policy, plan, key: planKey(plan), isOwn: own !== null };
  }

  /** Null where bubblewrap has to do it. */
  #ownNamespaces(
    policy: Policy,
    { asksBeforeExec, maxProcesses }: Pick<CommandRequest, "asksBeforeExec" | "maxProcesses">,
  ): LaunchPlan | null {
    const uid = ownUid();
    const gid = ownGid();
    if (this.#isLeftToBubblewrap || asksBeforeExec !== true || uid === null || gid === null) return null;
    const options = { architecture: Deno.build.arch, kernelMounts: this.#kernelMounts };
    return planOwnNamespaces(policy, { ...options, uid, gid, maxProcesses });
  }

  /** A command that is not confined, but asks before it starts a program, or has a descriptor of its own. */
  planCommand(command: CommandRequest): CommandConfinement {
    this.#mustBePossible();
    refuseUnstartable(command);
    const prepare = (): Promise<PreparedLaunch> => {
      const visible = visibleCommand(wantedCommand(command), { files: "unrestricted", network: "enabled" }, this.#tree);
      const options = { architecture: Deno.build.arch, network: "enabled", isRoot: this.#isRoot } as const;
      const { asksBeforeExec = false } = command;
      const plan = planStub(visible, { ...options, asksBeforeExec, ruleset: null });
      return Promise.resolve({ plan, release: () => {} });
    };
    return { leavesFilesToOthers: true, prepare };
  }

  /**
   * What file operations may do. `unrestricted`: as without a sandbox object. A policy that confines the network but no
   * files still confines them: they must not reach what its processes cannot, such as other processes through procfs.
   * Besides what the client granted, the policy makes readable what the helper program needs to run (`needs`, paths
   * without links).
   *
   * Rejects when the policy cannot be enforced here, even for operations that would not need a helper.
   */
  async filePolicy(sandbox: Sandbox, needs: readonly string[]): Promise<"unrestricted" | FilePolicy> {
    const { files, isFree, key } = this.#requestedFiles(sandbox, needs);
    if (isFree) return "unrestricted";
    this.#mustBePossible();
    if (files === "unrestricted") {
      await this.#choose(helperPolicy(ALL_FILES), "files");
      return ALL_FILES;
    }
    // Matches of a pattern can only be found by looking through everything again.
    if (files.globs.length > 0) return await this.#enforceableFilePolicy(files, needs, new RememberedTree(this.#tree));
    const known = this.#filePolicies.get(key);
    // What could be enforced once can be enforced again: only successes are remembered.
    if (known !== undefined && known.tree.isStillSo) return known.policy;
    const tree = new RememberedTree(this.#tree);
    const policy = await this.#enforceableFilePolicy(files, needs, tree);
    this.#filePolicies.delete(key);
    this.#filePolicies.set(key, { tree, policy });
    if (this.#filePolicies.size > MAX_REMEMBERED_POLICIES) this.#filePolicies.delete(oldestKey(this.#filePolicies)!);
    return policy;
  }

  /** What an object asks for depends only on the object, and the same one comes with many requests. */
  #requestedFiles(sandbox: Sandbox, needs: readonly string[]): FileRequest {
    const known = this.#fileRequests.get(sandbox);
    if (known?.needs === needs) return known;
    const { files, network } = requestedPolicy(sandbox, entryContext(this.#options.serverEnv.TMPDIR));
    const key = files === "unrestricted" ? "" : JSON.stringify([files.entries, needs]);
    const isFree = files === "unrestricted" && (network === "enabled" || sandbox.permissions.type === "external");
    const request = { files, isFree, needs, key };
    this.#fileRequests.set(sandbox, request);
    return request;
  }

  /** What a sandbox object denies by name, whether it exists or not; null when nothing. */
  watchDenials(sandbox: Sandbox): IsDenied | null {
    const { files } = requestedPolicy(sandbox, entryContext(this.#options.serverEnv.TMPDIR));
    return files === "unrestricted" ? null : watchDenials(files, this.#tree);
  }

  async #enforceableFilePolicy(
    requested: RequestedFiles,
    needs: readonly string[],
    tree: HostTree,
  ): Promise<FilePolicy> {
    const files = await this.#filePolicy(requested, needs, tree);
    await this.#choose(helperPolicy(files), "files");
    return files;
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

  /** A launch of our own program, without network. Rejects when the policy cannot be enforced. */
  async prepareOwn(command: ConfinedCommand, files: FilePolicy, leftovers?: LeftoverList): Promise<PreparedLaunch> {
    return await this.#prepare(command, helperPolicy(files), { purpose: "files", leftovers, reportsDenials: false });
  }

  /** What would enforce a sandbox object for a command, without preparing anything. Rejects in the same cases. */
  async outlook(sandbox: Sandbox, tmpdir?: string): Promise<Enforcement["type"]> {
    const policy = await this.#resolve(requestedPolicy(sandbox, entryContext(tmpdir)));
    return (await this.#probe.choose(policy)).type;
  }

  /** Examines everything this host offers. */
  async describe(): Promise<SandboxDescription> {
    const { setting } = this.#options;
    if (this.obstacle === null) return { setting, ...await this.#probe.facts() };
    const unavailable = { isAvailable: false, reason: this.obstacle } as const;
    return { setting, bubblewrap: unavailable, landlock: unavailable };
  }

  async #prepareCommand(
    requested: RequestedPolicy,
    command: CommandRequest,
    leftovers: LeftoverList | undefined,
  ): Promise<PreparedLaunch> {
    for (let attempt = 1;; attempt++) {
      const policy = await this.#resolve(requested);
      try {
        const visible = visibleCommand(wantedCommand(command), policy, this.#tree);
        const { asksBeforeExec = false, tellsEnd = asksBeforeExec, maxProcesses } = command;
        const asked = { asksBeforeExec, tellsEnd, maxProcesses };
        return await this.#prepare(visible, policy, { purpose: "command", leftovers, reportsDenials: true, ...asked });
      } catch (error) {
        if (!(error instanceof PathAppearedError) || attempt === MAX_ATTEMPTS) throw error;
      }
    }
  }

  async #prepare(
    command: ConfinedCommand,
    policy: Policy,
    { purpose, ...options }: {
      purpose: Purpose;
      leftovers: LeftoverList | undefined;
      reportsDenials: boolean;
      asksBeforeExec?: boolean;
      tellsEnd?: boolean;
      maxProcesses?: number | undefined;
    },
  ): Promise<PreparedLaunch> {
    const enforcement = await this.#choose(policy, purpose);
    const launch = prepareLaunch(command, policy, {
      enforcement,
      architecture: Deno.build.arch,
      isRoot: this.#isRoot,
      placeholders: this.#placeholders,
      kernelMounts: this.#kernelMounts,
      ...options,
    });
    if (launch === null) throw new Error("a command that must be confined has no launch plan");
    return launch;
  }

  async #resolve({ files, network }: RequestedPolicy): Promise<Policy> {
    if (files === "unrestricted") return { files, network };
    return { files: await this.#resolveFiles(files, new RememberedTree(this.#tree)), network };
  }

  async #resolveFiles(requested: RequestedFiles, tree: HostTree): Promise<FilePolicy> {
    const { globs, globScanMaxDepth: maxDepth } = requested;
    const matches = globs.length === 0 ? [] : await this.#scan(globs, maxDepth);
    return resolveFiles(requested, matches, tree);
  }

  async #scan(globs: readonly GlobPattern[], maxDepth: number | null): Promise<string[]> {
    const leave = await this.#scanPlaces.take();
    try {
      return await scanGlobs(globs, this.#tree, { maxDepth });
    } finally {
      leave();
    }
  }

  async #choose(policy: Policy, purpose: Purpose): Promise<Enforcement> {
    try {
      const enforcement = await this.#probe.choose(policy, purpose);
      await this.#report(enforcement, policy);
      return enforcement;
    } catch (error) {
      this.#reportRefusal(error);
      throw error;
    }
  }

  #mustBePossible(): void {
    if (this.obstacle === null) return;
    const error = invalidRequest(`Cannot enforce the sandbox: ${this.obstacle}`);
    this.#reportRefusal(error);
    throw error;
  }

  #reportRefusal(error: unknown): void {
    if (this.#reported.has("refused")) return;
    this.#reported.add("refused");
    this.#options.log.warn("a sandbox was refused", { reason: error instanceof Error ? error.message : "" });
  }

  /** Logged once for each backend: which it is, and why it is not the better one. */
  async #report(enforcement: Enforcement, { files }: Policy): Promise<void> {
    const way = files === "unrestricted" ? "network" : enforcement.type;
    if (this.#reported.has(way)) return;
    this.#reported.add(way);
    const { log, setting } = this.#options;
    if (way === "network") {
      log.info("making a sandbox that confines the network but no files", { backend: enforcement.type });
    } else if (enforcement.type === "bubblewrap") {
      const { path, version } = enforcement.tool;
      log.info("sandboxes are made with bubblewrap", { path, version });
    } else if (enforcement.type === "landlock") {
      const { bubblewrap, landlock } = await this.#probe.facts();
      const version = landlock.isAvailable ? landlock.value : null;
      const reason = setting === "landlock" ? "chosen" : bubblewrap.isAvailable ? "" : bubblewrap.reason;
      log.warn("sandboxes are made with Landlock, which cannot express most policies", { version, reason });
    }
  }
}

function oldestKey<Key>(map: ReadonlyMap<Key, unknown>): Key | undefined {
  for (const key of map.keys()) return key;
  return undefined;
}

function entryContext(tmpdir: string | undefined): EntryContext {
  return { tmpdir: tmpdir ?? null };
}

function wantedCommand({ argv, arg0, cwd, env, inherited }: CommandRequest): WantedCommand {
  if (typeof cwd !== "string") throw internalError("Cannot start process in its sandbox: its directory is not UTF-8");
  const candidates = findProgram({ argv, cwd, env }).map((path) => {
    const text = fromByteString(byteStringOf(path));
    if (typeof text !== "string") throw internalError("Cannot start process in its sandbox: its path is not UTF-8");
    return text.startsWith("/") ? text : `${cwd}/${text}`;
  });
  const own = inherited === undefined ? {} : { inherited };
  return { candidates, argv: [arg0 ?? argv[0]!, ...argv.slice(1)], env, cwd, ...own };
}
