/**
 * The authentication of a running server. Its secrets can be read again.
 *
 * The new secret counts only for later requests. Open connections stay, except those whose token in a token file does
 * not let them in any more. If a file cannot be used, the old secret stays in force, so that an operator's mistake
 * neither locks anybody out nor lets anybody in.
 */

import { messageOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { type AuthConfig, type Authenticator, createAuthenticator } from "../../transport/door/auth.ts";
import type { TokenTable } from "../../transport/tokens/token_table.ts";

/**
 * The shortest token: 128 bits if every byte is random. Anyone who can reach the port can try as often as the network
 * allows.
 */
const MIN_TOKEN_BYTES = 16;

export interface LiveAuthOptions {
  readonly auth: AuthConfig;
  /** Reads the secrets' files once more. */
  readonly reload: () => Promise<AuthConfig>;
  readonly log: Logger;
}

export class LiveAuth {
  readonly #options: LiveAuthOptions;
  #current: Authenticator | null;
  /** Reloads run one after another, so the last one wins. */
  #reloading: Promise<void> = Promise.resolve();

  constructor(options: LiveAuthOptions) {
    this.#options = options;
    this.#current = createAuthenticator(options.auth);
    this.#warnOfShortToken(options.auth);
  }

  /** Null lets everybody in. */
  get authenticator(): Authenticator | null {
    return this.#current === null ? null : (...credentials) => this.#current!(...credentials);
  }

  /** Reads the secrets from their files again. Never rejects; failures are logged. */
  reload(): Promise<void> {
    return this.#reloading = this.#reloading.then(() => this.#reload());
  }

  async #reload(): Promise<void> {
    const { log, reload } = this.#options;
    try {
      const auth = await reload();
      if (auth.type === "tokens") return this.#replaceTokens(auth.admissions.table);
      this.#current = createAuthenticator(auth);
      this.#warnOfShortToken(auth);
      log.info("the login secret was read again");
    } catch (error) {
      const reason = messageOf(error);
      log.error("cannot read the login secret again: the old one stays in force", { reason });
    }
  }

  /** Connected clients are judged by the new table too. */
  #replaceTokens(table: TokenTable): void {
    const { auth, log } = this.#options;
    const dropped = (auth as AuthConfig & { type: "tokens" }).admissions.replace(table);
    log.info("the tokens were read again", { tokens: table.entries.length, dropped });
  }

  #warnOfShortToken(auth: AuthConfig): void {
    const bytes = auth.type === "capabilityToken" ? auth.token.tokenBytes : null;
    if (bytes === null || bytes >= MIN_TOKEN_BYTES) return;
    this.#options.log.warn(`the token is short enough to guess: use ${MIN_TOKEN_BYTES} bytes or more`, {
      bytes,
    });
  }
}
