/** Requests and answers of the runtime's `Deno.serve` in the terms of our own door. */

import type { RequestHead } from "./door/http_head.ts";
import type { HttpResponse } from "./door/http_response.ts";
import { isLoopbackAddress } from "./listen/ip_address.ts";

/**
 * The request as the rules see it. Null for a path that is not below ours. The runtime joins repeated fields into one
 * value.
 */
export function headOf(request: Request, basePath: string): RequestHead | null {
  const { pathname, search } = new URL(request.url);
  if (!`${pathname}/`.startsWith(`${basePath}/`)) return null;
  return {
    type: "head",
    method: request.method,
    target: pathname + search,
    path: pathname.slice(basePath.length) || "/",
    // The runtime does not tell the version. It upgrades only this one.
    version: "1.1",
    hostname: request.headers.get("host")?.replace(/:\d*$/, "") ?? null,
    headers: new Map(Array.from(request.headers, ([name, value]) => [name, [value]])),
    headBytes: 0,
  };
}

export function responseOf({ status, headers, body }: HttpResponse): Response {
  return new Response(body, { status, headers: { ...headers } });
}

export function describePeer(address: Deno.Addr): string {
  if (!("hostname" in address)) return address.transport;
  return address.hostname.includes(":")
    ? `[${address.hostname}]:${address.port}`
    : `${address.hostname}:${address.port}`;
}

/** A web page can reach only network sockets. */
export function isOnThisMachine(address: Deno.Addr): boolean {
  return "hostname" in address && isLoopbackAddress(address.hostname);
}
