/** `http/request`: wire parameters to the connection's requests, and their answers back. Loaded with the first one. */

import type { Clock } from "../../clock.ts";
import { HttpRequests } from "../../http/http_requests.ts";
import type { BodyDelta } from "../../http/body_streams.ts";
import type { HttpRequestParams } from "../../protocol/http.ts";
import { contentResult, type EncodedResult, escapeToAscii, type StreamedResult } from "../../rpc/envelope.ts";
import type { AsciiParts } from "../../rpc/link.ts";
import type { CallContext, Owned } from "../connection.ts";
import type { SessionState } from "../session_state.ts";

type Context = CallContext<SessionState>;

/** The requests of one connection. They end with its signal. */
class ConnectionRequests implements Owned {
  readonly requests: HttpRequests;

  constructor({ outlet, signal, resources }: Context, clock: Clock) {
    this.requests = new HttpRequests({
      env: resources.settings.serverEnv,
      signal,
      clock,
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
  close(): void {}
}

const CONNECTION_REQUESTS = Symbol("connection requests");

export function createHttpRequest(clock: Clock) {
  return async (params: HttpRequestParams, context: Context): Promise<EncodedResult | StreamedResult> => {
    const { requests } = context.owned(CONNECTION_REQUESTS, () => new ConnectionRequests(context, clock));
    const { status, headers, body, startStream } = await requests.request(params);
    context.afterReply(startStream);
    const head = escapeToAscii(JSON.stringify(headers.map(({ name, value }) => ({ name, value }))));
    return contentResult(`{"status":${status},"headers":${head},"bodyBase64":"`, body, '"}');
  };
}

function encodeDelta({ requestId, seq, bytes, done, error }: BodyDelta): AsciiParts {
  const id = escapeToAscii(JSON.stringify(requestId));
  const end = escapeToAscii(JSON.stringify({ done, error }).slice(1, -1));
  const head = `{"method":"http/request/bodyDelta","params":{"requestId":${id},"seq":${seq},"deltaBase64":"`;
  return [head, bytes.toBase64(), `",${end}}}`];
}
