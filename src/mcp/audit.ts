/**
 * One JSON line per decision about a program: what, who asked, by which rule, what was decided, how long it took. More
 * lines tell what became of a program that left the sandbox, and of one that did not pass the comparison of strict
 * watching. For standard error or a file that nobody else may read. Lines are written whole and in order.
 */

import type { RuleOrigin } from "../rules/mod.ts";
import { printable } from "../printable.ts";
import type { StrictEnd } from "./watched_shell.ts";

export interface AuditRecord {
  readonly event: "decision";
  /** The id of the client's call: the same for all decisions of one command. */
  readonly call: string;
  readonly client: string;
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

export interface EscalationRecord {
  readonly event: "escalation";
  readonly call: string;
  readonly client: string;
  readonly file: string;
  /** Each `started` is followed by one of the others, unless the server was killed. */
  readonly outcome: "started" | "exited" | "refused" | "abandoned";
  readonly exitCode?: number;
  readonly pid?: number;
  readonly reason?: string;
}

/** A program that was decided to run inside, and did not. */
export interface StrictRecord {
  readonly event: "strict";
  readonly call: string;
  readonly client: string;
  readonly file: string;
  /** The caller's, as in the decision. */
  readonly pid: number;
  readonly outcome: StrictEnd;
}

export type AnyRecord = AuditRecord | EscalationRecord | StrictRecord;

/** Longest word of a command in a line. The words are the client's: a line must not grow without bound. */
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
  if (record.event !== "decision") return record;
  const words = record.argv.slice(0, MAX_WORDS).map((word) =>
    word.length <= MAX_WORD_CHARS ? word : `${word.slice(0, MAX_WORD_CHARS)}…`
  );
  const more = record.argv.length - words.length;
  return { ...record, argv: more > 0 ? [...words, `… ${more} more`] : words };
}
