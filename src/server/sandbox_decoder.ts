/**
 * Sandbox objects, decoded: each text once, for as long as it is among the latest.
 *
 * A client sends the same few objects with every request, and decoding one takes longer than the read it is for. What an
 * object means depends on nothing but its text, so an object that was accepted means the same when it comes again. What
 * was refused is not remembered. What a policy is on the disk is another matter, and looked at every time.
 */

import type { Logger } from "../log.ts";
import { type Sandbox, SandboxParam } from "../protocol/sandbox.ts";
import { decodeParams } from "../protocol/decode_params.ts";
import { unknownMembers } from "../protocol/profile_members.ts";
import { UnknownMemberLog } from "../unknown_member_log.ts";

/** An agent uses two or three at a time. */
const MAX_REMEMBERED = 64;

/** A profile with a hundred entries has some 10,000. All that is remembered has a mebibyte at most. */
const MAX_REMEMBERED_CHARS = 16 * 1024;

export class SandboxDecoder {
  readonly #unknownMembers: UnknownMemberLog;
  /** By their text. Oldest first. */
  readonly #known = new Map<string, Sandbox>();

  constructor(log: Logger) {
    this.#unknownMembers = new UnknownMemberLog(log);
  }

  /** Decodes a value that came as JSON. Throws a domain error when it does not decode. */
  decode(raw: unknown): Sandbox {
    const text = JSON.stringify(raw);
    const known = this.#known.get(text);
    if (known !== undefined && isToldBy(text, raw)) return known;
    const sandbox = decodeParams(SandboxParam, raw);
    this.#unknownMembers.tell(unknownMembers(raw));
    if (text.length <= MAX_REMEMBERED_CHARS && isToldBy(text, raw)) this.#remember(text, sandbox);
    return sandbox;
  }

  #remember(text: string, sandbox: Sandbox): void {
    this.#known.set(text, sandbox);
    if (this.#known.size <= MAX_REMEMBERED) return;
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest);
      return;
    }
  }
}

/** Whether the text holds all that the value does: a number that is infinite is written as null. */
function isToldBy(text: string, value: unknown): boolean {
  return !text.includes("null") || !holdsInfinite(value);
}

/** Values that came as JSON are not deep (`MAX_JSON_DEPTH`). */
function holdsInfinite(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some(holdsInfinite);
}
