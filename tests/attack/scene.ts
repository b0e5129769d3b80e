/**
 * What every attack has in common: a workspace it may write, an outside it may not, and the proof that the outside is
 * byte for byte what it was: every name, mode, time, link and content.
 */

import assert from "node:assert/strict";
import type { SandboxSetting } from "../../src/launch/sandbox_probe.ts";
import type { Sandbox } from "../../src/protocol/sandbox.ts";
import { command, RecordedChild, shell } from "../support/recorded_child.ts";
import { NO_SANDBOX, SandboxHost } from "../support/sandbox_host.ts";
import { SandboxedFiles } from "../support/sandboxed_files.ts";

const USER = Deno.uid() === 0 ? "root" : "unprivileged";

export interface Attempt {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export class AttackScene {
  readonly host: SandboxHost;
  readonly sandboxed: SandboxedFiles;

  constructor(sandboxed: SandboxedFiles) {
    this.sandboxed = sandboxed;
    this.host = sandboxed.host;
  }

  get ws(): string {
    return `${this.host.root}/ws`;
  }

  get out(): string {
    return `${this.host.root}/out`;
  }

  /** Runs a shell script in the workspace, confined. */
  async run(script: string, policy: string | Sandbox = "read /, write ws"): Promise<Attempt> {
    return await this.#attempt(["sh", "-c", script], policy);
  }

  /** Runs a Perl program: for system calls no other tool makes. */
  async perl(program: string, policy: string | Sandbox = "read /, write ws"): Promise<Attempt> {
    return await this.#attempt(["perl", "-e", program], policy);
  }

  async #attempt(argv: readonly string[], policy: string | Sandbox): Promise<Attempt> {
    const sandbox = typeof policy === "string" ? this.host.sandbox(policy) : policy;
    const child = await RecordedChild.run(
      this.host.backend,
      this.host.confined(command(argv, { cwd: this.ws }), sandbox),
    );
    const status = await child.exit;
    const code = status.type === "exited" ? status.code : -1;
    return { code, stdout: child.text("stdout"), stderr: child.text("stderr") };
  }

  /** Starts a script that goes on until it is ended. */
  async start(script: string, policy = "read /, write ws"): Promise<() => Promise<void>> {
    const request = this.host.confined(shell(script, { cwd: this.ws }), this.host.sandbox(policy));
    const child = await RecordedChild.start(this.host.backend, request);
    await child.saw("stdout", "up");
    return async () => {
      child.process.signalGroup(9);
      await child.exit;
      await child.end;
      child.process.dispose();
    };
  }
}

export interface AttackOptions {
  readonly setting?: SandboxSetting;
  /** Programs without which the attack cannot be tried. */
  readonly needs?: readonly string[];
}

/** An attack that must fail: `attempt` proves the refusal, the fingerprint that nothing outside has changed. */
export function attack(
  name: string,
  attempt: (scene: AttackScene) => Promise<void>,
  { setting = "auto", needs = [] }: AttackOptions = {},
): void {
  const missing = NO_SANDBOX ?? needs.map(whyMissing).find((reason) => reason !== null) ?? null;
  const title = `${USER}, ${setting === "auto" ? "bubblewrap" : setting}: ${name}`;
  Deno.test({
    name: missing === null ? title : `${title} (SKIPPED: ${missing})`,
    ignore: missing !== null,
    async fn() {
      await using sandboxed = await SandboxedFiles.open({ setting });
      const scene = new AttackScene(sandboxed);
      await Deno.writeTextFile(`${scene.out}/secret`, "not for you");
      await Deno.chmod(`${scene.out}/secret`, 0o600);
      await Deno.mkdir(`${scene.out}/sub`);
      const before = fingerprint(scene.out);
      await attempt(scene);
      assert.deepEqual(fingerprint(scene.out), before, "the outside has changed");
    },
  });
}

function whyMissing(program: string): string | null {
  const paths = (Deno.env.get("PATH") ?? "").split(":").concat("/usr/sbin", "/sbin");
  for (const directory of paths) {
    try {
      if (Deno.statSync(`${directory}/${program}`).isFile) return null;
    } catch {
      // Not in this one.
    }
  }
  return `no ${program}`;
}

/** Everything about a tree that an attack could change. Access times are left out: reading is not an attack. */
export function fingerprint(path: string): unknown {
  const info = Deno.lstatSync(path);
  const { mode, uid, gid, nlink, size, mtime, ino } = info;
  const own = { mode, uid, gid, nlink, ino, mtimeMs: mtime?.getTime() };
  if (info.isSymlink) return { ...own, target: Deno.readLinkSync(path) };
  if (!info.isDirectory) return { ...own, size, content: Deno.readFileSync(path).toHex() };
  const names = Array.from(Deno.readDirSync(path), ({ name }) => name).sort();
  return { ...own, entries: names.map((name) => [name, fingerprint(`${path}/${name}`)]) };
}

/** Refused as a read-only place is, or as a place that is not there. */
export const REFUSED =
  /Read-only file system|Permission denied|not permitted|No such file|cross-device|busy|File exists|superuser/i;
