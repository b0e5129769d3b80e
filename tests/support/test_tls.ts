/** TLS for tests: the certificate of `tests/fixtures/tls`, its key where only we can read it, and clients that trust it. */

import type { TlsFiles } from "../../src/transport/tls/tls_files.ts";
import type { TlsLayer } from "../../src/transport/tls/tls_layer.ts";
import { runCli } from "./test_server.ts";

const FIXTURES = new URL("../fixtures/tls/", import.meta.url);

const TEST_CERT_FILE = new URL("server.pem", FIXTURES).pathname;
/** Whoever trusts this trusts the test certificate. */
export const TEST_CA_FILE = new URL("ca.pem", FIXTURES).pathname;
const TEST_KEY_FILE = new URL("server.key", FIXTURES).pathname;

/** A copy of the key in a directory: a checkout may be readable by everybody, which a server refuses. */
function privateKeyIn(directory: string): string {
  const path = `${directory}/server.key`;
  Deno.writeTextFileSync(path, Deno.readTextFileSync(TEST_KEY_FILE), { mode: 0o600 });
  Deno.chmodSync(path, 0o600);
  return path;
}

/** The flags of a server with TLS, whose key is a copy in the directory. */
export function tlsFlags(directory: string): string[] {
  return ["--tls-cert", TEST_CERT_FILE, "--tls-key", privateKeyIn(directory)];
}

/** Copies of certificate and key in a directory, to be named to a server and changed. */
export function layTestTls(directory: string): TlsFiles {
  const certFile = `${directory}/server.pem`;
  Deno.writeTextFileSync(certFile, Deno.readTextFileSync(TEST_CERT_FILE));
  return { certFile, keyFile: privateKeyIn(directory) };
}

let loaded: Promise<TlsLayer> | undefined;

/** The layer itself, with the test certificate. */
export function loadTestTls(): Promise<TlsLayer> {
  return loaded ??= (async () => {
    const directory = await Deno.makeTempDir();
    try {
      const { loadTls } = await import("../../src/transport/tls/load_tls.ts");
      return await loadTls({ certFile: TEST_CERT_FILE, keyFile: privateKeyIn(directory) });
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  })();
}

/** A connection to a port of this machine whose handshake is complete. */
export async function connectTls(port: number, caFile: string = TEST_CA_FILE): Promise<Deno.TlsConn> {
  const conn = await Deno.connectTls({ hostname: "127.0.0.1", port, caCerts: [await Deno.readTextFile(caFile)] });
  try {
    await conn.handshake();
    return conn;
  } catch (error) {
    conn.close();
    throw error;
  }
}

/** Why the server under test cannot serve TLS, or null: a binary may have been compiled with an old runtime. */
export async function missingTls(): Promise<string | null> {
  if (!Deno.env.get("EXEC_SERVER_BINARY")) return null;
  const nowhere = ["--tls-cert", "/nonexistent", "--tls-key", "/nonexistent"];
  const { stderr } = await runCli(["--listen", "wss://127.0.0.1:0", ...nowhere]);
  return /TLS needs Deno .*/.exec(stderr)?.[0] ?? null;
}
