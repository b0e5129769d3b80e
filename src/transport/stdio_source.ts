/** The one link of the `stdio` transport, as a `LinkSource`. It is over when that link is. */

import type { LinkSource, ServeLink } from "./link_source.ts";
import { StdioLink } from "./stdio_link.ts";

export class StdioSource implements LinkSource {
  readonly url = "stdio";
  readonly #link = new StdioLink({ readable: Deno.stdin.readable, writable: Deno.stdout.writable });

  #life: Promise<void> = Promise.resolve();

  run(onLink: ServeLink): Promise<void> {
    return this.#life = onLink(this.#link, { id: 1, remote: "stdio", requestId: null });
  }

  /** There is only one peer, which is connected already. */
  close(): void {}

  dropAll(): Promise<void> {
    this.#link.close();
    return this.#life;
  }
}
