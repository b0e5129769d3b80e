/**
 * The requests that are not answered yet, in the order they were made. They outlive a connection: those that had not
 * been sent, or may be repeated, are sent again on the next one, with the same numbers and in the same order.
 */

import { isObject } from "../../json_object.ts";
import { CONTENT_MEMBERS } from "../../protocol/base64.ts";
import { ERROR_CODES } from "../../protocol/error_codes.ts";
import { MAX_FRAME_BYTES } from "../../protocol/limits.ts";
import type { MethodName } from "../../protocol/method_types.ts";
import { ProtocolError, ServerError } from "../errors.ts";
import { isRepeatable } from "./repeatable.ts";

/** Options of one request. */
export interface CallOptions {
  /** Gives up waiting. The server may still carry out the request. */
  readonly signal?: AbortSignal | undefined;
  /** Whether it may be sent again when its connection was lost. Default: the rule of its method. */
  readonly repeatable?: boolean | undefined;
  /**
   * Called when a request that was sent twice is answered with an error. Returns the result if the error means that the
   * first attempt has succeeded. Undefined: it is an error.
   */
  readonly resultOfRepeated?: ((error: ServerError) => unknown) | undefined;
  /**
   * The parameters come from a caller of the library. What should be base64 may be anything, and a quote in it could
   * add members to the request.
   */
  readonly isForeign?: boolean | undefined;
}

interface OpenRequest {
  readonly method: string;
  readonly text: string;
  readonly isRepeatable: boolean;
  readonly resultOfRepeated: CallOptions["resultOfRepeated"];
  /** How often it was sent. */
  timesSent: number;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** See the head of the module. */
export class RequestTable {
  readonly #open = new Map<number, OpenRequest>();
  #nextId = 1;

  /** How many there are. */
  get size(): number {
    return this.#open.size;
  }

  /** Adds a request. It is sent by `send` or with the next connection. */
  add(
    method: string,
    params: unknown,
    { resultOfRepeated, repeatable, isForeign = false }: CallOptions,
  ): { id: number; answer: Promise<unknown> } {
    const id = this.#nextId++;
    const text = isForeign ? encodeWhole(id, method, params) : encode(id, method, params);
    if (isTooLong(text)) {
      const message =
        `cannot send ${method}: ${text.length} characters, and a message has at most ${MAX_FRAME_BYTES} bytes`;
      return { id, answer: Promise.reject(new ServerError(method, ERROR_CODES.invalidRequest, message)) };
    }
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#open.set(id, {
      method,
      text,
      isRepeatable: repeatable ?? isRepeatable(method, params),
      resultOfRepeated,
      timesSent: 0,
      resolve,
      reject,
    });
    return { id, answer: promise };
  }

  /** A number for a message that is not kept here. */
  takeId(): number {
    return this.#nextId++;
  }

  /** Sends one request on a link. */
  send(id: number, send: (text: string) => void): void {
    const request = this.#open.get(id);
    if (request === undefined) return;
    request.timesSent++;
    send(request.text);
  }

  /** Sends every request on a new link. */
  sendAll(send: (text: string) => void): void {
    for (const id of [...this.#open.keys()]) this.send(id, send);
  }

  /** False: there is no such request, or it was given up. */
  succeed(id: number, result: unknown): boolean {
    const request = this.#take(id);
    if (request === null) return false;
    if (isObject(result)) request.resolve(result);
    else request.reject(new ProtocolError(`${request.method}: the server's answer is not an object`));
    return true;
  }

  /** The server's answer is an error. False: there is no such request, or it was given up. */
  fail(id: number, code: number, message: string): boolean {
    const request = this.#take(id);
    if (request === null) return false;
    const error = new ServerError(request.method, code, message);
    const result = request.timesSent > 1 ? request.resultOfRepeated?.(error) : undefined;
    if (result === undefined) request.reject(error);
    else request.resolve(result);
    return true;
  }

  /** The server's answer cannot be read. False: nobody asked, or nobody waits any more. */
  failUnread(id: number, reason: string): boolean {
    const request = this.#take(id);
    if (request === null) return false;
    request.reject(new ProtocolError(`${request.method}: cannot read the server's answer: ${reason}`));
    return true;
  }

  /** The caller does not wait for this one any more. */
  abandon(id: number, error: unknown): void {
    this.#take(id)?.reject(error);
  }

  /** The connection is lost: what was sent and must not be repeated fails. */
  connectionLost(errorFor: (method: string) => Error): void {
    for (const [id, { method, timesSent, isRepeatable }] of this.#open) {
      if (timesSent > 0 && !isRepeatable) this.#take(id)!.reject(errorFor(method));
    }
  }

  /** What the server sent cannot be read: any of these may have asked for it, and would ask for it again, forever. */
  unreadable(errorFor: (method: string) => Error): void {
    for (const [id, { method, timesSent }] of this.#open) {
      if (timesSent > 0) this.#take(id)!.reject(errorFor(method));
    }
  }

  /** No more answers will come. */
  end(error: Error): void {
    for (const id of [...this.#open.keys()]) this.#take(id)!.reject(error);
  }

  #take(id: number): OpenRequest | null {
    const request = this.#open.get(id) ?? null;
    this.#open.delete(id);
    return request;
  }
}

/**
 * A server ends the connection when such a frame comes. The request would be repeated on the next connection and end
 * that, too, forever.
 */
function isTooLong(text: string): boolean {
  // A character has three bytes at most.
  if (text.length * 3 <= MAX_FRAME_BYTES) return false;
  return text.length > MAX_FRAME_BYTES || new TextEncoder().encode(text).length > MAX_FRAME_BYTES;
}

/**
 * From this length on, content that the library has encoded is put into the text as it is: `JSON.stringify` would
 * search it for characters to escape.
 */
const LONG_CONTENT_CHARACTERS = 128 * 1024;

function encode(id: number, method: string, params: unknown): string {
  const member = CONTENT_MEMBERS[method as MethodName];
  if (member !== undefined && isObject(params)) {
    const { [member]: content, ...rest } = params;
    if (typeof content === "string" && content.length >= LONG_CONTENT_CHARACTERS) {
      const beginning = JSON.stringify({ ...rest, [member]: "" }).slice(0, -2);
      return `{"id":${id},"method":"${method}","params":${beginning}${content}"}}`;
    }
  }
  return encodeWhole(id, method, params);
}

function encodeWhole(id: number, method: string, params: unknown): string {
  const members = params === undefined ? "" : `,"params":${JSON.stringify(params)}`;
  return `{"id":${id},"method":"${method}"${members}}`;
}
