/**
 * The content of a large file that a confined helper reads while it is sent. The server holds one or two pieces of it.
 *
 * The helper is not trusted: bytes beyond what it announced are cut off, and a piece of a wrong length counts as the
 * last. If the helper is lost, the content ends with an error.
 */

import type { ByteSource } from "../../bytes.ts";
import type { HelperClient } from "./helper_client.ts";
import { STREAMED_PIECE_BYTES } from "../limits.ts";

export interface HelperSourceOptions {
  readonly client: HelperClient;
  /** The helper's number for it. */
  readonly source: number;
  readonly length: number;
  /** What a failure of the helper means to the client. */
  describe(error: unknown): unknown;
}

export class HelperSource implements ByteSource {
  readonly length: number;
  /** One that is being sent, and one that is fetched meanwhile. */
  readonly heldBytes = 2 * STREAMED_PIECE_BYTES;
  readonly #options: HelperSourceOptions;
  #remaining: number;
  #next: Promise<Uint8Array | null> | null = null;
  #isClosed = false;
  /** The piece that is lent, and the one being fetched, in turn. */
  readonly #areas = [new Uint8Array(STREAMED_PIECE_BYTES), new Uint8Array(STREAMED_PIECE_BYTES)] as const;
  #turn = 0;

  /** The helper is kept until this is closed. */
  constructor(options: HelperSourceOptions) {
    this.#options = options;
    this.length = this.#remaining = options.length;
    options.client.fileOpened();
  }

  async next(): Promise<Uint8Array | null> {
    const piece = await (this.#next ?? this.#fetch());
    this.#next = piece === null ? null : this.#fetch();
    // A failed fetch matters only to a caller that asks again.
    this.#next?.catch(() => {});
    return piece;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { client, source } = this.#options;
    // A helper that is gone has closed its files.
    client.call("closeSource", { source }).catch(() => {}).finally(() => client.fileClosed());
  }

  async #fetch(): Promise<Uint8Array | null> {
    if (this.#isClosed || this.#remaining === 0) return null;
    const { client, source, describe } = this.#options;
    try {
      const into = this.#areas[this.#turn ^= 1]!;
      const { body } = await client.call("readSource", { source }, { into });
      const piece = body.length > this.#remaining ? body.subarray(0, this.#remaining) : body;
      this.#remaining = piece.length === 0 || piece.length % 3 !== 0 ? 0 : this.#remaining - piece.length;
      return piece.length === 0 ? null : piece;
    } catch (error) {
      throw describe(error);
    }
  }
}
