/** The arguments of the tools, decoded. What does not decode is refused in the reference's words. */

import * as z from "zod/mini";
import { DomainError, invalidParams } from "../errors.ts";
import { decodeParams, type ParamsSchema } from "../protocol/decode_params.ts";
import { UnsignedInt } from "../protocol/primitives.ts";
import {
  DEFAULT_POLL_WAIT_MS,
  DEFAULT_TIMEOUT_MS,
  DEFAULT_TIMEOUT_WITH_HANDLES_MS,
  DEFAULT_YIELD_MS,
} from "./limits.ts";

/** As wide as the reference's. The clock takes delays of any length. */
const milliseconds = z.nullish(UnsignedInt);

const Shell = z.object({
  command: z.string(),
  workdir: z.string(),
  timeout_ms: milliseconds,
  login: z.nullish(z.boolean()),
  // Not announced where there is `shell` alone, because its announcement is the reference's.
  merge_output: z.nullish(z.boolean()),
});

const ShellWithHandles = z.extend(Shell, {
  yield_ms: milliseconds,
  stdin: z.nullish(z.boolean()),
});

const Handle = z.object({ handle: z.string(), wait_ms: milliseconds });
const Input = z.extend(Handle, { text: z.nullish(z.string()), close: z.nullish(z.boolean()) });

export interface ShellArguments {
  readonly command: string;
  readonly workdir: string;
  readonly timeoutMs: number;
  readonly isLogin: boolean;
  /** Null: the call waits for the end. */
  readonly yieldMs: number | null;
  readonly opensStdin: boolean;
  readonly mergesOutput: boolean;
}

export function shellArguments(raw: unknown, hasHandles: boolean): ShellArguments {
  if (!hasHandles) {
    const { command, workdir, timeout_ms, login, merge_output } = decoded(Shell, raw);
    return {
      command,
      workdir,
      timeoutMs: timeout_ms ?? DEFAULT_TIMEOUT_MS,
      isLogin: login !== false,
      yieldMs: null,
      opensStdin: false,
      mergesOutput: merge_output === true,
    };
  }
  const { command, workdir, timeout_ms, login, yield_ms, stdin, merge_output } = decoded(ShellWithHandles, raw);
  return {
    command,
    workdir,
    timeoutMs: timeout_ms ?? DEFAULT_TIMEOUT_WITH_HANDLES_MS,
    isLogin: login !== false,
    yieldMs: yield_ms ?? DEFAULT_YIELD_MS,
    opensStdin: stdin === true,
    mergesOutput: merge_output === true,
  };
}

export interface HandleArguments {
  readonly handle: string;
  readonly waitMs: number;
}

/** A look at a command never waits longer than a call for a command: clients limit both alike. */
export function handleArguments(raw: unknown): HandleArguments {
  const { handle, wait_ms } = decoded(Handle, raw);
  return { handle, waitMs: Math.min(wait_ms ?? DEFAULT_POLL_WAIT_MS, DEFAULT_YIELD_MS) };
}

export interface InputArguments extends HandleArguments {
  readonly text: string;
  readonly closes: boolean;
}

export function inputArguments(raw: unknown): InputArguments {
  const { text, close } = decoded(Input, raw);
  return { ...handleArguments(raw), text: text ?? "", closes: close === true };
}

/** A digest of what a call asks for: equal if tool and arguments mean the same. Throws when they do not decode. */
export async function requestDigest(
  { tool, arguments: raw }: { readonly tool: string; readonly arguments: unknown },
  hasHandles: boolean,
): Promise<string> {
  const meant = tool === "shell"
    ? shellArguments(raw, hasHandles)
    : tool === "shell_input"
    ? inputArguments(raw)
    : handleArguments(raw);
  const bytes = new TextEncoder().encode(JSON.stringify([tool, meant]));
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

function decoded<Params>(schema: ParamsSchema<Params>, raw: unknown): Params {
  try {
    return decodeParams(schema, raw ?? {});
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    throw invalidParams(`failed to deserialize parameters: ${error.message}`, error);
  }
}
