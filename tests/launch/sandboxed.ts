/**
 * Real sandboxes for tests: a small tree of files, policies in short texts, and commands run under them.
 */

import { HostKernelMounts } from "../../src/launch/kernel_mounts.ts";
import assert from "node:assert/strict";
import type { BubblewrapTool } from "../../src/launch/backends/bubblewrap.ts";
import { prepareLaunch } from "../../src/launch/confine.ts";
import { compileGlob } from "../../src/launch/policy/glob_pattern.ts";
import { scanGlobs } from "../../src/launch/policy/glob_scan.ts";
import type { ConfinedCommand, PreparedLaunch } from "../../src/launch/launch_plan.ts";
import { OsHostTree } from "../../src/launch/policy/os_host_tree.ts";
import { RealPlaceholderFiles } from "../../src/launch/policy/placeholder_files.ts";
import type { Policy } from "../../src/launch/policy/policy.ts";
import type { PolicyEntry } from "../../src/launch/policy/policy_entries.ts";
import { resolveFiles } from "../../src/launch/policy/policy_resolve.ts";
import { ARCHITECTURE, type FinishedRun, IS_ROOT, type Run, type RunOptions, shell, startPlan } from "./run_plan.ts";

const PATH = "/usr/bin/bwrap";

/** Null when bubblewrap is not installed. Looked up plainly: finding it is tested elsewhere. */
export const TOOL: BubblewrapTool | null = findTool();

function findTool(): BubblewrapTool | null {
  if (Deno.build.os !== "linux") return null;
  try {
    const { stdout } = new Deno.Command(PATH, { args: ["--help"], stderr: "null" }).outputSync();
    const help = new TextDecoder().decode(stdout);
    return { path: PATH, version: "installed", bindsDescriptors: help.includes("--ro-bind-fd") };
  } catch {
    return null;
  }
}

/** A test that needs bubblewrap: without it, or for a reason of its own, skipped under a name that says so. */
export function sandboxTest(
  name: string,
  fn: (box: Box) => Promise<void>,
  skip: { because?: string | false } = {},
): void {
  const reason = TOOL === null ? `no ${PATH}` : skip.because || null;
  Deno.test({
    name: reason === null ? name : `${name} (SKIPPED: ${reason})`,
    ignore: reason !== null,
    async fn() {
      const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "sandbox-test-" }));
      try {
        await fn(Box.fill(root, TOOL!));
      } finally {
        await Deno.remove(root, { recursive: true });
      }
    },
  });
}

/** For `skip`: whether a program is installed. */
export function isMissing(path: string): string | false {
  try {
    Deno.statSync(path);
    return false;
  } catch {
    return `no ${path}`;
  }
}

export interface PolicyOptions {
  readonly network?: Policy["network"];
  /** Patterns to deny, relative to the root. */
  readonly globs?: readonly string[];
}

/** A directory of its own: `ws` to be written to, `out` not to be, with links and a hard link between them. */
export class Box {
  readonly root: string;
  readonly tool: BubblewrapTool;
  readonly tree = new OsHostTree();

  constructor(root: string, tool: BubblewrapTool) {
    this.root = root;
    this.tool = tool;
  }

  static fill(root: string, tool: BubblewrapTool): Box {
    const box = new Box(root, tool);
    for (const directory of ["ws/sub", "ws/a/b", "out/w", "two"]) {
      Deno.mkdirSync(`${root}/${directory}`, { recursive: true });
    }
    box.write("ws/in.txt", "in");
    box.write("ws/a/b/f", "f");
    box.write("out/o.txt", "out");
    box.write("out/h.txt", "hard");
    Deno.symlinkSync("../out/o.txt", `${root}/ws/esc`);
    Deno.symlinkSync("../out", `${root}/ws/escd`);
    Deno.linkSync(`${root}/out/h.txt`, `${root}/ws/hard`);
    return box;
  }

  write(path: string, text: string): void {
    Deno.writeTextFileSync(`${this.root}/${path}`, text);
  }

  read(path: string): string {
    return Deno.readTextFileSync(`${this.root}/${path}`);
  }

  /** `read /, write ws`: relative paths are below the root. */
  async policy(text: string, { network = "restricted", globs = [] }: PolicyOptions = {}): Promise<Policy> {
    const entries = text.split(",").map((entry): PolicyEntry => {
      const [access, path] = entry.trim().split(" ");
      return { access: access as PolicyEntry["access"], path: this.#absolute(path!) };
    });
    const patterns = globs.flatMap((pattern) => compileGlob(this.#absolute(pattern)));
    const matches = await scanGlobs(patterns, this.tree, { maxDepth: null });
    return { files: resolveFiles({ entries, globs: patterns, globScanMaxDepth: null }, matches, this.tree), network };
  }

  #absolute(path: string): string {
    return path.startsWith("/") ? path : `${this.root}/${path}`;
  }

  async prepare(policy: string, command: ConfinedCommand, options: PolicyOptions = {}): Promise<PreparedLaunch> {
    const launch = prepareLaunch(command, await this.policy(policy, options), {
      enforcement: { type: "bubblewrap", tool: this.tool },
      architecture: ARCHITECTURE,
      isRoot: IS_ROOT,
      placeholders: new RealPlaceholderFiles(),
      kernelMounts: new HostKernelMounts(),
    });
    assert.ok(launch !== null);
    return launch;
  }

  async startCommand(policy: string, command: ConfinedCommand, options: PolicyOptions & RunOptions = {}): Promise<Run> {
    const { plan, release } = await this.prepare(policy, command, options);
    try {
      return await startPlan(plan, { ...options, ended: release });
    } catch (error) {
      release();
      throw error;
    }
  }

  async runCommand(policy: string, command: ConfinedCommand, options: PolicyOptions = {}): Promise<FinishedRun> {
    return await (await this.startCommand(policy, command, options)).finished();
  }

  /** Runs a shell script in `cwd` (the root by default). */
  async run(policy: string, script: string, options: PolicyOptions & { cwd?: string } = {}): Promise<FinishedRun> {
    return await (await this.start(policy, script, options)).finished();
  }

  async start(
    policy: string,
    script: string,
    options: PolicyOptions & RunOptions & { cwd?: string } = {},
  ): Promise<Run> {
    return await this.startCommand(policy, shell(script, options.cwd ?? this.root), options);
  }

  /** Each path with what lies there: for "nothing has changed". */
  snapshot(path = "."): Map<string, string> {
    const found = new Map<string, string>();
    const visit = (at: string): void => {
      for (const { name } of Deno.readDirSync(at)) {
        const path = `${at}/${name}`;
        const info = Deno.lstatSync(path);
        const mode = (info.mode ?? 0).toString(8);
        if (info.isSymlink) found.set(path, `link ${Deno.readLinkSync(path)}`);
        else if (info.isDirectory) {
          found.set(path, `directory ${mode}`);
          visit(path);
        } else found.set(path, `file ${mode} ${info.mtime?.getTime()} ${info.nlink} ${Deno.readTextFileSync(path)}`);
      }
    };
    visit(`${this.root}/${path}`);
    return found;
  }
}
