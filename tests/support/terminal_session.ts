/**
 * Somebody at a terminal: a program started through the protocol, what it shows, and keys to press.
 *
 * Waits are for something to be on the screen, looked at whenever it has changed.
 */

import assert from "node:assert/strict";
import type { Client, NotificationStream } from "./rpc_client.ts";
import { type ScreenSize, TerminalScreen } from "./terminal_screen.ts";

export const KEY = {
  enter: "\r",
  escape: "\x1b",
  backspace: "\x7f",
  ctrlC: "\x03",
  ctrlD: "\x04",
  ctrlZ: "\x1a",
} as const;

/** Far longer than any program takes to show something on a busy machine. */
const LIMIT_MS = 60_000;

export interface TerminalOptions extends Partial<ScreenSize> {
  cwd?: string;
  env?: Record<string, string>;
}

export class TerminalSession implements AsyncDisposable {
  readonly screen: TerminalScreen;
  readonly #client: Client;
  readonly #processId: string;
  readonly #shown: Promise<void>;
  readonly #watchers = new Set<() => void>();
  #exitCode: number | null = null;
  #isClosed = false;

  private constructor(client: Client, processId: string, size: ScreenSize) {
    this.#client = client;
    this.#processId = processId;
    this.screen = new TerminalScreen(size);
    this.screen.onAnswer((text) => this.#write(text));
    this.#shown = this.#showAll(client.follow(processId));
  }

  /** Starts a program on a terminal of 24 by 80, or the size asked for. */
  static async start(client: Client, argv: string[], options: TerminalOptions = {}): Promise<TerminalSession> {
    const { rows = 24, cols = 80, cwd = "/", env = {} } = options;
    const processId = crypto.randomUUID();
    const terminal = new TerminalSession(client, processId, { rows, cols });
    await client.call("process/start", {
      processId,
      argv,
      cwd,
      env: { PATH: Deno.env.get("PATH")!, TERM: "xterm", LANG: "C.UTF-8", HOME: cwd, ...env },
      io: { type: "pty", rows, cols },
    });
    return terminal;
  }

  async type(text: string): Promise<void> {
    assert.deepEqual(await this.#write(text), { status: "accepted" });
  }

  /** Types a line and presses Enter. */
  async enter(line: string): Promise<void> {
    await this.type(line + KEY.enter);
  }

  async resize(size: ScreenSize): Promise<void> {
    this.screen.resize(size);
    await this.#client.call("process/resize", { processId: this.#processId, ...size });
  }

  /** Waits until the screen shows exactly these lines, from the top. */
  async shows(lines: readonly string[]): Promise<void> {
    const isShown = () => JSON.stringify(this.screen.lines) === JSON.stringify(lines);
    // With the lines of both, a failure tells what is different.
    await this.until(isShown).catch(() => assert.deepEqual(this.screen.lines, lines));
  }

  /** Waits until this holds for the screen. */
  async until(holds: (screen: TerminalScreen) => boolean): Promise<void> {
    const deadline = performance.now() + LIMIT_MS;
    while (!holds(this.screen)) {
      const leftMs = deadline - performance.now();
      assert.ok(leftMs > 0, `nothing like that on the screen:\n${this.screen.lines.join("\n")}`);
      await this.#change(leftMs);
    }
  }

  /** Waits until the program has ended and everything it wrote is on the screen. */
  async exitCode(): Promise<number> {
    await this.until(() => this.#isClosed);
    return this.#exitCode!;
  }

  /** Ends the program, whatever it is doing. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.call("process/terminate", { processId: this.#processId });
    await this.#shown;
    this.screen[Symbol.dispose]();
  }

  async #write(text: string) {
    const chunk = new TextEncoder().encode(text).toBase64();
    return await this.#client.call("process/write", { processId: this.#processId, chunk });
  }

  async #showAll(stream: NotificationStream): Promise<void> {
    for await (const { method, params } of stream) {
      if (method === "process/output") await this.screen.feed(Uint8Array.fromBase64(params.chunk));
      if (method === "process/exited") this.#exitCode = params.exitCode;
      if (method === "process/closed") this.#isClosed = true;
      for (const wake of this.#watchers) wake();
    }
  }

  async #change(limitMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#watchers.add(resolve);
    const timer = setTimeout(resolve, limitMs);
    await promise;
    clearTimeout(timer);
    this.#watchers.delete(resolve);
  }
}
