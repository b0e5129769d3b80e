/** `http/request`: wire parameters to the connection's requests, and their answers back. Loaded with the first one. */

import type { Clock } from "../../clock.ts";
import { HttpRequests } from "../../http/http_requests.ts";
import type { BodyDelta } from "../../http/body_streams.ts";
import type { HttpRequestParams } from "../../protocol/http.ts";
import { sourceOf } from "../../bytes.ts";
import { MAX_BUFFERED_BYTES_OF_ALL, MAX_BUFFERED_BYTES_PER_CONNECTION, SHORT_BODY_BYTES } from "../../http/limits.ts";
import { sharedPacer } from "../../os/loop/pacer.ts";
import { AnswerBudget, SharedAnswers } from "../../rpc/answer_budget.ts";
import { contentResult, type EncodedResult, escapeToAscii, StreamedResult } from "../../rpc/encoded_result.ts";
import type { AsciiParts } from "../../rpc/link.ts";
import type { CallContext, Owned } from "../call_context.ts";
import type { SessionState } from "../session_state.ts";

type Context = CallContext<SessionState>;

/** The requests of one connection. They end with its signal. */
class ConnectionRequests implements Owned {
  readonly requests: HttpRequests;
  readonly #bodies: AnswerBudget;

  constructor({ outlet, signal, resources }: Context, { clock, shared }: { clock: Clock; shared: SharedAnswers }) {
    this.#bodies = new AnswerBudget({ limit: MAX_BUFFERED_BYTES_PER_CONNECTION, floor: SHORT_BODY_BYTES, shared });
    this.requests = new HttpRequests({
      env: resources.settings.serverEnv,
      signal,
      clock,
      bodies: this.#bodies,
      turn: () => sharedPacer().turn(),
      sink: {
        delta: (delta) => outlet.output(encodeDelta(delta)),
        get hasRoom() {
          return outlet.hasRoom;
        },
      },
    });
  }

  outputHasRoom(): void {
    this.requests.resume();
  }

  /** The connection's signal has ended them already. */
  close(): void {
    this.#bodies.close();
  }
}

const NO_BYTES = new Uint8Array(0);

const CONNECTION_REQUESTS = Symbol("connection requests");

export function createHttpRequest(clock: Clock) {
  const shared = new SharedAnswers(MAX_BUFFERED_BYTES_OF_ALL);
  return async (params: HttpRequestParams, context: Context): Promise<EncodedResult | StreamedResult> => {
    const { requests } = context.owned(CONNECTION_REQUESTS, () => new ConnectionRequests(context, { clock, shared }));
    const makeRoom = (answerBytes: number) => context.promise(answerBytes);
    const { status, headers, body, startStream } = await requests.request(params, makeRoom);
    context.afterReply(startStream);
    const head = escapeToAscii(JSON.stringify(headers.map(({ name, value }) => ({ name, value }))));
    const before = `{"status":${status},"headers":${head},"bodyBase64":"`;
    const [only = NO_BYTES] = body;
    return body.length <= 1 ? contentResult(before, only, '"}') : new StreamedResult(before, sourceOf(body), '"}');
  };
}

function encodeDelta({ requestId, seq, bytes, done, error }: BodyDelta): AsciiParts {
  const id = escapeToAscii(JSON.stringify(requestId));
  const end = escapeToAscii(JSON.stringify({ done, error }).slice(1, -1));
  const head = `{"method":"http/request/bodyDelta","params":{"requestId":${id},"seq":${seq},"deltaBase64":"`;
  return [head, bytes.toBase64(), `",${end}}}`];
}
