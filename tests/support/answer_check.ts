/**
 * Holds every frame against the table, twice: by the rows' own schemas, and by the published document alone.
 *
 * Answers and notifications have exactly the members of their row, with the types it says; an error is of a kind that the
 * row names. The document takes for right what the server took, and nothing that fits it is refused as -32602, unless for
 * a constraint that it lists for the method.
 */

import assert from "node:assert/strict";
import type { TransportLink } from "../../src/client/link/transport.ts";
import { decode, type ParamsSchema } from "../../src/protocol/decode_params.ts";
import { ERROR_CODES } from "../../src/protocol/error_codes.ts";
import { COMMON_ERRORS, METHODS, NOTIFICATIONS } from "../../src/protocol/methods.ts";
import type { Channel } from "./rpc_client.ts";
import { loadSpecCheck, type SpecCheck } from "./spec_check.ts";

interface Promised {
  readonly result: ParamsSchema<unknown>;
  readonly errorCodes: readonly number[];
}

/** What the table promises, with the schemas loaded. */
export interface Promises {
  readonly answers: ReadonlyMap<string, Promised>;
  readonly notifications: ReadonlyMap<string, ParamsSchema<unknown>>;
  readonly document: SpecCheck;
}

let loading: Promise<Promises> | null = null;

export function loadPromises(): Promise<Promises> {
  return loading ??= load();
}

async function load(): Promise<Promises> {
  const answers = new Map<string, Promised>();
  for (const { name, result, errors } of Object.values(METHODS)) {
    const kinds = Object.keys({ ...COMMON_ERRORS, ...errors }) as (keyof typeof ERROR_CODES)[];
    answers.set(name, { result: await result(), errorCodes: kinds.map((kind) => ERROR_CODES[kind]) });
  }
  const notifications = new Map<string, ParamsSchema<unknown>>();
  for (const { name, from, params } of Object.values(NOTIFICATIONS)) {
    if (from === "server") notifications.set(name, await params());
  }
  return { answers, notifications, document: await loadSpecCheck() };
}

interface WireMessage {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A request without an answer so far. */
interface Asked {
  readonly method: string;
  /** Why its parameters do not fit the document. */
  readonly problem: string | null;
}

/** Of one connection. */
export class AnswerCheck {
  readonly #promises: Promises;
  readonly #onChecked: (method: string) => void;
  /** By the JSON of their ids. */
  readonly #open = new Map<string, Asked>();

  /** `onChecked` is told the method of each result and notification that was as it should be. */
  constructor(promises: Promises, onChecked: (method: string) => void = () => {}) {
    this.#promises = promises;
    this.#onChecked = onChecked;
  }

  /** The client sends this. What is not a request may be answered in any way. */
  sent(text: string): void {
    const { id, method, params } = parsed(text);
    if ((typeof id !== "string" && typeof id !== "number") || typeof method !== "string") return;
    this.#open.set(JSON.stringify(id), { method, problem: this.#promises.document.paramsProblem(method, params) });
  }

  /** The server has sent this. Throws when the table says otherwise. */
  received({ id, method, params, result, error }: WireMessage): void {
    const { document } = this.#promises;
    if (method !== undefined) {
      const schema = this.#promises.notifications.get(method);
      assert.ok(schema !== undefined, `the table has no notification ${method}`);
      assertDescribed(schema, params, method);
      assert.equal(document.paramsProblem(method, params), null, `the document says otherwise of ${method}`);
      this.#onChecked(method);
      return;
    }
    const key = JSON.stringify(id);
    const asked = this.#open.get(key);
    this.#open.delete(key);
    // What was not asked for is about the connection. Methods that do not exist are asked for, too.
    const promised = asked === undefined ? undefined : this.#promises.answers.get(asked.method);
    if (asked === undefined || promised === undefined) return;
    if (error !== undefined) {
      const { code, message } = error;
      assert.ok(promised.errorCodes.includes(code), `${asked.method} names no error ${code} (${message})`);
      if (code === ERROR_CODES.invalidParams && asked.problem === null) assertListed(document, asked.method, message);
      return;
    }
    assert.equal(asked.problem, null, `the document says that these parameters of ${asked.method} are wrong`);
    assertDescribed(promised.result, result, asked.method);
    assert.equal(document.resultProblem(asked.method, result), null, `the document says otherwise of ${asked.method}`);
    this.#onChecked(asked.method);
  }
}

/** Fails when no constraint of the method explains this -32602 to parameters that fit the schema. */
export function assertListed(document: SpecCheck, method: string, message: string): void {
  assert.ok(
    document.constraintNamed(method, message) !== null,
    `${method} was refused (${message}) though its parameters fit the document, which lists no such constraint: add one ` +
      "to src/protocol/spec/constraints.ts, and name it beside the schema (wire_notes.ts) or in the method's text",
  );
}

function parsed(text: string): { id?: unknown; method?: unknown; params?: unknown } {
  try {
    const message = JSON.parse(text);
    return typeof message === "object" && message !== null ? message : {};
  } catch {
    return {}; // Sent to see what the server makes of it.
  }
}

/** Fails when the schema refuses the value, or does not know all of it. */
export function assertDescribed(schema: ParamsSchema<unknown>, value: unknown, method: string): void {
  const parsed = decode(schema, value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    assert.fail(`${method} does not answer as its row says: ${issue?.path.join(".")}: ${issue?.message}`);
  }
  // A schema leaves out what it does not know.
  assert.deepEqual(parsed.data, value, `${method} answers more than its row says`);
}

/**
 * The channel of a client, with everything checked that passes. What differs is told to the runtime as an error nobody
 * has caught, which fails the test that runs, and is handed on.
 */
export async function checked(channel: Channel, onChecked?: (method: string) => void): Promise<Channel> {
  const check = new AnswerCheck(await loadPromises(), onChecked);
  const outer: Channel = {
    onMessage: () => {},
    onClose: () => {},
    send: (text) => {
      check.sent(text);
      channel.send(text);
    },
    close: () => channel.close(),
  };
  channel.onMessage = (text) => {
    reportWrong(check, text);
    outer.onMessage(text);
  };
  channel.onClose = (reason) => outer.onClose(reason);
  return outer;
}

/** The same for a link of the client library. */
export async function checkedLink(
  link: TransportLink,
  onChecked?: (method: string) => void,
): Promise<TransportLink> {
  const check = new AnswerCheck(await loadPromises(), onChecked);
  return {
    receive: (receiver) =>
      link.receive((message) => {
        if (message !== null) reportWrong(check, message);
        return receiver(message);
      }),
    send: (messages) => {
      for (const message of messages) check.sent(message);
      return link.send(messages);
    },
    close: (farewell) => link.close(farewell),
  };
}

function reportWrong(check: AnswerCheck, text: string): void {
  try {
    check.received(JSON.parse(text));
  } catch (error) {
    reportError(error);
  }
}

/** A whole conversation over lines that has ended: everything sent, and everything received. */
export async function assertLines(sent: string, received: string, onChecked?: (method: string) => void): Promise<void> {
  const check = new AnswerCheck(await loadPromises(), onChecked);
  const lines = (text: string) => text.split("\n").filter((line) => line.trim() !== "");
  for (const line of lines(sent)) check.sent(line);
  for (const line of lines(received)) check.received(JSON.parse(line));
}
