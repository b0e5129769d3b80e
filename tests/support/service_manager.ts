/** A service manager that keeps a rendezvous's listening socket open while the rendezvous is killed and started anew. */

import { serverCommand, ServerLog } from "./test_server.ts";

export class ServiceManager implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #lines: ReadableStreamDefaultReader<string>;
  readonly #log: ServerLog;
  #text = "";
  #port = 0;

  private constructor(child: Deno.ChildProcess) {
    this.#child = child;
    this.#input = child.stdin.getWriter();
    this.#lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    this.#log = new ServerLog(child.stderr);
  }

  /** Opens the socket. `PORT` in the arguments of the rendezvous stands for its port. */
  static async open(args: readonly string[]): Promise<ServiceManager> {
    const script = new URL("../fixtures/remote/service_manager.pl", import.meta.url).pathname;
    const { program, args: words } = serverCommand();
    const manager = new ServiceManager(
      new Deno.Command("perl", {
        args: [script, program, ...words, "rendezvous", "--log", "json", ...args],
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn(),
    );
    manager.#port = Number(await manager.#line());
    return manager;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  start(): Promise<void> {
    return this.#command("start");
  }

  /** `kill -9`; the socket stays. */
  kill(): Promise<void> {
    return this.#command("kill");
  }

  logged(text: string, times = 1): Promise<void> {
    return this.#log.contains(text, times);
  }

  async #command(word: string): Promise<void> {
    await this.#input.write(new TextEncoder().encode(`${word}\n`));
    await this.#line();
  }

  async #line(): Promise<string> {
    while (!this.#text.includes("\n")) {
      const { done, value } = await this.#lines.read();
      if (done) throw new Error(`the service manager ended: ${await this.#log.whole}`);
      this.#text += value;
    }
    const [line, ...rest] = this.#text.split("\n");
    this.#text = rest.join("\n");
    return line!;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#input.close();
    await this.#child.status;
    await this.#lines.cancel();
    await this.#log.whole;
  }
}
