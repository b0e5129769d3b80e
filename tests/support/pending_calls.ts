/** Requests that wait for their answer, on the calling side: id to promise. All are settled when the connection ends. */

import type { RequestId, WireError } from "../../src/rpc/envelope.ts";

/** The peer answered with an error. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly method: string;

  constructor(method: string, error: WireError) {
    super(error.message);
    this.method = method;
    this.code = error.code;
  }
}

interface PendingCall {
  readonly method: string;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

export class PendingCalls {
  readonly #calls = new Map<RequestId, PendingCall>();
  #nextId = 1;
  #ended: Error | null = null;

  /** Registers a call; its message must be sent after this. */
  open(method: string): { id: RequestId; answer: Promise<unknown> } {
    if (this.#ended !== null) throw this.#ended;
    const id = String(this.#nextId++) as RequestId;
    const answer = new Promise<unknown>((resolve, reject) => this.#calls.set(id, { method, resolve, reject }));
    return { id, answer };
  }

  /** False: nobody asked. */
  settle(id: RequestId, outcome: { result: unknown } | { error: WireError }): boolean {
    const call = this.#take(id);
    if (call === null) return false;
    if ("error" in outcome) call.reject(new RpcError(call.method, outcome.error));
    else call.resolve(outcome.result);
    return true;
  }

  /** There will be no answer, for this reason. False: nobody asked. */
  fail(id: RequestId, error: Error): boolean {
    const call = this.#take(id);
    call?.reject(error);
    return call !== null;
  }

  /** The connection is gone: every open call fails with this error, and every later one. */
  end(error: Error): void {
    this.#ended ??= error;
    for (const call of this.#calls.values()) call.reject(error);
    this.#calls.clear();
  }

  #take(id: RequestId): PendingCall | null {
    const call = this.#calls.get(id) ?? null;
    this.#calls.delete(id);
    return call;
  }
}
