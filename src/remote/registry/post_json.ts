/** Sends one JSON request and reads the whole answer, within a size and a time. Does not follow redirects. */

import type { Clock } from "../../clock.ts";
import type { Dialer } from "../../http/dialer.ts";
import { exchange, type IncomingResponse } from "../../http/exchange.ts";

export interface AskOptions {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly dialer: Dialer;
  readonly clock: Clock;
  /** For everything together. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** An answer, whatever its status. */
export interface TextAnswer {
  readonly status: number;
  readonly text: string;
}

/** Far more than any answer to a call has. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** A list of ten thousand executors, each with the longest id, name and version, has some 7 MiB. */
const MAX_LIST_BYTES = 16 * 1024 * 1024;

/** Rejects when there is no answer. */
export function postJson(body: unknown, options: AskOptions): Promise<TextAnswer> {
  const headers = { "content-type": "application/json", ...options.headers };
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  return ask({ method: "POST", headers, body: bytes, maxAnswerBytes: MAX_ANSWER_BYTES }, options);
}

/** Asks for a list. Rejects when there is no answer. */
export function getList(options: AskOptions): Promise<TextAnswer> {
  return ask({ method: "GET", headers: options.headers, body: null, maxAnswerBytes: MAX_LIST_BYTES }, options);
}

interface Question {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer> | null;
  readonly maxAnswerBytes: number;
}

async function ask(question: Question, { url, dialer, clock, timeoutMs, signal }: AskOptions): Promise<TextAnswer> {
  const life = new AbortController();
  const giveUp = () => life.abort(signal.reason);
  signal.addEventListener("abort", giveUp);
  if (signal.aborted) giveUp();
  const cancel = clock.setTimer(timeoutMs, () => life.abort(new Error(`no answer within ${timeoutMs} ms`)));
  try {
    const { method, body } = question;
    const headers = Object.entries(question.headers).map(([name, value]) => ({ name, value }));
    const request = { method, url, headers, body };
    const response = await exchange(request, dialer, life.signal);
    try {
      return { status: response.status, text: await readText(response, question.maxAnswerBytes) };
    } finally {
      response.close();
    }
  } catch (error) {
    // The pending operation failed because we closed the socket. The actual reason is another.
    throw life.signal.aborted ? life.signal.reason : error;
  } finally {
    cancel();
    signal.removeEventListener("abort", giveUp);
  }
}

async function readText({ body }: IncomingResponse, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for (let bytes = await body.read(); bytes !== null; bytes = await body.read()) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > maxBytes) throw new Error(`the answer is longer than ${maxBytes} bytes`);
  }
  return text + decoder.decode();
}
