/** The real codex as a program's backend (`codex app-server`): turns, their end, and the questions it passes on. */

type Json = Record<string, unknown>;

export interface AppServerOptions {
  readonly codex: string;
  readonly env: Record<string, string>;
  readonly cwd: string;
}

/** Anything may take long on a busy machine; only what never comes fails. */
const PATIENCE_MS = 120_000;

export class CodexAppServer implements AsyncDisposable {
  readonly notifications: { readonly method: string; readonly params: Json }[] = [];
  /** Messages of the questions that were passed on, in order. */
  readonly questions: string[] = [];
  onQuestion: (message: string) => unknown = () => ({ action: "decline" });
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #pending = new Map<number, (message: Json) => void>();
  readonly #reading: Promise<void>;
  readonly #log: Promise<string>;
  #nextId = 1;
  #watchers: (() => void)[] = [];

  private constructor({ codex, env, cwd }: AppServerOptions) {
    this.#child = new Deno.Command(codex, {
      args: ["app-server"],
      env,
      clearEnv: true,
      cwd,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#writer = this.#child.stdin.getWriter();
    this.#reading = this.#read();
    this.#log = new Response(this.#child.stderr).text();
  }

  static async start(options: AppServerOptions): Promise<CodexAppServer> {
    const server = new CodexAppServer(options);
    await server.request("initialize", {
      clientInfo: { name: "test", title: "test", version: "0.0.0" },
      capabilities: { experimentalApi: true, requestAttestation: false },
    });
    server.#send({ method: "initialized", params: {} });
    return server;
  }

  async request(method: string, params: Json = {}): Promise<Json> {
    const id = this.#nextId++;
    const { promise, resolve } = Promise.withResolvers<Json>();
    this.#pending.set(id, resolve);
    this.#send({ id, method, params });
    const { error, result } = await patiently(promise, method);
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result as Json;
  }

  /** Starts a thread and a turn in it; the turn's end is waited for by `untilTurnEnds`. */
  async startTurn(thread: Json): Promise<{ threadId: string; turnId: string }> {
    const started = await this.request("thread/start", thread);
    const threadId = String((started["thread"] as Json)["id"]);
    const turn = await this.request("turn/start", { threadId, input: [{ type: "text", text: "go" }] });
    return { threadId, turnId: String((turn["turn"] as Json)["id"]) };
  }

  async untilTurnEnds(): Promise<void> {
    await this.until("a turn's end", () => this.notifications.some(({ method }) => method === "turn/completed"));
  }

  async until(what: string, isSo: () => boolean): Promise<void> {
    while (!isSo()) await patiently(new Promise<void>((resolve) => this.#watchers.push(resolve)), what);
  }

  /** Ends as a client that dies: nothing is said. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer.close().catch(() => {});
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 10_000);
    await this.#child.status;
    clearTimeout(timer);
    await Promise.all([this.#reading, this.#log]);
  }

  #send(message: Json): void {
    this.#writer.write(new TextEncoder().encode(`${JSON.stringify(message)}\n`)).catch(() => {});
  }

  async #read(): Promise<void> {
    let text = "";
    for await (const chunk of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      for (let end; (end = text.indexOf("\n")) >= 0; text = text.slice(end + 1)) {
        const line = text.slice(0, end).trim();
        if (line !== "") await this.#receive(JSON.parse(line));
      }
    }
  }

  async #receive(message: Json): Promise<void> {
    const { method, id, params } = message as { method?: string; id?: number; params?: Json };
    if (method === undefined) {
      this.#pending.get(id!)?.(message);
      this.#pending.delete(id!);
    } else if (id === undefined) this.notifications.push({ method, params: params ?? {} });
    else if (method === "mcpServer/elicitation/request") {
      this.questions.push(String(params?.["message"]));
      this.#send({ id, result: await this.onQuestion(String(params?.["message"])) } as Json);
    } else this.#send({ id, error: { code: -32_601, message: "not part of this test" } } as unknown as Json);
    for (const watch of this.#watchers.splice(0)) watch();
  }
}

async function patiently<Value>(promise: Promise<Value>, what: string): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not come within ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
