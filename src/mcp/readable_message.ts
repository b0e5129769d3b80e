/**
 * Repairs what comes from a client before the protocol library reads it. The library drops an answer that is no
 * well-formed JSON-RPC, so that whoever has asked would wait for ever. Here such an answer becomes an error for the
 * same id.
 *
 * An answer that is well-formed except for members that are null, as some JSON libraries write what is absent, is
 * passed on without them. So is one whose content has another shape than asked for: questions have no fields, so
 * content means nothing but how long an answer holds. The same is done to answers that come with a request (2026 era).
 */

import { isJSONRPCResponse, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { isAbsent, isObject } from "../json_object.ts";

/** The error that an answer becomes which cannot be read. */
export const UNREADABLE = { code: ProtocolErrorCode.ParseError, message: "the client's answer cannot be read" };

/** The JSON text of a message, or of several, for the protocol library; the same text if there is nothing to repair. */
export function readableText(text: string): string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return text; // The library refuses it in its own words.
  }
  if (!Array.isArray(parsed)) {
    const readable = readableMessage(parsed);
    return readable === parsed ? text : JSON.stringify(readable);
  }
  const all = parsed.map(readableMessage);
  return all.every((readable, index) => readable === parsed[index]) ? text : JSON.stringify(all);
}

/** One message; the same object if there is nothing to repair. */
function readableMessage(message: unknown): unknown {
  if (!isObject(message)) return message;
  if (isAbsent(message["method"])) return readableResponse(message);
  const { params } = message;
  if (!isObject(params) || !isObject(params["inputResponses"])) return message;
  const answers = Object.entries(params["inputResponses"]).map(([id, answer]) => [id, readableAnswer(answer)]);
  return { ...message, params: { ...params, inputResponses: Object.fromEntries(answers) } };
}

function readableResponse(message: Record<string, unknown>): unknown {
  const { id } = message;
  if (typeof id !== "string" && !Number.isInteger(id)) return message;
  const members = Object.fromEntries(Object.entries(message).filter(([, value]) => !isAbsent(value)));
  const response = "result" in members ? { ...members, result: readableAnswer(members["result"]) } : members;
  return isJSONRPCResponse(response) ? response : { jsonrpc: "2.0", id, error: UNREADABLE };
}

/** What has no action answers no question, and stays as it is. */
function readableAnswer(answer: unknown): unknown {
  if (!isObject(answer) || typeof answer["action"] !== "string") return answer;
  const { _meta, content, ...rest } = answer;
  const persist = isObject(content) ? content["persist"] : undefined;
  return {
    ...rest,
    ...(isAbsent(_meta) ? {} : { _meta }),
    ...(isAbsent(content) ? {} : { content: typeof persist === "string" ? { persist } : {} }),
  };
}
