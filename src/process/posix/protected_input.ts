/**
 * The null device as the input of a confined child that is user 0, opened so that the child cannot change its mode and
 * owner, which are the host's.
 */

import { CLOSE_DEVICE } from "../../launch/stub/seccomp.ts";
import { createEmitter } from "../../launch/stub/create_emitter.ts";
import type { ForwardJump } from "../../launch/stub/machine_code.ts";
import { staticProgram } from "../../launch/stub/launch_stub.ts";
import { type Architecture, type SyscallName, syscallNumber } from "../../launch/stub/syscalls.ts";
import { awaitEnd } from "../../os/children/child_reaping.ts";
import { sendSignal } from "../../os/children/pidfd.ts";
import { spawnExactly } from "../../os/children/spawn.ts";
import { closeDescriptor, O_RDONLY, openDescriptor, openPipe, raiseDescriptor, readInto } from "../../os/descriptor.ts";
import { openMemoryFile } from "../../os/files/memory_file.ts";
import { openProtectedNullDevice } from "../../os/files/null_device.ts";
import { allocate } from "../../os/libc.ts";
import { SIGKILL } from "../signals.ts";

const NULL_DEVICE = "/dev/null";

/** The child's first descriptor behind its output. */
const PROGRAM_FD = 3;

const CLONE_NEWUSER = 0x1000_0000;
const CLONE_NEWNS = 0x0002_0000;
const MS_BIND = 0x1000;

/** The first argument after the name, behind their count. */
const PATH_AT = 16;

let opened: number | null | undefined;

/** Open for reading, and ours; null where nobody may make the namespaces that sandboxes with a `/dev` need. */
export function protectedNullInput(): number | null {
  // Root of a container may make no mount of its own, and Linux before 5.12 has no such call.
  if (opened === undefined) opened = openProtectedNullDevice() ?? openInNamespace();
  return opened;
}

/** Opens it on the read-only mount of a child that has namespaces of its own. The open file outlives them. */
export function openInNamespace(): number | null {
  const file = openMemoryFile(mountingProgram(Deno.build.arch));
  const program = raiseDescriptor(file, PROGRAM_FD + 1);
  const input = openPipe();
  const output = openPipe();
  let pid = -1;
  try {
    pid = spawnExactly(
      { argv: ["launch", NULL_DEVICE], arg0: null, cwd: "/", env: {} },
      { type: "descriptors", stdin: input.readEnd, stdout: output.writeEnd, stderr: output.writeEnd },
      { path: `/proc/self/fd/${PROGRAM_FD}`, descriptors: [program], blockedSignals: [] },
    );
  } finally {
    [file, program, input.readEnd, output.writeEnd].forEach(closeDescriptor);
    if (pid < 0) [input.writeEnd, output.readEnd].forEach(closeDescriptor);
  }
  // It takes a millisecond, once. The end of its output means that it could not.
  const isMounted = readInto(output.readEnd, allocate(1)) === 1;
  const device = isMounted ? openDescriptor(`/proc/${pid}/root${NULL_DEVICE}`, O_RDONLY) : -1;
  [input.writeEnd, output.readEnd].forEach(closeDescriptor);
  sendSignal(pid, SIGKILL);
  awaitEnd(pid);
  return device < 0 ? null : device;
}

/** Makes the mount at the path that it is given, says so, and ends when its input does. */
function mountingProgram(architecture: Architecture): Uint8Array<ArrayBuffer> {
  const emitter = createEmitter(architecture);
  const call = (name: SyscallName): void => emitter.systemCall(syscallNumber(name, architecture)!);
  const failures: ForwardJump[] = [];
  const orEnd = (): void => void failures.push(emitter.jumpIfFailed());
  emitter.keepStart();
  for (const kind of [CLONE_NEWUSER, CLONE_NEWNS]) {
    emitter.argument(0, kind);
    call("unshare");
    orEnd();
  }
  for (const flags of [MS_BIND, CLOSE_DEVICE]) {
    emitter.wordFromStart(0, PATH_AT);
    emitter.wordFromStart(1, PATH_AT);
    emitter.argument(2, 0);
    emitter.argument(3, flags);
    emitter.argument(4, 0);
    call("mount");
    orEnd();
  }
  for (const [descriptor, name] of [[1, "write"], [0, "read"]] as const) {
    emitter.argument(0, descriptor);
    emitter.scratchAddress();
    emitter.argument(2, 1);
    call(name);
  }
  for (const failure of failures) failure.land();
  emitter.argument(0, 0);
  call("exit_group");
  return staticProgram(architecture, emitter.bytes, new Uint8Array());
}
