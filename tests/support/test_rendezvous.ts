/** A real rendezvous as a child process, with a file of tokens that tests add to. */

import { TokenDigest } from "../../src/transport/tokens/token_digest.ts";
import { createToken } from "../../src/transport/tokens/new_token.ts";
import {
  formatTokenFile,
  parseTokenFile,
  type TokenEntry,
  type TokenRole,
} from "../../src/transport/tokens/token_file.ts";
import type { Relay } from "./relay.ts";
import { serverCommand, TestServer } from "./test_server.ts";

export interface TokenWords {
  readonly name?: string;
  readonly ids?: readonly string[];
  readonly expiresAt?: Date;
}

export class TestRendezvous implements AsyncDisposable {
  readonly #server: TestServer;
  readonly tokenFile: string;

  private constructor(server: TestServer, tokenFile: string) {
    this.#server = server;
    this.tokenFile = tokenFile;
  }

  /** Starts one whose file of tokens lies in the directory, where a predecessor may have left it. */
  static async start(
    directory: string,
    { listen = "ws://127.0.0.1:0", args = [] }: { listen?: string; args?: readonly string[] } = {},
  ): Promise<TestRendezvous> {
    const tokenFile = `${directory}/tokens.json`;
    try {
      await Deno.stat(tokenFile);
    } catch {
      await Deno.writeTextFile(tokenFile, formatTokenFile([]), { mode: 0o600 });
    }
    const { program, args: words } = serverCommand();
    const server = await TestServer.start({
      command: [program, ...words, "rendezvous", "--tokens", tokenFile, "--log", "json"],
      listen,
      args,
    });
    return new TestRendezvous(server, tokenFile);
  }

  /** `http://127.0.0.1:PORT` */
  get url(): string {
    return this.#server.url;
  }

  get websocketUrl(): string {
    return this.url.replace(/^http/, "ws");
  }

  get port(): number {
    return this.#server.port;
  }

  get pid(): number {
    return this.#server.pid;
  }

  get log(): Promise<string> {
    return this.#server.log;
  }

  logged(text: string, times?: number): Promise<void> {
    return this.#server.logged(text, times);
  }

  /** Cuts what passes through the relay, and waits until the client has come back. */
  cut(relay: Relay): Promise<void> {
    return this.#server.cut(relay, "client connected");
  }

  kill(signal: Deno.Signal): void {
    this.#server.kill(signal);
  }

  get status(): Promise<Deno.CommandStatus> {
    return this.#server.status;
  }

  /** A new token, which is in force when this resolves. */
  async token(roles: readonly TokenRole[], words: TokenWords = {}): Promise<string> {
    const token = await addToken(this.tokenFile, roles, words);
    await this.#reload();
    return token;
  }

  async revoke(name: string): Promise<void> {
    const { entries } = parseTokenFile(await Deno.readTextFile(this.tokenFile));
    await Deno.writeTextFile(this.tokenFile, formatTokenFile(entries.filter((entry) => entry.name !== name)));
    await this.#reload();
  }

  #reloads = 0;

  async #reload(): Promise<void> {
    this.#reloads++;
    this.kill("SIGHUP");
    await this.logged("the tokens were read again", this.#reloads);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server[Symbol.asyncDispose]();
  }
}

/** Adds a token to a file. The entry's digest is all that is written. */
export async function addToken(file: string, roles: readonly TokenRole[], words: TokenWords = {}): Promise<string> {
  const { entries } = parseTokenFile(await Deno.readTextFile(file));
  const token = createToken();
  const entry: TokenEntry = {
    name: words.name ?? `${roles.join("-")}-${entries.length}`,
    digest: await TokenDigest.ofToken(token),
    roles,
    ids: words.ids ?? ["*"],
    createdAt: new Date(),
    expiresAt: words.expiresAt ?? null,
  };
  await Deno.writeTextFile(file, formatTokenFile([...entries, entry]));
  return token;
}
