/**
 * The tools at work: a call starts a command or finds a running one, waits for it, asks the client what has to be asked,
 * and answers. A call that is cancelled ends the command it is about.
 *
 * Knows the tools and the ways to ask, but neither the protocol library nor a transport.
 */

import type { Clock } from "../clock.ts";
import { invalidParams } from "../errors.ts";
import type { ClientProfile } from "./client_profile.ts";
import { endResult, runningResult, type ToolResult } from "./command_result.ts";
import {
  FIRST_PROGRESS_MS,
  MAX_PROMPT_ROUNDS,
  OUTPUT_GATHER_MS,
  PROGRESS_INTERVAL_MS,
  PROMPT_BATCH_MS,
} from "./limits.ts";
import type { McpConnection } from "./mcp_connection.ts";
import type { OpenPrompt, PromptAnswer } from "./prompt_desk.ts";
import type { RunningCommand } from "./running_command.ts";
import {
  handleArguments,
  inputArguments,
  requestDigest,
  type ShellArguments,
  shellArguments,
} from "./tool_arguments.ts";

/** One request for a tool. */
export interface ToolCall {
  readonly tool: string;
  readonly arguments: unknown;
  /** The client's, for this request. */
  readonly requestId: string | number;
  /** Our number of it: no other has it. */
  readonly callNumber: number;
  /** The client's name for it, or our number. For the audit. */
  readonly callId: string;
  readonly meta: Readonly<Record<string, unknown>> | undefined;
  readonly client: ClientProfile;
  readonly connection: McpConnection;
  /** Aborts when the client does not want the answer any more. */
  readonly signal: AbortSignal;
  /** Asks the client during the call. Null: the questions are the answer instead. */
  readonly elicit: ((prompt: OpenPrompt) => Promise<PromptAnswer>) | null;
  /** The round that this call continues. */
  readonly round: { readonly name: string; readonly answers: ReadonlyMap<string, PromptAnswer> } | null;
  /** Reports that the command still runs. Null: nobody wants to know. */
  readonly progress: ((elapsedMs: number) => void) | null;
}

/** The result, or the questions that the client must answer. It then calls again, with the name of this round. */
export type CallOutcome =
  | { readonly type: "result"; readonly result: ToolResult }
  | { readonly type: "questions"; readonly prompts: readonly OpenPrompt[]; readonly round: string };

export interface ToolCallsOptions {
  readonly hasHandles: boolean;
  readonly clock: Clock;
  /** Starts a command for a call. Throws when its sandbox or directory cannot be used. */
  readonly start: (args: ShellArguments, call: ToolCall) => RunningCommand;
}

/** How long a call waits, and what it hands out when the command goes on. */
interface Attendance {
  readonly command: RunningCommand;
  /** Null: until its end. */
  readonly waitMs: number | null;
  readonly handle: string | null;
  readonly rounds: number;
  /**
   * What else ends the wait: output that nobody has seen yet, or only output that comes from now on, as an answer to
   * what was written. Absent: none.
   */
  readonly news?: "unseen" | "later";
}

const ENDED = Symbol("ended");
const WAITED = Symbol("waited");
const ASKED = Symbol("asked");
const ABORTED = Symbol("aborted");

export class ToolCalls {
  readonly #options: ToolCallsOptions;

  constructor(options: ToolCallsOptions) {
    this.#options = options;
  }

  async call(call: ToolCall): Promise<CallOutcome> {
    const leave = call.connection.enter();
    try {
      return await this.#call(call);
    } finally {
      leave();
    }
  }

  async #call(call: ToolCall): Promise<CallOutcome> {
    const { hasHandles } = this.#options;
    if (call.tool !== "shell" && !(hasHandles && ["shell_poll", "shell_input", "shell_stop"].includes(call.tool))) {
      throw invalidParams("tool not found");
    }
    if (call.round !== null) return await this.#continue(call, call.round);
    switch (call.tool) {
      case "shell":
        return await this.#shell(call);
      case "shell_input":
        return await this.#input(call);
      case "shell_stop":
        return await this.#stop(call);
      default: {
        const { handle, waitMs } = handleArguments(call.arguments);
        const command = call.connection.kept.get(handle);
        return await this.#attend(call, { command, waitMs, handle, rounds: 0, news: "unseen" });
      }
    }
  }

  async #shell(call: ToolCall): Promise<CallOutcome> {
    const args = shellArguments(call.arguments, this.#options.hasHandles);
    const command = call.connection.start(() => this.#options.start(args, call));
    return await this.#attend(call, { command, waitMs: args.yieldMs, handle: null, rounds: 0 });
  }

  async #input(call: ToolCall): Promise<CallOutcome> {
    const { handle, waitMs, text, closes } = inputArguments(call.arguments);
    const command = call.connection.kept.get(handle);
    // Not waited for: the command may never read it.
    if (text !== "") command.input.write(text);
    if (closes) command.input.close();
    return await this.#attend(call, { command, waitMs, handle, rounds: 0, news: "later" });
  }

  async #stop(call: ToolCall): Promise<CallOutcome> {
    const { handle } = handleArguments(call.arguments);
    const command = call.connection.kept.get(handle);
    await command.stop();
    return await this.#attend(call, { command, waitMs: null, handle, rounds: 0 });
  }

  async #continue(call: ToolCall, { name, answers }: NonNullable<ToolCall["round"]>): Promise<CallOutcome> {
    // First: a call that is refused must not lose the command, whose clock stands still.
    const request = await requestDigest(call, this.#options.hasHandles);
    const waitMs = call.tool === "shell"
      ? shellArguments(call.arguments, this.#options.hasHandles).yieldMs
      : handleArguments(call.arguments).waitMs;
    const { command, rounds, handle } = call.connection.kept.unpark(name, request);
    for (const prompt of command.prompts.open) {
      const answer = answers.get(prompt.id);
      if (answer !== undefined) prompt.answer(answer);
    }
    const news = call.tool === "shell_poll" || call.tool === "shell_input" ? { news: "unseen" as const } : {};
    return await this.#attend(call, { command, waitMs, handle, rounds, ...news });
  }

  async #attend(call: ToolCall, attendance: Attendance): Promise<CallOutcome> {
    const { command } = attendance;
    const { prompts } = command;
    if (!call.client.canBeAsked) {
      prompts.giveUp("it needs the user's approval, and this client cannot ask for it");
    }
    const { elicit } = call;
    const detach = elicit === null ? null : prompts.attach((prompt) =>
      void elicit(prompt).then((answer) => {
        // That the call was cancelled is no answer: its command is being ended, and must not go on until then.
        if (!call.signal.aborted) prompt.answer(answer);
      })
    );
    const progress = this.#progress(call, command);
    try {
      const outcome = await this.#wait(call, attendance);
      const request = outcome === ASKED ? await requestDigest(call, this.#options.hasHandles) : null;
      if (outcome === ABORTED || (request !== null && call.signal.aborted)) {
        await command.stop();
        throw new DOMException("the call was cancelled", "AbortError");
      }
      if (request !== null) return this.#questions(call, attendance, request);
      return { type: "result", result: await this.#result(call, attendance, outcome === ENDED) };
    } finally {
      progress();
      detach?.();
    }
  }

  /** What comes first: the end, news or the end of patience, a question that has to be passed on, or a cancellation. */
  async #wait(call: ToolCall, { command, waitMs, rounds, news }: Attendance): Promise<symbol> {
    const { clock } = this.#options;
    const aborted = Promise.withResolvers<symbol>();
    const abort = () => aborted.resolve(ABORTED);
    call.signal.addEventListener("abort", abort, { once: true });
    if (call.signal.aborted) abort();
    const ended = command.finished.then(() => ENDED, () => ENDED);
    const patience = Promise.withResolvers<symbol>();
    const cancel = waitMs === null ? () => {} : clock.setTimer(waitMs, () => patience.resolve(WAITED));
    const unwatch = news === undefined ? () => {} : this.#onNews(command, news, () => patience.resolve(WAITED));
    try {
      const waits = [ended, patience.promise, aborted.promise];
      while (call.elicit === null && call.client.canBeAsked) {
        const asked = command.prompts.whenOpen().then(async () => {
          await new Promise<void>((resolve) => clock.setTimer(PROMPT_BATCH_MS, resolve));
          return ASKED;
        });
        const first = await Promise.race([...waits, asked]);
        if (first !== ASKED) return first;
        // The program that asked may have gone meanwhile.
        if (command.prompts.open.length === 0) continue;
        if (rounds < MAX_PROMPT_ROUNDS) return ASKED;
        command.prompts.giveUp("this call has asked too many questions: run the rest in another call");
      }
      const first = await Promise.race(waits);
      // A question must be answered in the call in which it was asked, so this waits for the answer.
      if (first !== WAITED || command.prompts.open.length === 0) return first;
      return await Promise.race([ended, aborted.promise, command.prompts.whenClosed().then(() => WAITED)]);
    } finally {
      cancel();
      unwatch();
      call.signal.removeEventListener("abort", abort);
    }
  }

  /** Calls back a moment after the first news. The returned function stops this. */
  #onNews({ output }: RunningCommand, news: "unseen" | "later", callback: () => void): () => void {
    let cancel: (() => void) | null = null;
    const gather = () => {
      cancel ??= this.#options.clock.setTimer(OUTPUT_GATHER_MS, () => {
        cancel = null;
        // Another look may have taken it meanwhile.
        if (output.hasMore) callback();
      });
    };
    const unwatch = output.watch(gather);
    if (news === "unseen" && output.hasMore) gather();
    return () => {
      unwatch();
      cancel?.();
    };
  }

  #questions(call: ToolCall, { command, handle, rounds }: Attendance, request: string): CallOutcome {
    const { requestId, connection } = call;
    const round = connection.kept.park({ command, requestId, rounds: rounds + 1, handle, request });
    return { type: "questions", prompts: command.prompts.open, round };
  }

  async #result(call: ToolCall, { command, handle }: Attendance, hasEnded: boolean): Promise<ToolResult> {
    const { connection, client } = call;
    if (!hasEnded) return runningResult(command, handle ?? connection.kept.keep(command), client.dialect);
    if (handle !== null) connection.kept.forget(handle);
    return endResult(command, await command.finished, client.dialect);
  }

  /** Reports soon, and then now and then, that the command still runs. The returned function stops this. */
  #progress({ progress }: ToolCall, command: RunningCommand): () => void {
    if (progress === null) return () => {};
    let cancel = () => {};
    const tell = () => {
      progress(command.durationMs);
      cancel = this.#options.clock.setTimer(PROGRESS_INTERVAL_MS, tell);
    };
    cancel = this.#options.clock.setTimer(FIRST_PROGRESS_MS, tell);
    return () => cancel();
  }
}
