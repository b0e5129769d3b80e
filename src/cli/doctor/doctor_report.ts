/**
 * The findings of `doctor` as data: facts about the machine, and the results of the server's own probe, service and
 * file helper.
 *
 * The server's own code judges everything. On the disk it makes only one temporary directory, which is removed before
 * this returns.
 */

import { systemClock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import { ConfinedReader } from "../../fs/confined/confined_reader.ts";
import { createDirectFileSystem } from "../../fs/direct.ts";
import { createIoContext } from "../../fs/io_context.ts";
import type { Enforcement } from "../../launch/confine.ts";
import { type KernelFeature, kernelFeatures } from "../../launch/backends/kernel_features.ts";
import { makeScratchDirectory } from "../../launch/scratch_directory.ts";
import { silentLogger } from "../../log.ts";
import { readOwnStatus } from "../../os/children/procfs.ts";
import { KernelSupervisedShells } from "../../mcp/supervised_shells.ts";
import { printable } from "../../printable.ts";
import { LazyBackend } from "../../process/lazy_backend.ts";
import { PosixBackend } from "../../process/posix/posix_backend.ts";
import type { SandboxBackendReport, SandboxSetting } from "../../protocol/environment.ts";
import { SandboxParam } from "../../protocol/sandbox.ts";
import { Sandboxing } from "../../server/sandboxing.ts";
import { VERSION } from "../../version.ts";
import { refusal } from "../cli_error.ts";
import { advise, readSurroundings } from "./doctor_advice.ts";
import type { DoorReport } from "./doctor_door.ts";
import type { IdentityReport } from "./doctor_identity.ts";
import { typicalPolicies, type TypicalPolicy } from "./doctor_policies.ts";
import { ownRuntimePaths } from "../own_program.ts";

export interface DoctorReport {
  /** Whether every policy can be enforced under the setting, and a server with these flags would start. */
  readonly ok: boolean;
  readonly version: string;
  readonly runtime: { readonly deno: string; readonly isCompiled: boolean; readonly os: string; readonly arch: string };
  readonly kernel: string;
  readonly user: UserReport;
  /** Empty where this program does not call the kernel directly: on systems other than Linux, or without FFI. */
  readonly features: readonly KernelFeature[];
  readonly setting: SandboxSetting;
  readonly bubblewrap: SandboxBackendReport;
  readonly landlock: SandboxBackendReport;
  /** The program that does confined file operations. */
  readonly fileHelper: { readonly works: boolean; readonly reason: string | null };
  /** Whether `exec-server mcp` can decide which programs a shell starts. If not, it refuses to run shells. */
  readonly programSupervision: { readonly works: boolean; readonly reason: string | null };
  readonly policies: readonly PolicyReport[];
  /** Who could connect. */
  readonly door: DoorReport;
  /** The identity by which clients know this machine in remote mode. */
  readonly identity: IdentityReport;
  /** What to do about things that do not work, one sentence each. */
  readonly advice: readonly string[];
}

export interface UserReport {
  readonly uid: number | null;
  readonly gid: number | null;
  /** The effective capabilities as the kernel shows them, in hexadecimal. */
  readonly capabilities: string | null;
  /** Whether this process, and so a server started like it, cannot gain rights by executing a program. */
  readonly noNewPrivileges: boolean | null;
}

export interface PolicyReport {
  readonly name: string;
  /** Null: a request with this policy is refused. `none`: there is nothing to enforce. */
  readonly enforcedBy: Enforcement["type"] | null;
  /** Why it is refused. */
  readonly reason: string | null;
}

export async function doctorReport(
  setting: SandboxSetting,
  door: DoorReport,
  identity: IdentityReport,
): Promise<DoctorReport> {
  const isSupported = hasSandboxes();
  const findings = isSupported ? await askServerParts(setting) : nothingToAsk();
  const features = isSupported ? await kernelFeatures() : [];
  const report = {
    ok: door.refused === null && findings.fileHelper.works &&
      findings.policies.every(({ enforcedBy }) => enforcedBy !== null),
    version: VERSION,
    runtime: {
      deno: Deno.version.deno,
      isCompiled: Deno.build.standalone,
      os: Deno.build.os,
      arch: Deno.build.arch,
    },
    kernel: Deno.osRelease(),
    user: {
      uid: Deno.uid(),
      gid: Deno.gid(),
      capabilities: isSupported ? readOwnStatus("CapEff") : null,
      noNewPrivileges: isSupported ? readOwnStatus("NoNewPrivs") === "1" : null,
    },
    features,
    setting,
    ...findings,
    door,
    identity,
  };
  return { ...report, advice: advise(report, readSurroundings(isSupported)) };
}

type Findings = Pick<DoctorReport, "bubblewrap" | "landlock" | "fileHelper" | "programSupervision" | "policies">;

/** Sandboxes are made by calls to the C library, on Linux. */
function hasSandboxes(): boolean {
  return Deno.build.os === "linux" && Deno.permissions.querySync({ name: "ffi" }).state === "granted";
}

function nothingToAsk(): Findings {
  const reason = Deno.build.os === "linux"
    ? "this program is not allowed to call the C library (--allow-ffi)"
    : `sandboxes are not supported on ${Deno.build.os}`;
  const backend: SandboxBackendReport = { works: false, path: null, version: null, reason, problem: null };
  const names = typicalPolicies("/").map(({ name }) => name);
  return {
    bubblewrap: backend,
    landlock: backend,
    fileHelper: { works: false, reason },
    programSupervision: { works: false, reason },
    policies: names.map((name) =>
      name === "full-access" ? { name, enforcedBy: "none", reason: null } : { name, enforcedBy: null, reason }
    ),
  };
}

async function askServerParts(setting: SandboxSetting): Promise<Findings> {
  const log = silentLogger();
  const backend = new LazyBackend(log);
  const serverEnv = Deno.env.toObject();
  const sandboxing = new Sandboxing({ backend, setting, serverEnv, paths: ownRuntimePaths(), log, clock: systemClock });
  const scratch = await makeScratchDirectory("exec-server-doctor-").catch((error) => {
    throw refusal(`cannot try a sandbox: ${printable(messageOf(error))}`, error);
  });
  try {
    await Deno.writeTextFile(`${scratch}/notes`, "");
    const { bubblewrap, landlock } = await sandboxing.report();
    const policies = typicalPolicies(scratch);
    return {
      bubblewrap,
      landlock,
      fileHelper: await tryFileHelper(sandboxing, policies[0]!, scratch),
      programSupervision: await tryProgramSupervision(sandboxing, serverEnv),
      policies: await Promise.all(policies.map((policy) => ask(sandboxing, policy, scratch))),
    };
  } finally {
    sandboxing.close();
    await backend.close({ graceMs: 0 });
    await Deno.remove(scratch, { recursive: true });
  }
}

async function ask(
  { service }: Sandboxing,
  { name, sandbox }: TypicalPolicy,
  workspace: string,
): Promise<PolicyReport> {
  try {
    return { name, enforcedBy: await service.outlook(SandboxParam.parse(sandbox)), reason: null };
  } catch (error) {
    // The directory's random name would mean nothing to the reader.
    return { name, enforcedBy: null, reason: messageOf(error).replaceAll(workspace, "WORKSPACE") };
  }
}

/** Lets a real program be decided, by the code of `exec-server mcp`. */
async function tryProgramSupervision(
  { service }: Sandboxing,
  serverEnv: Readonly<Record<string, string>>,
): Promise<DoctorReport["programSupervision"]> {
  const backend = new PosixBackend();
  try {
    const reason = await new KernelSupervisedShells({ backend, service, serverEnv }).obstacle();
    return { works: reason === null, reason };
  } finally {
    await backend.close({ graceMs: 0 });
  }
}

/** Lets a helper read where it may and write where it may not, under the policy that every backend can enforce. */
async function tryFileHelper(
  sandboxing: Sandboxing,
  { sandbox }: TypicalPolicy,
  scratch: string,
): Promise<DoctorReport["fileHelper"]> {
  const owner = {};
  const forbidden = `${scratch}/forbidden`;
  try {
    const io = createIoContext();
    const own = { direct: createDirectFileSystem(io), reader: new ConfinedReader(io) };
    const files = await sandboxing.files(sandbox, owner, own);
    if (await files.canonicalize(`${scratch}/notes`) !== `${scratch}/notes`) {
      return { works: false, reason: "the confined file helper sees other files than this program" };
    }
    const refused = await files.createDirectory({ path: forbidden, recursive: false, followSymlinks: true })
      .then(() => false, () => true);
    return refused
      ? { works: true, reason: null }
      : { works: false, reason: "the confined file helper was able to write where it must not" };
  } catch (error) {
    return { works: false, reason: messageOf(error) };
  } finally {
    sandboxing.closeOwner(owner);
  }
}
