/**
 * TLS for a listener: a certificate with its key, read from files at the start and again when told to.
 *
 * New connections use what was read last; open ones keep what they have. If the files cannot be used, nothing changes.
 * Loaded only by `--listen wss:`.
 */

import { X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";
import { httpResponse, serializeResponse } from "../door/http_response.ts";
import type { SecureLayer } from "./secure_layer.ts";
import type { AcceptedStream } from "../listen/stream_source.ts";
import { readCertificate, type TlsFileNames, type TlsFiles } from "./tls_files.ts";
import { TlsStream } from "./tls_stream.ts";
import { tryHandshake } from "./tls_trial.ts";

/** The first byte of every TLS connection: a record that carries the handshake. */
const HANDSHAKE_RECORD = 0x16;
/** Enough for the whole greeting of most clients. */
const FIRST_READ_BYTES = 4096;

/** The answer to a peer that speaks plain HTTP. */
const PLAIN_HTTP_REFUSAL = "this port speaks TLS: connect with wss://";

export class TlsLayer implements SecureLayer {
  readonly #read: () => Promise<Loaded>;
  /** One reload after another: the last one wins. */
  #reloading: Promise<void> = Promise.resolve();
  #secureContext: SecureContext;
  #certificate: X509Certificate;

  private constructor(read: () => Promise<Loaded>, loaded: Loaded) {
    this.#read = read;
    this.#secureContext = loaded.secureContext;
    this.#certificate = loaded.certificate;
  }

  /** Rejects if no connection could be served with the files, and says what is wrong with which file. */
  static async load(files: TlsFiles, names?: TlsFileNames): Promise<TlsLayer> {
    const read = () => load(files, names);
    return new TlsLayer(read, await read());
  }

  /**
   * Reads the files again, for connections that come later; those that are open keep what they have. Rejects, and leaves
   * everything as it was, when the files cannot be used.
   */
  reload(): Promise<void> {
    const reloading = this.#reloading.then(() => this.#reload());
    this.#reloading = reloading.catch(() => {
      // Its caller hears of it; the next one reads anew.
    });
    return reloading;
  }

  async #reload(): Promise<void> {
    const { secureContext, certificate } = await this.#read();
    this.#secureContext = secureContext;
    this.#certificate = certificate;
  }

  /** What new connections are served with. */
  get certificate(): X509Certificate {
    return this.#certificate;
  }

  async open(stream: AcceptedStream): Promise<AcceptedStream> {
    const buffer = new Uint8Array(FIRST_READ_BYTES);
    // Cryptography costs memory and time, so it begins only when the peer has sent something that looks like TLS.
    const count = await stream.read(buffer);
    if (count === null) throw new Error("the peer closed the connection before it sent anything");
    const firstBytes = buffer.subarray(0, count);
    if (firstBytes[0] !== HANDSHAKE_RECORD) throw await this.#refusePlain(stream, firstBytes);
    return await TlsStream.accept(stream, { secureContext: this.#secureContext, firstBytes });
  }

  /** A person with a wrong URL gets an answer that says so. Other peers get no answer. */
  async #refusePlain(stream: AcceptedStream, firstBytes: Uint8Array): Promise<Error> {
    if (!/^[A-Z]+ /.test(String.fromCharCode(...firstBytes.subarray(0, 16)))) {
      return new Error("the peer does not speak TLS");
    }
    const answer = serializeResponse(httpResponse(400, PLAIN_HTTP_REFUSAL));
    for (let at = 0; at < answer.length;) at += await stream.write(answer.subarray(at));
    await stream.closeWrite();
    const scratch = new Uint8Array(FIRST_READ_BYTES);
    while (await stream.read(scratch) !== null) { /* dropped */ }
    return new Error("the peer speaks plain HTTP");
  }
}

interface Loaded {
  readonly secureContext: SecureContext;
  readonly certificate: X509Certificate;
}

/** Before this version the runtime's `node:tls` could only serve its own connections. */
const MIN_RUNTIME = { major: 2, minor: 7 };

function refuseOldRuntime(): void {
  const [major = 0, minor = 0] = Deno.version.deno.split(".").map(Number);
  if (major > MIN_RUNTIME.major || (major === MIN_RUNTIME.major && minor >= MIN_RUNTIME.minor)) return;
  const { deno } = Deno.version;
  throw new Error(`TLS needs Deno ${MIN_RUNTIME.major}.${MIN_RUNTIME.minor} or newer, and this program has ${deno}`);
}

async function load(files: TlsFiles, names?: TlsFileNames): Promise<Loaded> {
  refuseOldRuntime();
  const { cert, key, certificate } = await readCertificate(files, names);
  const secureContext = createSecureContext({ cert, key, minVersion: "TLSv1.2" });
  // Only a handshake shows whether they can be used, so we do one with ourselves.
  await tryHandshake(secureContext);
  return { secureContext, certificate };
}
