/** Connections to web servers: directly or through the environment's proxy, with TLS if the URL asks for it. */

import { internalError } from "../errors.ts";
import { ByteReader } from "./byte_reader.ts";
import { authorityOf, encodeHead, type HttpHeader, portOf, type TargetForm } from "./outgoing_request.ts";
import { type Proxy, proxyFor } from "./proxy.ts";
import { HttpProtocolError, parseResponseHead } from "./response_head.ts";
import { Socket } from "./socket.ts";

export interface Dialed {
  readonly socket: Socket;
  /** How a request on this connection names its target. */
  readonly form: TargetForm;
  /** Additional headers for requests on this connection. */
  readonly headers: readonly HttpHeader[];
}

/** More certificates to trust, as a file in PEM format: the reference's variable first. */
const CERTIFICATE_VARIABLES = ["CODEX_CA_CERTIFICATE", "SSL_CERT_FILE"];

export class Dialer {
  readonly #env: Readonly<Record<string, string>>;
  /** What fails when dialing does, for messages. */
  readonly #purpose: string;
  #caCerts: Promise<string[]> | null = null;

  constructor(env: Readonly<Record<string, string>>, purpose = "http/request") {
    this.#env = env;
    this.#purpose = purpose;
  }

  /** The connection ends with the signal. */
  async dial(url: URL, signal: AbortSignal): Promise<Dialed> {
    const proxy = proxyFor(url, this.#env, this.#purpose);
    const socket = await Socket.connect(proxy ?? { hostname: url.hostname, port: portOf(url) }, signal);
    try {
      if (proxy?.isTls) await socket.startTls(proxy.hostname, await this.#certificates());
      const authorization = proxyAuthorization(proxy);
      if (url.protocol === "http:") {
        return { socket, form: proxy === null ? "origin" : "absolute", headers: authorization };
      }
      if (proxy !== null) await openTunnel(socket, url, authorization);
      await socket.startTls(url.hostname, await this.#certificates());
      return { socket, form: "origin", headers: [] };
    } catch (error) {
      socket.close();
      throw error;
    }
  }

  /**
   * A connection to the server of the URL, for anything that is not a request to a proxy: a proxy is asked for a
   * tunnel.
   */
  async dialThrough(url: URL, signal: AbortSignal): Promise<Socket> {
    const proxy = proxyFor(url, this.#env, this.#purpose);
    if (proxy === null || url.protocol === "https:") return (await this.dial(url, signal)).socket;
    const socket = await Socket.connect(proxy, signal);
    try {
      if (proxy.isTls) await socket.startTls(proxy.hostname, await this.#certificates());
      await openTunnel(socket, url, proxyAuthorization(proxy));
      return socket;
    } catch (error) {
      socket.close();
      throw error;
    }
  }

  /** Besides the built-in ones. Read when first needed; tried again after a failure. */
  #certificates(): Promise<string[]> {
    this.#caCerts ??= this.#readCertificates().catch((error) => {
      this.#caCerts = null;
      throw error;
    });
    return this.#caCerts;
  }

  async #readCertificates(): Promise<string[]> {
    const path = CERTIFICATE_VARIABLES.map((name) => this.#env[name]).find((value) =>
      value !== undefined && value !== ""
    );
    if (path === undefined) return [];
    try {
      return [await Deno.readTextFile(path)];
    } catch (error) {
      throw internalError(`${this.#purpose} failed: cannot read the certificates in ${path}`, error);
    }
  }
}

function proxyAuthorization(proxy: Proxy | null): HttpHeader[] {
  const value = proxy?.authorization ?? null;
  return value === null ? [] : [{ name: "proxy-authorization", value }];
}

async function openTunnel(socket: Socket, url: URL, authorization: readonly HttpHeader[]): Promise<void> {
  const host = { name: "host", value: authorityOf(url) };
  await socket.write(encodeHead({ method: "CONNECT", url, headers: [host], body: null }, "origin", authorization));
  // Nothing can follow the answer yet: the other side waits for us.
  const head = await new ByteReader((into) => socket.read(into)).readHead();
  if (head === null) throw new HttpProtocolError("the proxy closed the connection");
  const { status } = parseResponseHead(head);
  if (status < 200 || status > 299) throw new HttpProtocolError(`the proxy refused the tunnel with status ${status}`);
}
