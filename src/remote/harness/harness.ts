/**
 * The client's side of the noise form: asks the registry for an executor, checks its key against the one it knows, and
 * opens a sealed channel to it through the rendezvous. Only web-standard API, so that it runs in any runtime.
 */

import type { Bytes } from "../../bytes.ts";
import { messageOf } from "../../errors.ts";
import { Initiator } from "../noise/handshake.ts";
import {
  encodePublicKey,
  fingerprint,
  generateKeyPair,
  type KeyPair,
  parsePublicKey,
  type PublicKey,
} from "../noise/keys.ts";
import { NoiseLink } from "../noise/noise_link.ts";
import { SECURITY_PROFILE } from "../noise/suite.ts";
import { RelayFrameEncoder } from "../relay/relay_frame.ts";
import { type RawSocket, RelaySocket } from "../relay/relay_socket.ts";
import { ExecutorKeyChanged, pinName, type PinStore } from "./pins.ts";
import { openSocket, type SocketLike, type SocketOptions } from "./web_socket.ts";

export interface HarnessOptions {
  /** The registry's base URL: `https://HOST`. */
  readonly rendezvous: string;
  readonly executor: string;
  /** The token of a client. */
  readonly token: string;
  readonly pins: PinStore;
  /** The client's own key. Without it each connection makes a new one. */
  readonly identity?: KeyPair;
  readonly signal?: AbortSignal | undefined;
  /** In place of the runtime's own, for proxies and certificates. */
  readonly network?: HarnessNetwork | undefined;
  /** In place of the runtime's own. Not used together with `network`. */
  readonly WebSocket?: (new (url: string) => SocketLike) | undefined;
}

/** How the rendezvous is reached. */
export interface HarnessNetwork {
  /** Sends JSON and returns the answer, whatever its status. Does not follow redirects. */
  post(url: URL, body: unknown, options: PostOptions): Promise<{ readonly status: number; readonly text: string }>;
  /** Opens a websocket. The URL is a credential: no message may contain it. */
  open(url: string, options: Omit<SocketOptions, "WebSocket">): Promise<RawSocket>;
}

export interface PostOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** The executor cannot be reached this way. */
export class RendezvousError extends Error {
  override readonly name = "RendezvousError";
  /** The status of the registry's answer, if it refused. */
  readonly status: number | null;

  constructor(executor: string, why: string, status: number | null = null) {
    super(`cannot connect to executor ${executor}: ${why}`);
    this.status = status;
  }
}

/** What the registry says of an executor. */
interface Introduction {
  readonly url: string;
  readonly registrationId: string;
  readonly executorKey: PublicKey;
  readonly authorization: string;
}

/** For each of the call, the websocket and the handshake; the reference's. */
const TIMEOUT_MS = 10_000;

/** Far more than any answer of a registry has: two keys, a URL and an authorization. */
const MAX_ANSWER_CHARS = 64 * 1024;

/**
 * The longest message that a server may send: a file is one message, however large. The longest text of the runtime.
 */
const MAX_MESSAGE_BYTES = 512 * 1024 * 1024;

/** How much may wait for the client to handle it. Nothing waits unless the program blocks. */
const MAX_QUEUED_BYTES = MAX_MESSAGE_BYTES;

/**
 * Opens a link. Rejects with `RendezvousError` if the executor cannot be reached, and with `ExecutorKeyChanged` if its
 * key is not the one that is known.
 */
export async function openRendezvousLink(options: HarnessOptions): Promise<NoiseLink> {
  const identity = options.identity ?? generateKeyPair();
  const introduction = await introduce(options, identity.publicKey);
  const { executorKey } = introduction;
  const name = pinName(options.rendezvous, options.executor);
  const [known, found] = [await options.pins.get(name), fingerprint(executorKey)];
  if (known !== null && known !== found) throw new ExecutorKeyChanged(options.executor, known, found);
  const link = await shakeHands(options, identity, introduction);
  if (known === null) await options.pins.set(name, found);
  return link;
}

async function introduce(
  { rendezvous, executor, token, signal, ...options }: HarnessOptions,
  key: PublicKey,
): Promise<Introduction> {
  const failed = (why: string, status: number | null = null) => new RendezvousError(executor, why, status);
  const base = rendezvous.trim().replace(/\/+$/, "");
  const { post } = networkOf(options);
  const url = new URL(`${base}/cloud/environment/${encodeURIComponent(executor)}/connect`);
  const { status, text } = await post(url, { harness_public_key: encodePublicKey(key) }, {
    headers: { authorization: `Bearer ${token}` },
    timeoutMs: TIMEOUT_MS,
    signal,
  }).catch((error) => {
    signal?.throwIfAborted();
    throw failed(messageOf(error));
  });
  if (status < 200 || status > 299) throw failed(`the rendezvous answered ${status}${reasonIn(text)}`, status);
  return introductionIn(text, executor, failed);
}

/** The network of the runtime itself. */
function networkOf({ network, WebSocket }: Pick<HarnessOptions, "network" | "WebSocket">): HarnessNetwork {
  return network ?? {
    async post(url, body, { headers, timeoutMs, signal }) {
      const limit = AbortSignal.timeout(timeoutMs);
      const response = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
        redirect: "manual",
        signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      });
      return { status: response.status, text: await readShort(response) };
    },
    open: (url, options) => openSocket(url, { ...options, WebSocket }),
  };
}

/** The text of an answer. An answer that is too long is refused. */
async function readShort({ body }: Response): Promise<string> {
  if (body === null) return "";
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += decoder.decode(part.value, { stream: true });
    if (text.length <= MAX_ANSWER_CHARS) continue;
    await reader.cancel();
    throw new Error(`the answer is longer than ${MAX_ANSWER_CHARS} characters`);
  }
  return text + decoder.decode();
}

function introductionIn(text: string, executor: string, failed: (why: string) => Error): Introduction {
  let answer: Record<string, unknown>;
  try {
    answer = JSON.parse(text);
  } catch {
    // The parser would quote the answer, which holds credentials.
    throw failed("the answer of the rendezvous is not JSON");
  }
  const member = (name: string): string => {
    const value = answer?.[name];
    if (typeof value !== "string" || value === "") throw failed(`the answer of the rendezvous has no ${name}`);
    return value;
  };
  if (member("environment_id") !== executor) throw failed("the rendezvous answered for another executor");
  if (member("security_profile") !== SECURITY_PROFILE) throw failed("the rendezvous offers another security profile");
  try {
    return {
      url: member("url"),
      registrationId: member("executor_registration_id"),
      executorKey: parsePublicKey(answer.executor_public_key),
      authorization: member("harness_key_authorization"),
    };
  } catch (error) {
    throw failed(messageOf(error));
  }
}

async function shakeHands(
  { executor, signal, ...options }: HarnessOptions,
  identity: KeyPair,
  { url, registrationId, executorKey, authorization }: Introduction,
): Promise<NoiseLink> {
  const streamId = crypto.randomUUID();
  const context = { environmentId: executor, executorRegistrationId: registrationId, streamId };
  const initiator = await Initiator.start({ identity, responder: executorKey, context, authorization });
  const socket = new RelaySocket(await networkOf(options).open(url, { timeoutMs: TIMEOUT_MS, signal }));
  const frames = new RelayFrameEncoder(streamId);
  const opened = Promise.withResolvers<NoiseLink>();
  // It may fail while the first frames are still being sent. Then the waiting caller gets the failure.
  opened.promise.catch(() => {});
  const fail = (why: string) => opened.reject(new RendezvousError(executor, why));
  let link: NoiseLink | null = null;
  let isAnswered = false;
  const finish = async (message: Bytes): Promise<void> => {
    const keys = await initiator.finish(message);
    const made = link = new NoiseLink({
      keys,
      frames,
      carrier: socket,
      onEnd: () => void made.flushed.then(() => socket.close()),
      maxMessageBytes: MAX_MESSAGE_BYTES,
      maxQueuedBytes: MAX_QUEUED_BYTES,
    });
    opened.resolve(made);
  };
  const running = socket.run((id, body) => {
    if (id !== streamId) return;
    if (body.type === "data") return link?.take(body);
    if (body.type === "reset") {
      fail(`it was refused (${body.reason})`);
      link?.end({ type: "peerClosed" });
    } else if (body.type === "handshake" && !isAnswered) {
      isAnswered = true;
      // Nothing more is read before this is handled.
      return finish(body.payload).catch(() => fail("the answer does not come from that executor"));
    }
  });
  running.then((end) => {
    fail("the rendezvous ended the connection");
    link?.end(end);
  }, (error) => fail(String(error)));
  const timer = setTimeout(() => fail(`no answer within ${TIMEOUT_MS} ms`), TIMEOUT_MS);
  const abort = () => opened.reject(signal!.reason);
  signal?.addEventListener("abort", abort);
  try {
    await socket.send([frames.resume(), frames.handshake(initiator.message)]);
    return await opened.promise;
  } catch (error) {
    socket.close();
    throw error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

/** The reason that the registry gives, if any. */
function reasonIn(text: string): string {
  try {
    const message = JSON.parse(text)?.error?.message;
    return typeof message === "string" ? `: ${message.slice(0, 500)}` : "";
  } catch {
    // A proxy's page, or nothing.
    return "";
  }
}
