/**
 * The registry's base URL and the paths below it, joined as the reference joins them: as text. Also says whether a
 * token may be sent there: without TLS only within this machine, unless the operator accepts the risk.
 */

import { isLoopbackAddress } from "../../transport/listen/ip_address.ts";
import { configurationError, type RegistryKind } from "./registry_error.ts";

export interface RegistryAddress {
  readonly kind: RegistryKind;
  /** Without a slash at its end. */
  readonly base: string;
  readonly id: string;
}

/** Trims and checks what the operator gave. @throws {RegistryError} in the reference's words */
export function registryAddress(
  given: { readonly kind: RegistryKind; readonly url: string; readonly id: string },
  { isInsecureAccepted }: { isInsecureAccepted: boolean },
): RegistryAddress {
  const { kind } = given;
  const base = given.url.trim().replace(/\/+$/, "");
  if (base === "") throw configurationError(kind, `${kind} registry base URL is required`);
  const id = given.id.trim();
  if (id === "") throw configurationError(kind, `${kind} id is required for remote exec-server registration`);
  const url = URL.parse(`${base}/`);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw configurationError(kind, `${kind} registry base URL is not an http:// or https:// URL`);
  }
  if (url.protocol === "http:" && !isInsecureAccepted && !isThisMachine(url.hostname)) {
    throw configurationError(
      kind,
      `${kind} registry base URL must be https:// beyond this machine, or the token could be read on the way`,
    );
  }
  return { kind, base, id };
}

/** The URL of a verb. */
export function registryCall({ kind, base, id }: RegistryAddress, verb: "register" | "connect" | "validate"): URL {
  return new URL(`${base}/cloud/${kind}/${id}/${verb}`);
}

/** Whether the connection to this host certainly stays within this machine. */
export function isThisMachine(hostname: string): boolean {
  const bare = hostname.replace(/^\[|\]$/g, "");
  return bare === "localhost" || isLoopbackAddress(bare);
}

/** The part of a URL that may be shown, if the URL is a credential. */
export function originOf(url: string): string {
  return URL.parse(url)?.host ?? "an unreadable URL";
}
