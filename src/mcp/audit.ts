/**
 * One JSON line per decision about a program: what, who asked, by which rule, what was decided, how long it took. More
 * lines tell what became of a program that left the sandbox, of one that did not pass the comparison of strict
 * supervision, and of calls that failed before there was anything to decide. For standard error or a file that nobody
 * else may read. Lines are written whole and in order.
 */

import type { RuleOrigin } from "../rules/mod.ts";
import { printable } from "../printable.ts";
import type { StrictEnd } from "./supervised_shell.ts";

/** Who asked for a command: the same for all lines of it. What a client says of itself may be anything. */
export interface AskedBy {
  /** The name of the token that the client has shown; null where tokens have no names. */
  readonly holder: string | null;
  /** Our id of the client, while it is there. Clients of the 2026 era over HTTP have one for each token. */
  readonly session: string;
  /** Our number of the call that began the command. No other call of this server has it. */
  readonly callNumber: number;
  /** The client's id of that call; our number if it has said none. */
  readonly call: string;
  /** As the client calls itself. */
  readonly client: string;
}

export interface AuditRecord extends AskedBy {
  readonly event: "decision";
  readonly file: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly pid: number;
  /** Whether the shell itself asked, and not a program that it runs. */
  readonly byShell: boolean;
  readonly decidedBy: "rule" | "heuristic" | "memory" | "none";
  readonly rules: readonly { readonly decision: string; readonly file: string; readonly line: number }[];
  /** The client's answer, if it was asked. */
  readonly answer: string | null;
  readonly outcome: "run" | "escalate" | "deny";
  readonly reason: string | null;
  readonly durationMs: number;
}

export interface EscalationRecord extends AskedBy {
  readonly event: "escalation";
  readonly file: string;
  /** The `pid` of the decision. */
  readonly callerPid: number;
  /** Each `started` is followed by one of the others, unless the server was killed. */
  readonly outcome: "started" | "exited" | "refused" | "abandoned";
  readonly exitCode?: number;
  /** Of the program that was started outside. */
  readonly pid?: number;
  readonly reason?: string;
}

/** A program that was decided to run inside, and did not. */
export interface StrictRecord extends AskedBy {
  readonly event: "strict";
  readonly file: string;
  /** The caller's, as in the decision. */
  readonly pid: number;
  readonly outcome: StrictEnd;
}

/** A call that failed before it could be decided: the kernel would have refused it, or it could not be read. */
export interface FailedRecord extends AskedBy {
  readonly event: "failed";
  /** Null where it could not be read. */
  readonly file: string | null;
  readonly pid: number;
  readonly byShell: boolean;
  readonly reason: string;
}

export type AnyRecord = AuditRecord | EscalationRecord | StrictRecord | FailedRecord;

/** Longest word of a line. The words are the client's, or a program's: a line must not grow without bound. */
const MAX_WORD_CHARS = 1024;
const MAX_WORDS = 64;

export interface AuditSink {
  write(record: AnyRecord): void;
}

/** Writes lines through `write`; `now` is the wall clock. */
export function auditLog(write: (line: string) => void, now: () => Date = () => new Date()): AuditSink {
  return {
    write: (record) => write(`${printable(JSON.stringify({ time: now().toISOString(), ...bounded(record) }))}\n`),
  };
}

export function ruleOrigin(
  { decision, origin }: { decision: string; origin: RuleOrigin },
): AuditRecord["rules"][number] {
  return { decision, file: origin.file, line: origin.line };
}

function bounded(record: AnyRecord): AnyRecord {
  const asked = { call: shortened(record.call), client: shortened(record.client) };
  if (record.event === "failed") {
    const file = record.file === null ? null : shortened(record.file);
    return { ...record, ...asked, file, reason: shortened(record.reason) };
  }
  if (record.event !== "decision") return { ...record, ...asked };
  const words = record.argv.slice(0, MAX_WORDS).map(shortened);
  const more = record.argv.length - words.length;
  return { ...record, ...asked, argv: more > 0 ? [...words, `… ${more} more`] : words };
}

function shortened(word: string): string {
  return word.length <= MAX_WORD_CHARS ? word : `${word.slice(0, MAX_WORD_CHARS)}…`;
}
