/**
 * `rpc.discover`: the protocol's description, made when somebody first asks for it and kept as text.
 *
 * It has some hundred kilobytes, so their place among the answers is taken before it is sent, although the request itself
 * passes all others.
 */

import { specDocument } from "../../protocol/spec.ts";
import { EncodedResult, escapeToAscii } from "../../rpc/encoded_result.ts";
import type { CallContext } from "../call_context.ts";

export async function createRpcDiscover() {
  const text = escapeToAscii(JSON.stringify(await specDocument()));
  return async (_params: unknown, context: Pick<CallContext<unknown>, "promise">): Promise<EncodedResult> => {
    await context.promise(text.length);
    return new EncodedResult("", text, "");
  };
}
