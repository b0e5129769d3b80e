/**
 * Which proxy a request takes, by the usual variables: `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, the lower
 * case first. Pure: the environment is passed in.
 */

import { internalError } from "../errors.ts";
import { basicCredentials, portOf } from "./outgoing_request.ts";

export interface Proxy {
  readonly hostname: string;
  readonly port: number;
  readonly isTls: boolean;
  /** The value of `proxy-authorization`. */
  readonly authorization: string | null;
}

type Environment = Readonly<Record<string, string>>;

/** Null: directly. */
export function proxyFor(url: URL, env: Environment, purpose = "http/request"): Proxy | null {
  const setting = proxySetting(url.protocol, env);
  if (setting === "" || isExempt(url.hostname, variable(env, "no_proxy"))) return null;
  const proxy = URL.parse(setting.includes("://") ? setting : `http://${setting}`);
  if (proxy === null || (proxy.protocol !== "http:" && proxy.protocol !== "https:") || proxy.hostname === "") {
    // The setting may contain a password, so it is not repeated.
    throw internalError(`${purpose} failed: the proxy setting of the environment is not an http or https URL`);
  }
  return {
    hostname: proxy.hostname,
    port: portOf(proxy),
    isTls: proxy.protocol === "https:",
    authorization: basicCredentials(proxy),
  };
}

function proxySetting(protocol: string, env: Environment): string {
  const scheme = protocol === "https:" ? "https_proxy" : "http_proxy";
  // In a CGI program HTTP_PROXY is a header that a client sent; REQUEST_METHOD shows such a program.
  const own = scheme === "http_proxy" && env.REQUEST_METHOD !== undefined
    ? env.http_proxy ?? ""
    : variable(env, scheme);
  return own !== "" ? own : variable(env, "all_proxy");
}

function variable(env: Environment, name: string): string {
  return env[name]?.trim() || env[name.toUpperCase()]?.trim() || "";
}

/** Entries are `*`, a domain with everything below it, an address, or a range of addresses. */
function isExempt(hostname: string, list: string): boolean {
  const host = hostname.toLowerCase().replace(/^\[|\]$/g, "");
  const address = parseAddress(host);
  return list.split(",").map((entry) => entry.trim().toLowerCase()).some((entry) => {
    if (entry === "" || entry === "*") return entry === "*";
    if (address !== null) return isInRange(address, entry);
    const domain = entry.replace(/^\*?\./, "");
    return host === domain || host.endsWith(`.${domain}`);
  });
}

function isInRange(address: readonly number[], entry: string): boolean {
  const [base = "", bits] = entry.replace(/[[\]]/g, "").split("/");
  const range = parseAddress(base);
  if (range === null || range.length !== address.length) return false;
  const prefix = bits === undefined ? range.length * 8 : Number(bits);
  if (!Number.isInteger(prefix) || prefix < 0 || prefix > range.length * 8) return false;
  return range.every((byte, index) => {
    const relevant = Math.min(Math.max(prefix - index * 8, 0), 8);
    const mask = (0xff << (8 - relevant)) & 0xff;
    return (byte & mask) === (address[index]! & mask);
  });
}

/** The four or sixteen bytes of an address; null for a name. */
function parseAddress(text: string): number[] | null {
  const isIpv6 = text.includes(":");
  const canonical = URL.parse(isIpv6 ? `http://[${text}]/` : `http://${text}/`)?.hostname;
  if (canonical === undefined) return null;
  if (!isIpv6) return /^\d+\.\d+\.\d+\.\d+$/.test(canonical) ? canonical.split(".").map(Number) : null;
  const [head = "", tail] = canonical.slice(1, -1).split("::");
  const groups = (part: string): number[] => part === "" ? [] : part.split(":").map((group) => parseInt(group, 16));
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const between = new Array(8 - before.length - after.length).fill(0);
  return [...before, ...between, ...after].flatMap((group) => [group >> 8, group & 0xff]);
}
