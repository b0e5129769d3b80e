/** One POST of JSON, its answer read whole within a bound and a time. Redirects are not followed. */

import type { Clock } from "../../clock.ts";
import type { Dialer } from "../../http/dialer.ts";
import { exchange, type IncomingResponse } from "../../http/exchange.ts";

export interface PostOptions {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly dialer: Dialer;
  readonly clock: Clock;
  /** For all of it. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Far more than any answer of a registry has. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** The answer, whatever its status. Rejects when there is none. */
export async function postJson(body: unknown, options: PostOptions): Promise<{ status: number; text: string }> {
  const { url, dialer, clock, timeoutMs, signal } = options;
  const life = new AbortController();
  const giveUp = () => life.abort(signal.reason);
  signal.addEventListener("abort", giveUp);
  if (signal.aborted) giveUp();
  const cancel = clock.setTimer(timeoutMs, () => life.abort(new Error(`no answer within ${timeoutMs} ms`)));
  try {
    const headers = { "content-type": "application/json", ...options.headers };
    const request = {
      method: "POST",
      url,
      headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
      body: new TextEncoder().encode(JSON.stringify(body)),
    };
    const response = await exchange(request, dialer, life.signal);
    try {
      return { status: response.status, text: await readText(response) };
    } finally {
      response.close();
    }
  } catch (error) {
    // What was waiting was rejected because the socket is gone, and not because of what is wrong.
    throw life.signal.aborted ? life.signal.reason : error;
  } finally {
    cancel();
    signal.removeEventListener("abort", giveUp);
  }
}

async function readText({ body }: IncomingResponse): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for (let bytes = await body.read(); bytes !== null; bytes = await body.read()) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > MAX_ANSWER_BYTES) throw new Error(`the answer is longer than ${MAX_ANSWER_BYTES} bytes`);
  }
  return text + decoder.decode();
}
