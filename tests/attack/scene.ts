/**
 * What every attack has in common: a workspace, an outside, and two proofs. The outside is byte for byte what it was:
 * every name, mode, time, link and content. And the attack is one: without the sandbox the very same thing succeeds, on a
 * copy of the files that nothing guards.
 *
 * Each attack is tried on both backends, as whoever runs the tests; `unprivileged.ts` runs them all again as nobody. A
 * backend on which an attack has no meaning is listed under a name that says why.
 */

import assert from "node:assert/strict";
import { createDirectFileSystem } from "../../src/fs/direct.ts";
import type { FileSystem } from "../../src/fs/file_system.ts";
import type { ExitStatus, SpawnRequest } from "../../src/process/backend.ts";
import type { Sandbox } from "../../src/protocol/sandbox.ts";
import type { Report, Step } from "../fixtures/hostile_program.ts";
import { command, RecordedChild, shell, TERMINAL } from "../support/recorded_child.ts";
import { layFiles, NO_SANDBOX, type SandboxHost } from "../support/sandbox_host.ts";
import { SandboxedFiles } from "../support/sandboxed_files.ts";

export const IS_ROOT = Deno.uid() === 0;
const USER = IS_ROOT ? "root" : "unprivileged";

export const BACKENDS = ["bubblewrap", "landlock"] as const;
export type Backend = typeof BACKENDS[number];

/** What an attacker may do at most: a writable directory, or what Landlock can express of it. */
const POLICIES: Readonly<Record<Backend, string>> = {
  bubblewrap: "read /, write ws",
  landlock: "read /, write ws/in.txt",
};

/** One of the two trees of files: the guarded one, or a copy. */
export interface Place {
  readonly root: string;
  readonly ws: string;
  readonly out: string;
}

export interface Attempt {
  readonly status: ExitStatus;
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface AttemptOptions {
  /** Where, and under which policy; null for none. */
  readonly place?: Place;
  readonly sandbox?: string | Sandbox | null;
}

const HOSTILE_PROGRAM = new URL("../fixtures/hostile_program.ts", import.meta.url).pathname;
/** The runtime does not start without a place for its cache, even if that place does not exist. */
const HOSTILE_ENV = { PATH: "/usr/bin:/bin", DENO_DIR: "/dev/null", NO_COLOR: "1" };

/** The command line of the hostile program. */
export function hostileArgv(steps: readonly Step[]): string[] {
  const flags = ["--quiet", "--no-config", "--no-lock", "--no-check", "--allow-all"];
  return [Deno.execPath(), "run", ...flags, HOSTILE_PROGRAM, JSON.stringify(steps)];
}

export class AttackScene {
  readonly backend: Backend;
  readonly host: SandboxHost;
  readonly sandboxed: SandboxedFiles;
  readonly guarded: Place;
  /** The files without any sandbox. */
  readonly direct: FileSystem = createDirectFileSystem();
  #copies = 0;

  constructor(backend: Backend, sandboxed: SandboxedFiles) {
    this.backend = backend;
    this.sandboxed = sandboxed;
    this.host = sandboxed.host;
    this.guarded = placeIn(this.host.root);
  }

  get ws(): string {
    return this.guarded.ws;
  }

  get out(): string {
    return this.guarded.out;
  }

  get policy(): string {
    return POLICIES[this.backend];
  }

  /** The confined files, under the attacker's policy unless told otherwise. */
  files(policy: string = this.policy): Promise<FileSystem> {
    return this.sandboxed.under(policy);
  }

  /** The same with everything done by a helper, nothing by the server itself. */
  filesByHelper(policy: string = this.policy): Promise<FileSystem> {
    return this.sandboxed.byHelper(policy);
  }

  /** A new copy of the files that nothing guards. */
  async copy(): Promise<Place> {
    const place = placeIn(`${this.host.root}/copy${++this.#copies}`);
    await Deno.mkdir(place.root);
    await layFiles(place.root);
    await hideSecret(place);
    return place;
  }

  /** Runs a shell script in the workspace. */
  run(script: string, options: AttemptOptions = {}): Promise<Attempt> {
    return this.#attempt(["sh", "-c", script], options);
  }

  /** Has the hostile program make these calls. Null when it did not live to tell. */
  async hostile(steps: readonly Step[], options: AttemptOptions = {}): Promise<Attempt & { report: Report | null }> {
    const attempt = await this.#attempt(hostileArgv(steps), options, { env: HOSTILE_ENV });
    const output = attempt.stdout.trim();
    return { ...attempt, report: output === "" ? null : JSON.parse(output) };
  }

  /** The same without a sandbox: the proof that there is something to refuse. */
  async freely(steps: readonly Step[], options: Omit<AttemptOptions, "sandbox"> = {}): Promise<Report> {
    const { report, stderr } = await this.hostile(steps, { ...options, sandbox: null });
    assert.ok(report !== null, stderr);
    return report;
  }

  /** The hostile program on a terminal of its own: what the terminal shows. */
  async hostileOnTerminal(steps: readonly Step[], sandbox: string | null): Promise<string> {
    return (await this.#attempt(hostileArgv(steps), { sandbox }, { env: HOSTILE_ENV, io: TERMINAL })).stdout;
  }

  /** Starts a command that goes on until it is ended; it has begun when it has said so. */
  async start(script: string, { sandbox = this.policy }: AttemptOptions = {}): Promise<() => Promise<void>> {
    const request = shell(script, { cwd: this.ws });
    const child = await RecordedChild.start(this.host.backend, this.#confine(request, sandbox));
    await child.saw("stdout", "up");
    return async () => {
      child.process.signalGroup(9);
      await child.exit;
      await child.end;
      child.process.dispose();
    };
  }

  async #attempt(
    argv: readonly string[],
    { place = this.guarded, sandbox = this.policy }: AttemptOptions,
    changes: Partial<SpawnRequest> = {},
  ): Promise<Attempt> {
    const request = command(argv, { cwd: place.ws, ...changes });
    const child = await RecordedChild.run(this.host.backend, this.#confine(request, sandbox));
    const status = await child.exit;
    const code = status.type === "exited" ? status.code : -1;
    return { status, code, stdout: child.text("stdout") + child.text("pty"), stderr: child.text("stderr") };
  }

  #confine(request: SpawnRequest, sandbox: string | Sandbox | null): SpawnRequest {
    if (sandbox === null) return request;
    return this.host.confined(request, typeof sandbox === "string" ? this.host.sandbox(sandbox) : sandbox);
  }
}

function placeIn(root: string): Place {
  return { root, ws: `${root}/ws`, out: `${root}/out` };
}

async function hideSecret({ out }: Place): Promise<void> {
  await Deno.writeTextFile(`${out}/secret`, "not for you");
  await Deno.chmod(`${out}/secret`, 0o600);
  await Deno.mkdir(`${out}/sub`);
}

export interface AttackOptions {
  /** Why an attack has no meaning on a backend. */
  readonly not?: Partial<Readonly<Record<Backend, string>>>;
  /** Programs, or other things of this machine by name, without which the attack cannot be tried. */
  readonly needs?: readonly string[];
  /** Why it cannot be tried on this machine; null or false when it can. */
  readonly unless?: string | null | false;
}

/** Why an attack is not tried as anybody but root. */
export const ONLY_ROOT = "only root has what is attacked";
/** Landlock grants no directory for writing, so nothing in one can be attacked. */
export const NO_WRITABLE_DIRECTORY = { landlock: "it refuses every policy with a writable directory" } as const;
/** Landlock refuses every policy that hides something. */
export const NOTHING_HIDDEN = { landlock: "it refuses every policy that denies a path" } as const;

/** An attack that must fail: `attempt` proves the refusal, the fingerprint that nothing outside has changed. */
export function attack(
  name: string,
  attempt: (scene: AttackScene) => Promise<void>,
  { not = {}, needs = [], unless }: AttackOptions = {},
): void {
  const missing = NO_SANDBOX ?? (unless || null) ?? needs.map(whyMissing).find((reason) => reason !== null) ?? null;
  for (const backend of BACKENDS) {
    const title = `${USER}, ${backend}: ${name}`;
    const meaningless = not[backend];
    const reason = meaningless !== undefined ? `NO SUCH CASE: ${meaningless}` : missing && `SKIPPED: ${missing}`;
    Deno.test({
      name: reason === null ? title : `${title} (${reason})`,
      ignore: reason !== null,
      async fn() {
        await using sandboxed = await SandboxedFiles.open({ setting: backend });
        const scene = new AttackScene(backend, sandboxed);
        await hideSecret(scene.guarded);
        const before = fingerprint(scene.out);
        await attempt(scene);
        assert.deepEqual(fingerprint(scene.out), before, "the outside has changed");
      },
    });
  }
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
