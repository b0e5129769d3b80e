/**
 * A typed client of one connection, for tests that want to see every message: below the client library, which keeps
 * connections to itself. It connects, shakes hands, calls and follows the notifications of a process.
 *
 * One connection, one session. When the connection is lost every open call fails with `ConnectionLostError`; the session
 * lives on at the server for a while and is taken up by connecting again with `resumeSessionId`.
 */

import { ConnectionLostError, ProtocolError } from "../../src/client/errors.ts";
import type {
  MethodName,
  MethodTypes,
  Notification,
  NotificationName,
  NotificationTypes,
  ProcessNotification,
} from "../../src/protocol/method_types.ts";
import type { EnvironmentInfo } from "../../src/protocol/environment.ts";
import { MESSAGE_LIMITS } from "../../src/protocol/limits.ts";
import { decodeWhole, encodeNotification, NO_REQUEST_ID, type RequestId } from "../../src/rpc/envelope.ts";
import { type Channel, openWebSocket } from "./channel.ts";
import { NotificationStream } from "./notification_stream.ts";
import { PendingCalls } from "./pending_calls.ts";

export type { Channel } from "./channel.ts";
export { openWebSocket } from "./channel.ts";
export { NotificationStream } from "./notification_stream.ts";
export { RpcError } from "./pending_calls.ts";
export { ConnectionLostError } from "../../src/client/errors.ts";
export type {
  MethodName,
  MethodTypes,
  Notification,
  NotificationName,
  NotificationTypes,
  ProcessNotification,
} from "../../src/protocol/method_types.ts";

/** The server's answer could not be read. Whether the request took effect is not known. */
export class MalformedAnswerError extends ProtocolError {
  override readonly name = "MalformedAnswerError";
}

export interface ConnectOptions {
  clientName: string;
  /** Takes up a session whose connection was lost. */
  resumeSessionId?: string;
  /** Resumes at once although the server still takes the lost connection for a living one, and ends that. */
  takeover?: boolean;
  /** Bearer token, when the server asks for one. */
  token?: string;
  /** Optional notifications to ask for, such as `process/started`. */
  notifications?: string[];
  /** Optional members of results to ask for, such as `processEndReason`. */
  optionalFields?: string[];
  signal?: AbortSignal;
}

/** Connects and shakes hands. */
export async function connect(url: string, options: ConnectOptions): Promise<Client> {
  const channel = await openWebSocket(url, { token: options.token, signal: options.signal });
  return await Client.handshake(channel, options);
}

export class Client implements AsyncDisposable {
  readonly #channel: Channel;
  readonly #calls = new PendingCalls();
  readonly #streams = new Map<string, NotificationStream>();
  readonly #listeners = new Set<(notification: Notification) => void>();
  readonly #closed = Promise.withResolvers<string>();
  /** Why this side has given the connection up. */
  #failure: string | null = null;
  #sessionId = "";
  #environmentInfo: EnvironmentInfo | null = null;

  private constructor(channel: Channel) {
    this.#channel = channel;
    channel.onMessage = (text) => this.#receive(text);
    channel.onClose = (reason) => this.#end(reason);
  }

  /** Shakes hands over an open channel. */
  static async handshake(channel: Channel, options: ConnectOptions): Promise<Client> {
    const client = new Client(channel);
    try {
      const result = await client.call("initialize", {
        clientName: options.clientName,
        resumeSessionId: options.resumeSessionId ?? null,
        ...(options.takeover === undefined ? {} : { takeover: options.takeover }),
        ...(options.notifications === undefined ? {} : { notifications: options.notifications }),
        ...(options.optionalFields === undefined ? {} : { optionalFields: options.optionalFields }),
      });
      client.#sessionId = result.sessionId;
      client.#environmentInfo = result.environmentInfo;
      channel.send(encodeNotification("initialized", {}));
      return client;
    } catch (error) {
      channel.close();
      throw error;
    }
  }

  get sessionId(): string {
    return this.#sessionId;
  }

  get environmentInfo(): EnvironmentInfo {
    return this.#environmentInfo!;
  }

  /** Resolves with the reason when the connection has ended, by either side. */
  get closed(): Promise<string> {
    return this.#closed.promise;
  }

  /** Sends a request and returns its result; rejects with `RpcError` when the server refuses it. */
  async call<Name extends MethodName>(
    method: Name,
    params: MethodTypes[Name]["params"],
  ): Promise<MethodTypes[Name]["result"]> {
    const { id, answer } = this.#calls.open(method);
    try {
      this.#channel.send(`{"id":${id},${encodeNotification(method, params).slice(1)}`);
    } catch (error) {
      this.#calls.fail(id, error instanceof Error ? error : new Error(String(error)));
    }
    return await answer as MethodTypes[Name]["result"];
  }

  /**
   * The notifications of one process in arrival order, ending after `process/closed`. Ask for it before
   * `process/start`: what arrives while nobody listens is not kept.
   */
  follow(processId: string): NotificationStream {
    let stream = this.#streams.get(processId);
    if (stream === undefined) {
      stream = new NotificationStream(() => this.#streams.delete(processId));
      this.#streams.set(processId, stream);
    }
    return stream;
  }

  /** Calls the listener for every notification; returns the function that stops it. */
  onNotification(listener: (notification: Notification) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends the connection. The session stays at the server until its time runs out. */
  async close(): Promise<void> {
    this.#channel.close();
    await this.#closed.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #receive(text: string): void {
    const message = decodeWhole(text, MESSAGE_LIMITS);
    switch (message.type) {
      case "result":
        this.#calls.settle(message.id, { result: message.result });
        break;
      case "error":
        // One of our messages could not be read, or broke a rule. Which of the open calls will stay without an answer is
        // not known, so none is left waiting.
        if (message.id === NO_REQUEST_ID) this.#giveUp(message.error.message);
        else this.#calls.settle(message.id, { error: message.error });
        break;
      case "notification":
        this.#notify(message.method as NotificationName, message.params);
        break;
      case "malformed":
        this.#malformed(message.reason, message.id);
        break;
      case "request":
        // Nothing this client has promised to answer.
    }
  }

  /** An answer whose id can be read fails its own call. Anything else may have been anybody's answer, or output. */
  #malformed(reason: string, id: RequestId | undefined): void {
    const text = `cannot read a message of the server: ${reason}`;
    if (id === undefined || !this.#calls.fail(id, new MalformedAnswerError(text))) this.#giveUp(text);
  }

  #notify(method: NotificationName, params: unknown): void {
    const notification = { method, params } as Notification;
    for (const listener of this.#listeners) listener(notification);
    const { processId } = (params ?? {}) as Partial<NotificationTypes["process/closed"]>;
    if (processId !== undefined) this.#streams.get(processId)?.push(notification as ProcessNotification);
  }

  #giveUp(reason: string): void {
    this.#failure ??= reason;
    this.#calls.end(new ConnectionLostError(reason));
    this.#channel.close();
  }

  #end(reason: string): void {
    const why = this.#failure ?? reason;
    this.#calls.end(new ConnectionLostError(why));
    for (const stream of this.#streams.values()) stream.end();
    this.#closed.resolve(why);
  }
}
