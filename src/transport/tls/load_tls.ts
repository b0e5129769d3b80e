/**
 * The way to TLS for whoever may do without it: only those who ask for a certificate load the cryptography, which costs
 * some 30 ms.
 */

import type { TlsFileNames, TlsFiles } from "./tls_files.ts";
import type { TlsLayer } from "./tls_layer.ts";

/**
 * Reads a certificate with its key, for the `tls` of a server that listens on `wss:`. Its `reload()` reads the files again,
 * for connections that come later.
 *
 * Rejects, with what is wrong with which file, when no connection could be served with them. `names`: what messages call
 * the two files.
 */
export async function loadTls(files: TlsFiles, names?: TlsFileNames): Promise<TlsLayer> {
  const { TlsLayer } = await import("./tls_layer.ts");
  return await TlsLayer.load(files, names);
}
