/**
 * What the server sends, as values. Nearly all of it is output of processes and content of files. If these look as this
 * server writes them, they are taken out of the text without a JSON parser. Everything else goes through `JSON.parse`.
 */

import { isObject } from "../../json_object.ts";
import { ProtocolError } from "../errors.ts";

/** Output of a process, still encoded. */
export interface OutputMessage {
  readonly type: "output";
  readonly processId: string;
  readonly seq: number;
  readonly stream: "stdout" | "stderr" | "pty";
  /** Base64. */
  readonly chunk: string;
}

/** One message of the server. */
export type Inbound =
  | OutputMessage
  | { readonly type: "notification"; readonly method: string; readonly params: Record<string, unknown> }
  | { readonly type: "result"; readonly id: number; readonly result: unknown }
  | { readonly type: "error"; readonly id: number; readonly code: number; readonly message: string }
  /** An answer that cannot be read, and to which request. */
  | { readonly type: "malformed"; readonly id: number; readonly reason: string }
  /** A request by the server. This client does not answer those. */
  | { readonly type: "request" };

const OUTPUT_HEAD = '{"method":"process/output","params":{"processId":"';
const SEQ = '","seq":';
const STREAM = ',"stream":"';
const CHUNK = '","chunk":"';
const END = '"}}';
/** An answer that begins with content: that of `fs/readBlock` or `fs/readFile`. */
const CONTENT_HEAD = /^\{"id":\d+,"result":\{"(chunk|dataBase64)":"/;
/**
 * For shorter content the parser is as fast. For longer content it takes four times as long as everything else that is
 * done with it.
 */
const MIN_CONTENT_CHARS = 4096;

/**
 * Reads one message.
 *
 * @throws {ProtocolError} when it is not a message
 */
export function readInbound(text: string): Inbound {
  if (text.startsWith(OUTPUT_HEAD)) return readOutput(text) ?? readAny(text);
  return (text.length >= MIN_CONTENT_CHARS ? readContent(text) : null) ?? readAny(text);
}

/** Parses the message without its content, which is put in afterwards. Null: the parser has to read all of it. */
function readContent(text: string): Inbound | null {
  const head = CONTENT_HEAD.exec(text);
  if (head === null) return null;
  const [{ length: start }, name] = head;
  const end = text.indexOf('"', start);
  // It may hold an escape, even one of a quote.
  if (end === -1 || text.includes("\\")) return null;
  const message = readAny(text.slice(0, start) + text.slice(end));
  if (message.type === "result" && isObject(message.result)) message.result[name!] = text.slice(start, end);
  return message;
}

/** Null: not written as this server writes it, so the parser has to read it. */
function readOutput(text: string): OutputMessage | null {
  const idStart = OUTPUT_HEAD.length;
  const idEnd = text.indexOf('"', idStart);
  const seqStart = idEnd + SEQ.length;
  if (idEnd === -1 || !text.startsWith(SEQ, idEnd)) return null;
  const seqEnd = text.indexOf(",", seqStart);
  const streamStart = seqEnd + STREAM.length;
  if (seqEnd === -1 || !text.startsWith(STREAM, seqEnd)) return null;
  const streamEnd = text.indexOf('"', streamStart);
  const chunkStart = streamEnd + CHUNK.length;
  const chunkEnd = text.length - END.length;
  if (streamEnd === -1 || !text.startsWith(CHUNK, streamEnd) || !text.startsWith(END, chunkEnd)) return null;
  const processId = text.slice(idStart, idEnd);
  const seq = Number(text.slice(seqStart, seqEnd));
  const stream = text.slice(streamStart, streamEnd);
  if (processId.includes("\\") || !Number.isSafeInteger(seq) || !isStream(stream)) return null;
  return { type: "output", processId, seq, stream, chunk: text.slice(chunkStart, chunkEnd) };
}

function isStream(word: unknown): word is OutputMessage["stream"] {
  return word === "stdout" || word === "stderr" || word === "pty";
}

function readAny(text: string): Inbound {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ProtocolError("cannot read a message of the server: not JSON", { cause: error });
  }
  if (!isObject(value)) throw new ProtocolError("cannot read a message of the server: not an object");
  const { id, method, params, result, error } = value;
  if (typeof method === "string") {
    if (id !== undefined) return { type: "request" };
    const given = isObject(params) ? params : {};
    return method === "process/output" ? outputOf(given) : { type: "notification", method, params: given };
  }
  if (typeof id !== "number") throw new ProtocolError("cannot read a message of the server: neither method nor id");
  if (isObject(error) && typeof error.code === "number" && typeof error.message === "string") {
    return { type: "error", id, code: error.code, message: error.message };
  }
  if ("result" in value) return { type: "result", id, result };
  const reason = "error" in value ? "an error without code and message" : "neither a result nor an error";
  return { type: "malformed", id, reason };
}

function outputOf({ processId, seq, stream, chunk }: Record<string, unknown>): OutputMessage {
  if (
    typeof processId !== "string" || typeof chunk !== "string" || !Number.isSafeInteger(seq) || !isStream(stream)
  ) {
    throw new ProtocolError("cannot read a message of the server: process/output without its members");
  }
  return { type: "output", processId, seq: seq as number, stream, chunk };
}
