/** The emitter for an architecture. */

import { Arm64Emitter } from "./arm64_code.ts";
import type { Emitter, ForkingEmitter } from "./machine_code.ts";
import type { Architecture } from "./syscalls.ts";
import { X86Emitter } from "./x86_64_code.ts";

export function createEmitter(architecture: "x86_64"): ForkingEmitter;
export function createEmitter(architecture: Architecture): Emitter;
export function createEmitter(architecture: Architecture): Emitter {
  return architecture === "x86_64" ? new X86Emitter() : new Arm64Emitter();
}
