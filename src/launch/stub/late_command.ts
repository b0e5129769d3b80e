/**
 * A command that a waiting stub gets when everything around it is already in place: a file in memory, which the stub
 * maps at a fixed address and executes from there.
 *
 * All addresses are known beforehand, so the stub needs no code to take anything apart: directory, path, arguments and
 * environment lie where its instructions say.
 */

import { internalError } from "../../errors.ts";
import type { ConfinedCommand } from "../launch_plan.ts";

/** Far from where the kernel puts a program of a few hundred bytes, its stack and its heap. */
export const COMMAND_ADDRESS = 0x10000000;
/** More than shells are given; a longer command is started in the ordinary way. */
export const COMMAND_BYTES = 1024 * 1024;

/** The longest path the kernel takes, with its end. */
const PATH_BYTES = 4096;
const WORD_BYTES = 8;
/** A shell has three arguments. */
const MAX_ARGUMENTS = 15;

/** Where the parts begin. The texts of arguments and environment follow the list of the environment. */
export const COMMAND_PARTS = {
  directory: COMMAND_ADDRESS,
  path: COMMAND_ADDRESS + PATH_BYTES,
  argv: COMMAND_ADDRESS + 2 * PATH_BYTES,
  env: COMMAND_ADDRESS + 2 * PATH_BYTES + (MAX_ARGUMENTS + 1) * WORD_BYTES,
} as const;

const encoder = new TextEncoder();

/** The file; null for a command that does not fit. */
export function lateCommand({ program, argv, env, cwd }: ConfinedCommand): Uint8Array<ArrayBuffer> | null {
  const directory = encoder.encode(`${cwd}\0`);
  const path = encoder.encode(`${program}\0`);
  if (directory.length > PATH_BYTES || path.length > PATH_BYTES || argv.length > MAX_ARGUMENTS) return null;
  const words = argv.map((word) => `${word}\0`);
  // The wrapper would set PWD, too.
  const variables = Object.entries({ ...env, PWD: cwd }).map(([name, value]) => variable(name, value));
  const textsAt = COMMAND_PARTS.env - COMMAND_ADDRESS + (variables.length + 1) * WORD_BYTES;
  const texts = [...words, ...variables];
  const joined = texts.join("");
  const encoded = encoder.encode(joined);
  const length = textsAt + encoded.length;
  if (length > COMMAND_BYTES) return null;

  const bytes = new Uint8Array(length);
  bytes.set(directory, 0);
  bytes.set(path, COMMAND_PARTS.path - COMMAND_ADDRESS);
  bytes.set(encoded, textsAt);
  // Almost all texts are ASCII, which is as long in bytes.
  const isAscii = encoded.length === joined.length;
  const addresses = new DataView(bytes.buffer);
  let textAt = COMMAND_ADDRESS + textsAt;
  texts.forEach((text, index) => {
    const list = index < words.length ? COMMAND_PARTS.argv : COMMAND_PARTS.env - words.length * WORD_BYTES;
    // Eight bytes each, of which the upper four are zero.
    addresses.setUint32(list - COMMAND_ADDRESS + index * WORD_BYTES, textAt, true);
    textAt += isAscii ? text.length : encoder.encode(text).length;
  });
  return bytes;
}

function variable(name: string, value: string): string {
  if (name !== "" && !name.includes("=")) return `${name}=${value}\0`;
  throw internalError(`Cannot start process: \`${name}\` is not a valid name of an environment variable in a sandbox`);
}
