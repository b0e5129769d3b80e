/** Counts and limits the websockets of each token and each address. */

export interface ConnectionCountLimits {
  readonly perToken: number;
  readonly perAddress: number;
}

/** A counted connection. Release it once. */
export type Place = () => void;

export class ConnectionCounts {
  readonly #limits: ConnectionCountLimits;
  readonly #byToken = new Map<string, number>();
  readonly #byAddress = new Map<string, number>();

  constructor(limits: ConnectionCountLimits) {
    this.#limits = limits;
  }

  /** Counts a connection, or says why there is no room for it. */
  take(token: string, address: string): Place | string {
    const { perToken, perAddress } = this.#limits;
    if ((this.#byToken.get(token) ?? 0) >= perToken) return `a token may have ${perToken} connections at once`;
    if ((this.#byAddress.get(address) ?? 0) >= perAddress) {
      return `an address may have ${perAddress} connections at once`;
    }
    add(this.#byToken, token, 1);
    add(this.#byAddress, address, 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      add(this.#byToken, token, -1);
      add(this.#byAddress, address, -1);
    };
  }
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
