/**
 * The tools behind the protocol library: one instance per connection in the 2025 era, one per request over HTTP in the
 * 2026 era. Turns requests into `ToolCall`s and outcomes into answers of the era. Prompts are pushed in the 2025 era
 * and are answers in the 2026 era.
 */

import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  createRequestStateCodec,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type RequestStateCodec,
  SdkError,
  SdkErrorCode,
  Server,
  type ServerContext,
  type Transport,
} from "@modelcontextprotocol/server";
import { DomainError, messageOf } from "../errors.ts";
import { errorFields, type Logger } from "../log.ts";
import { VERSION } from "../version.ts";
import { type ClientFacts, type ClientProfile, clientProfile } from "./client_profile.ts";
import { CommandFailure } from "./command_result.ts";
import { elicitationParams, promptAnswer, UNREADABLE_ANSWER } from "./elicitation.ts";
import { PROMPT_PATIENCE_MS, ROUND_PATIENCE_MS } from "./limits.ts";
import type { McpConnection } from "./mcp_connection.ts";
import type { OpenPrompt, PromptAnswer } from "./prompt_desk.ts";
import { UNREADABLE } from "./readable_message.ts";
import { SANDBOX_CAPABILITY, SANDBOX_UPDATE_METHOD, SandboxStateError } from "./sandbox_state.ts";
import { type CallOutcome, type ToolCall, ToolCalls } from "./tool_calls.ts";
import type { ToolDescription } from "./tool_list.ts";

export type Era = "legacy" | "modern";

export interface ProtocolServerOptions {
  readonly tools: readonly ToolDescription[];
  readonly calls: ToolCalls;
  readonly log: Logger;
  /** As commands have it. */
  readonly tmpdir: string | undefined;
}

/** The reference's. */
const INSTRUCTIONS = "This server provides a tool to execute shell commands and return their output.";

/** The reference answers these requests, though it has no resources and no prompts. Clients of the 2025 era ask. */
const EMPTY_LISTS: Readonly<Record<string, object>> = {
  "resources/list": { resources: [] },
  "resources/templates/list": { resourceTemplates: [] },
  "prompts/list": { prompts: [] },
};

const SIGNING_KEY_BYTES = 32;

type Answers = NonNullable<ToolCall["round"]>["answers"];

/** Tells of all requests that a client cancels: the library forgets a request with its answer, which may be questions. */
class ToolServer extends Server {
  readonly #onCancelled: (requestId: string | number) => void;

  constructor(onCancelled: (requestId: string | number) => void, ...rest: ConstructorParameters<typeof Server>) {
    super(...rest);
    this.#onCancelled = onCancelled;
  }

  override async connect(transport: Transport): Promise<void> {
    // The library calls this one before its own.
    transport.onmessage = (message) => {
      if (!("method" in message) || message.method !== "notifications/cancelled") return;
      const requestId = message.params?.["requestId"];
      if (typeof requestId === "string" || typeof requestId === "number") this.#onCancelled(requestId);
    };
    await super.connect(transport);
  }
}

/** Makes the instances. All of them accept each other's rounds, and nobody else's: the key is made anew at each start. */
export class ProtocolServers {
  readonly #options: ProtocolServerOptions;
  readonly #rounds: RequestStateCodec<string>;
  #nextCall = 1;

  constructor(options: ProtocolServerOptions) {
    this.#options = options;
    this.#rounds = createRequestStateCodec<string>({
      key: crypto.getRandomValues(new Uint8Array(SIGNING_KEY_BYTES)),
      ttlSeconds: ROUND_PATIENCE_MS / 1000,
    });
  }

  create(era: Era, connection: McpConnection): Server {
    const { tools, log } = this.#options;
    // Over HTTP other clients use the same ids; there a client gives up a call by closing its connection.
    const cancelled = connection.hasSession ? (id: string | number) => connection.kept.abandon(id) : () => {};
    const server = new ToolServer(cancelled, { name: "exec-server", version: VERSION }, {
      capabilities: { experimental: { [SANDBOX_CAPABILITY]: { version: "1.0.0" } }, tools: {} },
      instructions: INSTRUCTIONS,
      requestState: { verify: (state, ctx) => this.#rounds.verify(state, ctx) },
    });
    server.onerror = (error) => log.debug("MCP message not served", { reason: error.message });
    server.setRequestHandler("tools/list", () => ({ tools: tools as never }));
    server.setRequestHandler("tools/call", async ({ params }, ctx) => {
      const client = profileOf(server, ctx, { era, connection });
      const call = this.#toolCall(params, ctx, { client, connection });
      try {
        return await this.#answer(await this.#options.calls.call(call), client) as never;
      } catch (error) {
        throw this.#protocolError(error);
      }
    });
    // Not in the 2026 era: there an unknown method has a status of its own over HTTP, what was not declared is unknown,
    // and later requests may be from another client.
    if (era === "legacy") server.fallbackRequestHandler = (request) => this.#legacyAnswer(request, connection);
    return server;
  }

  /** What the reference answers besides the tools. */
  #legacyAnswer(
    { method, params }: { method: string; params?: unknown },
    connection: McpConnection,
  ): Promise<Record<string, unknown>> {
    if (method === SANDBOX_UPDATE_METHOD) {
      try {
        connection.update(params, this.#options.tmpdir);
        return Promise.resolve({});
      } catch (error) {
        return Promise.reject(this.#protocolError(error));
      }
    }
    const list = EMPTY_LISTS[method];
    if (list !== undefined) return Promise.resolve(list as Record<string, unknown>);
    return Promise.reject(new ProtocolError(ProtocolErrorCode.MethodNotFound, `unknown method ${method}`));
  }

  #toolCall(
    params: { name: string; arguments?: unknown },
    ctx: ServerContext,
    { client, connection }: { client: ClientProfile; connection: McpConnection },
  ): ToolCall {
    const meta = ctx.mcpReq._meta as Record<string, unknown> | undefined;
    const callNumber = this.#nextCall++;
    const callId = typeof meta?.["callId"] === "string" ? meta["callId"] : String(callNumber);
    const round = ctx.mcpReq.requestState<string>();
    const progressToken = meta?.["progressToken"] as string | number | undefined;
    const peer = ctx.http?.req?.signal;
    return {
      tool: params.name,
      arguments: params.arguments,
      requestId: ctx.mcpReq.id,
      callNumber,
      callId,
      meta,
      client,
      connection,
      // Over HTTP the end of the connection shows that the client has gone.
      signal: peer === undefined ? ctx.mcpReq.signal : AbortSignal.any([ctx.mcpReq.signal, peer]),
      elicit: client.takesPushedPrompts ? (prompt) => this.#push(prompt, ctx, client) : null,
      round: typeof round !== "string" ? null : { name: round, answers: answersOf(ctx) },
      progress: progressToken === undefined ? null : (elapsedMs) => {
        const progress = Math.round(elapsedMs / 1000);
        const params = { progressToken, progress, message: `running for ${progress} s` };
        ctx.mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
      },
    };
  }

  /** Never rejects: a client that cannot be asked has not agreed. */
  async #push(prompt: OpenPrompt, ctx: ServerContext, client: ClientProfile): Promise<PromptAnswer> {
    try {
      const params = elicitationParams(prompt.message, client.dialect);
      const options = { timeout: PROMPT_PATIENCE_MS, signal: AbortSignal.any([prompt.signal, ctx.mcpReq.signal]) };
      return promptAnswer(await ctx.mcpReq.send({ method: "elicitation/create", params }, options));
    } catch (error) {
      const reason = messageOf(error);
      this.#options.log.warn("a prompt was not answered", { reason });
      if (isUnreadable(error)) return UNREADABLE_ANSWER;
      return { action: "unavailable", reason: "the client could not be asked for approval" };
    }
  }

  async #answer(outcome: CallOutcome, client: ClientProfile): Promise<unknown> {
    if (outcome.type === "result") return outcome.result;
    const requests = outcome.prompts.map(({ id, message }) => {
      const params = { mode: "form", ...elicitationParams(message, client.dialect) };
      return [id, { method: "elicitation/create", params }] as const;
    });
    const requestState = await this.#rounds.mint(outcome.round);
    return inputRequired({ inputRequests: Object.fromEntries(requests) as never, requestState });
  }

  #protocolError(error: unknown): Error {
    if (error instanceof CommandFailure) {
      return new ProtocolError(ProtocolErrorCode.InternalError, error.message, error.data);
    }
    if (error instanceof SandboxStateError) {
      return new ProtocolError(ProtocolErrorCode.InvalidParams, error.message, error.data);
    }
    if (error instanceof DomainError) {
      const isTheirs = error.kind === "invalidParams";
      return new ProtocolError(
        isTheirs ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError,
        error.message,
      );
    }
    if (error instanceof DOMException && error.name === "AbortError") return error;
    this.#options.log.error("a tool call failed", errorFields(error));
    return new ProtocolError(ProtocolErrorCode.InternalError, "internal error; the server's log has the details");
  }
}

/** Whether the client has answered, but with something that is no answer. */
function isUnreadable(error: unknown): boolean {
  if (error instanceof SdkError) return error.code === SdkErrorCode.InvalidResult;
  return error instanceof ProtocolError && error.message === UNREADABLE.message;
}

function profileOf(
  server: Server,
  ctx: ServerContext,
  { era, connection }: { era: Era; connection: McpConnection },
): ClientProfile {
  const envelope = ctx.mcpReq.envelope as Record<string, unknown> | undefined;
  const facts: Pick<ClientFacts, "info" | "capabilities"> = era === "legacy"
    ? { info: server.getClientVersion(), capabilities: server.getClientCapabilities() }
    : {
      info: envelope?.[CLIENT_INFO_META_KEY] as ClientFacts["info"],
      capabilities: envelope?.[CLIENT_CAPABILITIES_META_KEY] as ClientFacts["capabilities"],
    };
  return clientProfile({
    ...facts,
    isReferenceEra: connection.state !== null,
    takesPushedPrompts: era === "legacy",
  });
}

/** Questions that are not in it are asked again. */
function answersOf({ mcpReq: { inputResponses = {}, droppedInputResponseKeys = [] } }: ServerContext): Answers {
  return new Map([
    ...Object.entries(inputResponses).map(([id, response]) => [id, promptAnswer(response)] as const),
    // What is no object, or no answer by its members, the protocol library keeps to itself.
    ...droppedInputResponseKeys.map((id) => [id, UNREADABLE_ANSWER] as const),
  ]);
}
