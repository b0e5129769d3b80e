/** Method and path of a request as data. Pure; knows nothing of tokens and executors. */

import { isExecutorId } from "../../transport/tokens/id_pattern.ts";

export type Route =
  | { readonly type: "health" }
  | { readonly type: "list" }
  /** `form`: which of the reference's paths was used. */
  | { readonly type: "register"; readonly form: "executor" | "environment"; readonly id: string }
  | { readonly type: "connect" | "validate"; readonly id: string }
  /** The websockets whose URLs come from `register` and `connect`. */
  | { readonly type: "executorSocket" | "harnessSocket"; readonly id: string }
  /** A websocket with its own token. */
  | { readonly type: "clientSocket"; readonly id: string }
  | { readonly type: "notFound"; readonly reason: string }
  /** A known path with another method. */
  | { readonly type: "wrongMethod"; readonly allow: string }
  /** What the reference has, but not this program. */
  | { readonly type: "notImplemented"; readonly reason: string };

/** The path of the URLs of `register` and `connect`, before the id. */
export const SOCKET_PATHS = { executor: "/rendezvous/executor/", harness: "/rendezvous/harness/" } as const;

interface Row {
  readonly pattern: RegExp;
  readonly methods: readonly string[];
  readonly make: (id: string) => Route;
}

const ROWS: readonly Row[] = [
  { pattern: /^\/(?:healthz|readyz)$/, methods: ["GET", "HEAD"], make: () => ({ type: "health" }) },
  { pattern: /^\/executors$/, methods: ["GET"], make: () => ({ type: "list" }) },
  post(/^\/cloud\/executor\/([^/]*)\/register$/, (id) => ({ type: "register", form: "executor", id })),
  post(/^\/cloud\/environment\/([^/]*)\/register$/, (id) => ({ type: "register", form: "environment", id })),
  post(/^\/cloud\/environment\/([^/]*)\/connect$/, (id) => ({ type: "connect", id })),
  post(/^\/cloud\/environment\/([^/]*)\/validate$/, (id) => ({ type: "validate", id })),
  post(/^\/cloud\/environment\/([^/]*)\/direct\/register$/, () => ({
    type: "notImplemented",
    reason: "--remote-transport direct is not served here: use the default, noise",
  })),
  get(/^\/rendezvous\/executor\/([^/]*)$/, (id) => ({ type: "executorSocket", id })),
  get(/^\/rendezvous\/harness\/([^/]*)$/, (id) => ({ type: "harnessSocket", id })),
  get(/^\/connect\/([^/]*)$/, (id) => ({ type: "clientSocket", id })),
];

export function routeOf(method: string, path: string): Route {
  for (const { pattern, methods, make } of ROWS) {
    const match = pattern.exec(path);
    if (match === null) continue;
    if (!methods.includes(method)) return { type: "wrongMethod", allow: methods.join(",") };
    const id = match[1];
    // The client has chosen the id: it is not quoted.
    if (id !== undefined && !isExecutorId(id)) return { type: "notFound", reason: "that is not the id of an executor" };
    return make(id ?? "");
  }
  return { type: "notFound", reason: "there is nothing here: see docs/rendezvous.md for the paths" };
}

function post(pattern: RegExp, make: Row["make"]): Row {
  return { pattern, methods: ["POST"], make };
}

function get(pattern: RegExp, make: Row["make"]): Row {
  return { pattern, methods: ["GET"], make };
}
