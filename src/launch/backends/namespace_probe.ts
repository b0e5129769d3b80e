/**
 * Whether this user can create useful namespaces, tested by creating some in a program of a few instructions that then
 * ends. Settings alone do not tell: containers, AppArmor and limits matter too.
 */

import { closeDescriptor } from "../../os/descriptor.ts";
import { openMemoryFile } from "../../os/files/memory_file.ts";
import { staticProgram } from "../stub/launch_stub.ts";
import { createEmitter } from "../stub/create_emitter.ts";
import { type Architecture, syscallNumber } from "../stub/syscalls.ts";

const CLONE_NEWUSER = 0x1000_0000;
const CLONE_NEWNS = 0x0002_0000;

const EXIT_NOT_POSSIBLE = 1;

export async function canMakeNamespaces(architecture: Architecture = Deno.build.arch): Promise<boolean> {
  const program = openMemoryFile(namespaceProgram(architecture));
  try {
    const command = new Deno.Command(`/proc/${Deno.pid}/fd/${program}`, {
      clearEnv: true,
      cwd: "/",
      stdin: "null",
    });
    return (await command.output()).code === 0;
  } finally {
    closeDescriptor(program);
  }
}

/** Exits with 0 if it could create a user namespace and then, with the rights it has there, a mount namespace. */
function namespaceProgram(architecture: Architecture): Uint8Array<ArrayBuffer> {
  const emitter = createEmitter(architecture);
  const number = (name: "unshare" | "exit_group"): number => syscallNumber(name, architecture)!;
  // One after the other: where AppArmor restricts them, a user namespace can be created but is useless.
  const failures = [CLONE_NEWUSER, CLONE_NEWNS].map((kind) => {
    emitter.argument(0, kind);
    emitter.systemCall(number("unshare"));
    return emitter.jumpIfFailed();
  });
  emitter.argument(0, 0);
  emitter.systemCall(number("exit_group"));
  for (const failure of failures) failure.land();
  emitter.argument(0, EXIT_NOT_POSSIBLE);
  emitter.systemCall(number("exit_group"));
  return staticProgram(architecture, emitter.bytes, new Uint8Array());
}
