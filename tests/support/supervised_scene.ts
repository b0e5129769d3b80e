/** Shells whose every execve is decided, on this machine, with files to be confined to. */

import { KernelSupervisedShells } from "../../src/mcp/supervised_shells.ts";
import type {
  EscalationOutcome,
  ExecCall,
  ExecVerdict,
  SupervisedShell,
  SupervisedShellCounters,
  SupervisedShellOptions,
} from "../../src/mcp/supervised_shell.ts";
import type { SandboxSetting } from "../../src/launch/backends/sandbox_probe.ts";
import { NO_LISTENER, NO_SANDBOX, SandboxHost } from "./sandbox_host.ts";

/** Why no shell can be supervised here; null when one can. */
export const NO_WATCH: string | null = Deno.build.arch !== "x86_64" ? `${Deno.build.arch}` : NO_SANDBOX ?? NO_LISTENER;

export interface Outcome {
  readonly exitCode: number;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly calls: readonly ExecCall[];
  readonly escalations: readonly EscalationOutcome[];
  readonly counters: SupervisedShellCounters;
}

/** A verdict by the name of the program; others run inside. */
export type Rules = Readonly<Record<string, ExecVerdict>>;

export const ESCALATE: ExecVerdict = { kind: "escalate" };
export const FORBIDDEN: ExecVerdict = { kind: "deny", reason: "Execution forbidden by policy" };

export type SceneOptions = Partial<Omit<SupervisedShellOptions, "sandbox" | "command">> & {
  /** As `SandboxHost.sandbox` takes it; null for none. */
  readonly sandbox?: string | null;
  readonly rules?: Rules;
};

export interface RunningShell {
  readonly shell: SupervisedShell;
  readonly calls: ExecCall[];
  readonly escalations: EscalationOutcome[];
  /** Everything so far. */
  readonly output: { stdout: string; stderr: string };
  outcome(): Promise<Outcome>;
}

export class SupervisedScene implements AsyncDisposable {
  readonly host: SandboxHost;
  readonly shells: KernelSupervisedShells;
  readonly serverEnv: Readonly<Record<string, string>>;

  private constructor(host: SandboxHost, options: { readonly keepsSandboxes?: boolean } = {}) {
    this.host = host;
    const { backend, service } = host;
    // As where the server was started with a virtual environment of the workspace.
    const path = `${this.ws}/sub:/usr/bin:/bin`;
    this.serverEnv = { PATH: path, HOME: "/nowhere", XDG_CONFIG_HOME: "/nowhere/config" };
    this.shells = new KernelSupervisedShells({ backend, service, serverEnv: this.serverEnv, ...options });
  }

  static async open(setting?: SandboxSetting): Promise<SupervisedScene> {
    return new SupervisedScene(await SandboxHost.open(setting));
  }

  /** The same host, where every sandbox is made for its command. Its shells are the caller's to close. */
  withoutStandbys(): SupervisedScene {
    return new SupervisedScene(this.host, { keepsSandboxes: false });
  }

  get ws(): string {
    return `${this.host.root}/ws`;
  }

  get out(): string {
    return `${this.host.root}/out`;
  }

  async start(command: string, options: SceneOptions = {}): Promise<RunningShell> {
    const { sandbox = "read /, write ws", rules = {}, decide, ...rest } = options;
    const calls: ExecCall[] = [];
    const escalations: EscalationOutcome[] = [];
    const output = { stdout: "", stderr: "" };
    const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
    const shell = await this.shells.start({
      shell: "/bin/bash",
      command,
      login: false,
      cwd: this.ws,
      env: { PATH: "/usr/bin:/bin", HOME: this.ws, LANG: "C" },
      sandbox: sandbox === null ? null : this.host.sandbox(sandbox),
      intercept: "all",
      escalate: "shell",
      strictExec: false,
      onOutput: (stream, bytes) => void (output[stream] += decoders[stream].decode(bytes, { stream: true })),
      onEscalated: (_, outcome) => void escalations.push(outcome),
      ...rest,
      decide: (call, signal) => {
        calls.push(call);
        if (decide !== undefined) return decide(call, signal);
        return rules[call.file.split("/").at(-1)!] ?? { kind: "run" };
      },
    });
    const outcome = async (): Promise<Outcome> => {
      const ended = await shell.exited;
      await shell.closed;
      return { ...ended, ...output, calls, escalations, counters: shell.counters };
    };
    return { shell, calls, escalations, output, outcome };
  }

  async run(command: string, options?: SceneOptions): Promise<Outcome> {
    return await (await this.start(command, options)).outcome();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shells.close();
    await this.host[Symbol.asyncDispose]();
  }
}

export interface WatchTestOptions {
  readonly obstacle?: string | null;
  readonly setting?: SandboxSetting;
}

/**
 * A test that supervises real shells: where none can be supervised, or something else is in its way, skipped under a name that
 * says so.
 */
export function supervisedTest(
  name: string,
  fn: (scene: SupervisedScene) => Promise<void>,
  { obstacle = null, setting }: WatchTestOptions = {},
): void {
  const reason = NO_WATCH ?? obstacle;
  Deno.test({
    name: reason === null ? name : `${name} (SKIPPED: ${reason})`,
    ignore: reason !== null,
    async fn() {
      await using scene = await SupervisedScene.open(setting);
      await fn(scene);
    },
  });
}

/** Made for its command, made before it, by the backend that has no namespaces, and none at all. */
const WAYS: readonly (WatchTestOptions & { readonly name: string; readonly sandbox: string | null })[] = [
  { name: "read /, write ws", sandbox: "read /, write ws" },
  { name: "read /", sandbox: "read /" },
  { name: "landlock, read /", sandbox: "read /", setting: "landlock" },
  { name: "no sandbox", sandbox: null },
];

/** A test in each kind of sandbox that a shell can be supervised in, and in none. */
export function supervisedEachWay(
  name: string,
  fn: (scene: SupervisedScene, sandbox: string | null) => Promise<void>,
): void {
  for (const way of WAYS) supervisedTest(`${way.name}: ${name}`, (scene) => fn(scene, way.sandbox), way);
}

/** Whether a process runs; one that has ended and is not yet reaped does not. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s*[ZX]/m.test(Deno.readTextFileSync(`/proc/${pid}/status`));
  } catch {
    return false;
  }
}
