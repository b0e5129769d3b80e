/** The parts of a `network_rule`: its protocol and its host, in the one form that can be compared. */

import { Failure } from "../language/failure.ts";
import type { NetworkProtocol } from "./rule.ts";

const PROTOCOLS: ReadonlyMap<string, NetworkProtocol> = new Map([
  ["http", "http"],
  ["https", "https"],
  ["https_connect", "https"],
  ["http-connect", "https"],
  ["socks5_tcp", "socks5_tcp"],
  ["socks5_udp", "socks5_udp"],
]);

const PORT = /^:[0-9]+$/;

export function parseProtocol(text: string): NetworkProtocol {
  const protocol = PROTOCOLS.get(text);
  if (protocol !== undefined) return protocol;
  throw invalid(`protocol must be one of http, https, socks5_tcp, socks5_udp (got ${text})`);
}

/** A host name or address: lower case, without port, brackets and dots at the end. */
export function normalHost(raw: string): string {
  const trimmed = raw.trim();
  if (trimmed === "") throw invalid("host cannot be empty");
  if (/[/?#]/.test(trimmed)) throw invalid("host must be a hostname or IP literal (without scheme or path)");
  const host = withoutPort(trimmed, raw)
    .replace(/\.+$/, "").trim()
    .replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  if (host === "") throw invalid("host cannot be empty");
  if (host.includes("*")) throw invalid("host must be a specific host; wildcards are not allowed");
  if (/\s/.test(host)) throw invalid("host cannot contain whitespace");
  return host;
}

function withoutPort(host: string, raw: string): string {
  if (host.startsWith("[")) {
    const end = host.indexOf("]");
    if (end < 0) throw invalid("host has an invalid bracketed IPv6 literal");
    const rest = host.slice(end + 1);
    if (rest !== "" && !PORT.test(rest)) throw invalid(`host contains an unsupported suffix: ${raw}`);
    return host.slice(1, end);
  }
  const colon = host.indexOf(":");
  // Two colons are an address of version 6, which has no port without brackets.
  const hasPort = colon > 0 && host.lastIndexOf(":") === colon && PORT.test(host.slice(colon));
  return hasPort ? host.slice(0, colon) : host;
}

function invalid(what: string): Failure {
  return new Failure(`invalid rule: network_rule ${what}`);
}
