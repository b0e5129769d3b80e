/**
 * The certificate of a running server. Its files can be read again.
 *
 * Only later connections get the new one. If the files cannot be used, the old one stays in force.
 */

import { messageOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { loadTls } from "../../transport/tls/load_tls.ts";
import type { TlsFiles } from "../../transport/tls/tls_files.ts";
import type { TlsLayer } from "../../transport/tls/tls_layer.ts";
import { refusal } from "../cli_error.ts";

export class LiveTls {
  readonly layer: TlsLayer;
  readonly #log: Logger;

  private constructor(layer: TlsLayer, log: Logger) {
    this.layer = layer;
    this.#log = log;
    this.#warnOfDates();
  }

  /** Rejects with a `CliError` if the files cannot be used. */
  static async load(files: TlsFiles, log: Logger): Promise<LiveTls> {
    try {
      return new LiveTls(await loadTls(files, { cert: "--tls-cert", key: "--tls-key" }), log);
    } catch (error) {
      throw refusal(messageOf(error), error);
    }
  }

  /** Reads the files again. Never rejects; failures are logged. */
  async reload(): Promise<void> {
    try {
      await this.layer.reload();
      this.#log.info("the TLS certificate was read again", { validTo: this.layer.certificate.validTo });
      this.#warnOfDates();
    } catch (error) {
      const reason = messageOf(error);
      this.#log.error("cannot read the TLS certificate again: the old one stays in force", { reason });
    }
  }

  /** Warns, because clients refuse such a certificate and only their logs would say why. */
  #warnOfDates(): void {
    const { validFrom, validTo } = this.layer.certificate;
    const now = Date.now();
    if (Date.parse(validTo) < now) this.#log.warn("the TLS certificate has expired", { validTo });
    else if (Date.parse(validFrom) > now) this.#log.warn("the TLS certificate is not valid yet", { validFrom });
  }
}
