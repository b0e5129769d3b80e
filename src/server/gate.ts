/**
 * The handshake as one pure state machine. No handler ever asks whether a connection is initialised: requests that come
 * too early, twice or out of order are refused here.
 */

/**
 * - `new`: only `initialize` is allowed.
 * - `greeted`: `initialize` was answered, `initialized` has not come.
 * - `ready`: everything except another `initialize` is allowed.
 */
export type GateState = "new" | "greeted" | "ready";

/** The error text for a request in this state, or null. */
export function gateRefusal(state: GateState, method: string, family: string): string | null {
  if (method === "initialize") {
    return state === "new" ? null : "initialize may only be sent once per connection";
  }
  switch (state) {
    case "new":
      return `client must call initialize before using ${family} methods`;
    case "greeted":
      return `client must send initialized before using ${family} methods`;
    case "ready":
      return null;
  }
}

/** The state after a successful `initialize`. */
export function afterInitialize(): GateState {
  return "greeted";
}

/** What a notification leads to: a new state, or the reason the connection must end. */
export function afterNotification(state: GateState, method: string): { state: GateState } | { violation: string } {
  if (method !== "initialized") return { violation: `unexpected notification \`${method}\`` };
  if (state === "new") return { violation: "initialized notification before initialize" };
  return { state: "ready" };
}
