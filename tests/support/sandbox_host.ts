/** A backend and a sandbox service on this machine, and a small tree of files to be confined to. */

import { SandboxService } from "../../src/launch/sandbox_service.ts";
import type { SandboxSetting } from "../../src/launch/backends/sandbox_probe.ts";
import { silentLogger } from "../../src/log.ts";
import type { Confinement, SpawnRequest } from "../../src/process/backend.ts";
import { PosixBackend } from "../../src/process/posix/posix_backend.ts";
import { runPlan, runProgram } from "../../src/process/posix/run_plan.ts";
import { type Sandbox, SandboxParam } from "../../src/protocol/sandbox.ts";
import { TEST_ENV } from "./recorded_child.ts";

/** Why real sandboxes cannot be tested here; null when they can. */
export const NO_SANDBOX: string | null = whyNot();

function whyNot(): string | null {
  if (Deno.build.os !== "linux") return `no bubblewrap on ${Deno.build.os}`;
  try {
    const { success } = new Deno.Command("bwrap", { args: ["--ro-bind", "/", "/", "true"], stderr: "null" })
      .outputSync();
    return success ? null : "bubblewrap does not work here";
  } catch {
    return "bubblewrap is not installed";
  }
}

/** Why it cannot be known here what a sandbox refuses of the network; null when it can. By version: not by trying it. */
export const NO_LISTENER: string | null = hasListeners() ? null : `Linux ${Deno.osRelease()} has no lasting listeners`;

/** Linux 5.19 has the first listeners whose work no passing signal undoes. */
function hasListeners(): boolean {
  const [major = 0, minor = 0] = Deno.osRelease().split(/[.-]/).map(Number);
  return major > 5 || (major === 5 && minor >= 19);
}

/** The name of a test that needs a real sandbox: where there is none, it says that it is skipped and why. */
export function namedIfSkipped(name: string): string {
  return NO_SANDBOX === null ? name : `${name} (SKIPPED: ${NO_SANDBOX})`;
}

/** A test that needs a real sandbox: without one, skipped under a name that says so. */
export function sandboxTest(name: string, fn: (host: SandboxHost) => Promise<void>): void {
  Deno.test({
    name: namedIfSkipped(name),
    ignore: NO_SANDBOX !== null,
    async fn() {
      await using host = await SandboxHost.open();
      await fn(host);
    },
  });
}

/** `ws` to be written to, `out` not to be; `ws/esc` and `ws/escd` are links that lead out. */
export async function layFiles(root: string): Promise<void> {
  await Deno.mkdir(`${root}/ws/sub`, { recursive: true });
  await Deno.mkdir(`${root}/out`);
  await Deno.writeTextFile(`${root}/ws/in.txt`, "in");
  await Deno.writeTextFile(`${root}/out/o.txt`, "out");
  await Deno.symlink("../out/o.txt", `${root}/ws/esc`);
  await Deno.symlink("../out", `${root}/ws/escd`);
}

/** The files of `layFiles`, in a directory that goes with it. */
export class SandboxHost implements AsyncDisposable {
  readonly root: string;
  readonly backend = new PosixBackend();
  readonly service: SandboxService;

  private constructor(root: string, setting: SandboxSetting) {
    this.root = root;
    this.service = new SandboxService({
      setting,
      serverEnv: TEST_ENV,
      log: silentLogger(),
      launch: (plan) => runPlan(this.backend, plan),
      run: (program, args) => runProgram(this.backend, program, args),
    });
  }

  static async open(setting: SandboxSetting = "auto"): Promise<SandboxHost> {
    const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "sandbox-host-" }));
    await layFiles(root);
    return new SandboxHost(root, setting);
  }

  /**
   * `read /, write ws, deny out`: relative paths are below the root. Patterns are denied, too. `external` and
   * `unrestricted`: nothing is said about files.
   */
  sandbox(
    text: string,
    network: "restricted" | "enabled" = "restricted",
    deniedPatterns: readonly string[] = [],
  ): Sandbox {
    if (text === "external") return parsed({ type: "external", network });
    if (text === "unrestricted") return parsed({ type: "managed", file_system: { type: "unrestricted" }, network });
    const paths = text.split(",").map((entry) => {
      const [access, path] = entry.trim().split(" ");
      const absolute = path!.startsWith("/") ? path! : `${this.root}/${path}`;
      return { path: { type: "path", path: absolute }, access };
    });
    const patterns = deniedPatterns.map((pattern) => ({ path: { type: "glob_pattern", pattern }, access: "deny" }));
    const entries = [...paths, ...patterns];
    return parsed({ type: "managed", file_system: { type: "restricted", entries }, network });
  }

  /** The same request inside a sandbox. */
  confined(request: SpawnRequest, sandbox: Sandbox): SpawnRequest {
    const confinement = this.service.confineCommand(sandbox, { ...request, enforceManagedNetwork: false });
    return { ...request, ...(confinement === null ? {} : { confinement: confinement satisfies Confinement }) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.backend.close({ graceMs: 0 });
    await Deno.remove(this.root, { recursive: true });
  }
}

function parsed(permissions: unknown): Sandbox {
  return SandboxParam.parse({ permissions, windowsSandboxLevel: "disabled" });
}

/** Names in a directory, sorted. */
export function namesIn(path: string): string[] {
  return Array.from(Deno.readDirSync(path), ({ name }) => name).sort();
}
