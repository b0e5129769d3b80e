/**
 * Reads the TLS files and checks them before they are used. Messages name both files and their paths, never contents.
 */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { messageOf } from "../../errors.ts";
import { printable } from "../../printable.ts";

export interface TlsFiles {
  /** PEM: the server's certificate first, then the intermediate ones. */
  readonly certFile: string;
  /** PEM, without a passphrase. */
  readonly keyFile: string;
}

/** What messages call the two files. */
export interface TlsFileNames {
  readonly cert: string;
  readonly key: string;
}

/** Those of the members above. A program has names of its own for them, such as flags. */
const MEMBERS: TlsFileNames = { cert: "certFile", key: "keyFile" };

export interface CertificateAndKey {
  readonly cert: string;
  readonly key: string;
  /** The server's own user. */
  readonly certificate: X509Certificate;
}

/** More than any chain of certificates has. A larger file is not one. */
const MAX_FILE_BYTES = 1024 * 1024;

const GROUP_READ = 0o040;
const GROUP_OTHER_RIGHTS = 0o030;
const RIGHTS_OF_OTHERS = 0o007;

export async function readCertificate(
  { certFile, keyFile }: TlsFiles,
  names: TlsFileNames = MEMBERS,
): Promise<CertificateAndKey> {
  const { text: cert } = await readFile(names.cert, certFile);
  const { text: key, info } = await readFile(names.key, keyFile);
  const complaint = complainOfRights(info, Deno.uid());
  if (complaint !== null) throw new Error(`${names.key} ${JSON.stringify(keyFile)} ${complaint}`);
  const certificate = parse(names.cert, certFile, "certificate", () => new X509Certificate(cert));
  const privateKey = parse(names.key, keyFile, "private key without a passphrase", () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Error(
      `${names.key} ${JSON.stringify(keyFile)} is not the key of ${names.cert} ${JSON.stringify(certFile)}`,
    );
  }
  return { cert, key, certificate };
}

/**
 * Why a key file with these rights is not accepted, or null. Only its owner may read it. A file of root may also be
 * readable by its group if the server is not root: distributions give keys to services in this way.
 */
export function complainOfRights(info: Pick<Deno.FileInfo, "mode" | "uid">, ownUid: number | null): string | null {
  const { mode, uid } = info;
  if (mode === null || uid === null) return null; // The system has no such rights.
  const advice = "set its mode to 600, and its owner to the server's user or root";
  if (uid !== ownUid && uid !== 0) return `belongs to another user (uid ${uid}): ${advice}`;
  const isOthersBusiness = (mode & (RIGHTS_OF_OTHERS | GROUP_OTHER_RIGHTS)) !== 0 ||
    ((mode & GROUP_READ) !== 0 && (uid !== 0 || ownUid === 0));
  if (!isOthersBusiness) return null;
  return `is open to others (mode ${(mode & 0o777).toString(8).padStart(3, "0")}): ${advice}`;
}

/** Text and rights of one file, even if another file gets its name meanwhile. */
async function readFile(name: string, path: string): Promise<{ text: string; info: Deno.FileInfo }> {
  try {
    using file = await Deno.open(path);
    const info = await file.stat();
    if (!info.isFile) throw new Error("not a regular file");
    if (info.size > MAX_FILE_BYTES) throw new Error(`larger than ${MAX_FILE_BYTES} bytes`);
    const bytes = new Uint8Array(info.size);
    let end = 0;
    while (end < bytes.length) {
      const count = await file.read(bytes.subarray(end));
      if (count === null) break;
      end += count;
    }
    return { text: new TextDecoder().decode(bytes.subarray(0, end)), info };
  } catch (error) {
    throw new Error(printable(`cannot read ${name} ${JSON.stringify(path)}: ${messageOf(error)}`));
  }
}

function parse<T>(name: string, path: string, what: string, make: () => T): T {
  try {
    return make();
  } catch {
    // The parser's message describes its internals, and could quote the file.
    throw new Error(`${name} ${JSON.stringify(path)} does not hold a ${what} in PEM`);
  }
}
