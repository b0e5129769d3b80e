/**
 * The decision about one execve: rules by severity, then the heuristic, then the client where it must be asked.
 *
 * | found                 | becomes                                                       |
 * | --------------------- | ------------------------------------------------------------- |
 * | rule: allow           | escalate                                                      |
 * | rule: prompt          | ask; accepted: escalate, else deny                            |
 * | rule: forbidden       | deny                                                          |
 * | no rule, harmless     | run, inside the sandbox                                       |
 * | no rule, dangerous    | ask; accepted: run, inside the sandbox, else deny             |
 *
 * If only the shell's own programs may leave the sandbox, other programs run inside instead of being escalated. Nobody is
 * asked about a program that would be refused outside all the same. Every decision leaves a line in the audit,
 * before it is carried out.
 */

import type { Clock } from "../clock.ts";
import { printableLines } from "../printable.ts";
import { decide, type RuleSet, type Verdict } from "../rules/mod.ts";
import { type AskedBy, type AuditRecord, type AuditSink, ruleOrigin } from "./audit.ts";
import { commandText } from "./command_text.ts";
import { MAX_ASKED_COMMAND_CHARS } from "./limits.ts";
import type { PromptAnswer, PromptDesk } from "./prompt_desk.ts";
import { CANNOT_LEAVE } from "../process/supervised/exec_decision.ts";
import type { ExecCall, ExecVerdict } from "./supervised_shell.ts";

/** What a denied program prints after `Execution denied: `. These three are the reference's. */
const DENIAL = {
  forbidden: "Execution forbidden by policy",
  declined: "User declined execution",
  cancelled: "User cancelled execution",
} as const;

export interface DeciderOptions {
  /** The rules as they are now. */
  readonly rules: () => RuleSet;
  /** Rules are compared with the whole path of a program, and never with its name. */
  readonly preservesPaths: boolean;
  /** Paths of the programs that get all descriptors of their callers. */
  readonly descriptorPrograms: ReadonlySet<string>;
  readonly escalate: "shell" | "all";
  readonly home: string | null;
  readonly audit: AuditSink;
  readonly clock: Clock;
}

/** One command whose programs are decided. */
export interface DecisionContext {
  readonly askedBy: AskedBy;
  readonly prompts: PromptDesk;
  /** What the client has accepted for good in this session. */
  readonly memory: Set<string>;
  onDenied(call: ExecCall, reason: string): void;
}

type Decided = Pick<AuditRecord, "decidedBy" | "answer" | "outcome" | "reason">;

export class ExecDecider {
  readonly #options: DeciderOptions;

  constructor(options: DeciderOptions) {
    this.#options = options;
  }

  /** At once, unless the client has to be asked. Throws when there can be no line in the audit. */
  decide(call: ExecCall, signal: AbortSignal, context: DecisionContext): ExecVerdict | Promise<ExecVerdict> {
    const startedAtMs = this.#options.clock.now();
    const rules = this.#options.rules();
    const verdict = this.#judge(call, rules);
    const pathIsNamed = isNamed(call.file, verdict, rules);
    const settle = (decided: Decided) => this.#settle(call, decided, { verdict, pathIsNamed, context, startedAtMs });
    const decided = this.#outcome(call, verdict, { signal, context, pathIsNamed });
    return decided instanceof Promise ? decided.then(settle) : settle(decided);
  }

  #settle(
    call: ExecCall,
    decided: Decided,
    { verdict, pathIsNamed, context, startedAtMs }: {
      verdict: Verdict;
      pathIsNamed: boolean;
      context: DecisionContext;
      startedAtMs: number;
    },
  ): ExecVerdict {
    const { clock, audit } = this.#options;
    audit.write({
      event: "decision",
      ...context.askedBy,
      file: call.file,
      argv: call.argv,
      cwd: call.cwd,
      pid: call.pid,
      byShell: call.isShell,
      ...decided,
      rules: verdict.matches.map(({ rule }) => ruleOrigin(rule)),
      durationMs: Math.round((clock.now() - startedAtMs) * 1000) / 1000,
    });
    if (decided.outcome === "deny") {
      context.onDenied(call, decided.reason!);
      return { kind: "deny", reason: decided.reason };
    }
    if (decided.outcome === "run") return { kind: "run" };
    const more = this.#options.descriptorPrograms.has(call.file) ? { passFds: true } : {};
    return { kind: "escalate", pathIsNamed, ...more };
  }

  #judge(call: ExecCall, rules: RuleSet): Verdict {
    const { preservesPaths, home } = this.#options;
    const place = preservesPaths ? null : { cwd: call.cwd, home };
    return decide([call.file, ...call.argv.slice(1)], { rules, place });
  }

  #outcome(
    call: ExecCall,
    verdict: Verdict,
    { signal, context, pathIsNamed }: { signal: AbortSignal; context: DecisionContext; pathIsNamed: boolean },
  ): Decided | Promise<Decided> {
    const mayEscalate = call.isShell || this.#options.escalate === "all";
    const allowed = verdict.by === "rules" && mayEscalate ? "escalate" : "run";
    const by = verdict.by === "rules" ? "rule" : verdict.decision === "prompt" ? "heuristic" : "none";
    const plain = (outcome: Decided["outcome"], reason: string | null = null): Decided => {
      return { decidedBy: by, answer: null, outcome, reason };
    };
    if (verdict.decision === "allow") return plain(allowed);
    if (verdict.decision === "forbidden") return plain("deny", DENIAL.forbidden);

    const key = JSON.stringify([call.file, call.argv, call.cwd]);
    if (context.memory.has(key)) return { ...plain(allowed), decidedBy: "memory" };
    return this.#asked(call, { allowed, plain, key, signal, context, pathIsNamed });
  }

  async #asked(
    call: ExecCall,
    { allowed, plain, key, signal, context, pathIsNamed }: {
      allowed: "run" | "escalate";
      plain: (outcome: Decided["outcome"], reason?: string | null) => Decided;
      key: string;
      signal: AbortSignal;
      context: DecisionContext;
      pathIsNamed: boolean;
    },
  ): Promise<Decided> {
    const obstacle = allowed === "escalate" ? await call.whyItStays?.(pathIsNamed) ?? null : null;
    if (obstacle !== null) return plain("deny", `${CANNOT_LEAVE}: ${obstacle}`);
    const answer = await context.prompts.ask(promptText(call), signal);
    if (answer.action === "accept" && answer.isRemembered) context.memory.add(key);
    if (answer.action === "accept") return { ...plain(allowed), answer: answer.action };
    return { ...plain("deny", denialOf(answer)), answer: answer.action };
  }
}

/**
 * The reference's question. What is not shown of the command is told after it, where nothing is the command's own: an
 * argument could hold a note that looks like ours.
 */
function promptText(call: Pick<ExecCall, "file" | "argv" | "cwd">): string {
  const { text, hiddenChars } = commandText(call, MAX_ASKED_COMMAND_CHARS);
  const hidden = hiddenChars === 0 ? "" : ` ${hiddenChars} characters in the middle of this command are not shown.`;
  return `Allow agent to run \`${text}\` in \`${printableLines(call.cwd)}\`?${hidden}`;
}

function denialOf(answer: Exclude<PromptAnswer, { action: "accept" }>): string {
  if (answer.action === "unavailable") return answer.reason;
  return answer.action === "decline" ? DENIAL.declined : DENIAL.cancelled;
}

/** Whether the author of a rule meant the program at exactly this path, and not just any program of this name. */
function isNamed(file: string, { matches }: Verdict, rules: RuleSet): boolean {
  if (matches.some(({ rule }) => rule.first === file && rule.decision !== "forbidden")) return true;
  const name = file.slice(file.lastIndexOf("/") + 1);
  return rules.hostExecutables.get(name)?.paths.includes(file) ?? false;
}
