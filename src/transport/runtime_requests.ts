/** Requests and answers of the runtime's `Deno.serve` in the terms of our own door. */

import type { RequestHead } from "./door/http_head.ts";
import type { HttpResponse } from "./door/http_response.ts";
import { isLoopbackAddress } from "./listen/ip_address.ts";

/** What the rules look at. Null for a path that is not below ours. Repeated fields come joined, as one value. */
export function headOf(request: Request, basePath: string): RequestHead | null {
  const { pathname, search } = new URL(request.url);
  if (!`${pathname}/`.startsWith(`${basePath}/`)) return null;
  return {
    type: "head",
    method: request.method,
    target: pathname + search,
    path: pathname.slice(basePath.length) || "/",
    // The runtime does not say. It upgrades nothing else.
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

/** Only sockets of the network can be reached by a web page. */
export function isOnThisMachine(address: Deno.Addr): boolean {
  return "hostname" in address && isLoopbackAddress(address.hostname);
}
