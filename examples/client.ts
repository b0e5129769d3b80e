/**
 * A complete client of exec-server without any library: the `WebSocket` that Deno, Node 22, Bun and browsers have.
 *
 *   exec-server                       # prints ws://127.0.0.1:42185/?token=…
 *   deno run --allow-net examples/client.ts 'ws://127.0.0.1:42185/?token=…'
 *
 * It writes and reads a file, runs a command, follows its output, writes to its input, loses its connection on purpose,
 * comes back, and misses nothing. docs/protocol.md explains every step. For more use the library in src/client.
 */

type Json = Record<string, unknown>;
interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Json & { processId?: string; seq?: number };
  readonly result?: Json;
  readonly error?: { code: number; message: string };
}
type Listener = (method: string, params: Json) => void;

class ConnectionLost extends Error {}

const RETRY_MS = 200;

/** One session. `call` outlives lost connections; so does following a process. */
class Client {
  #socket!: WebSocket;
  #sessionId: string | null = null;
  #lastId = 0;
  readonly #open = new Map<number, PromiseWithResolvers<Json>>();
  readonly #followed = new Map<string, { cursor: number; hasExited: boolean; onEvent: Listener }>();

  constructor(private readonly url: string) {}

  async connect(): Promise<void> {
    const socket = this.#socket = new WebSocket(this.url);
    socket.onmessage = ({ data }) => this.#receive(JSON.parse(data));
    await new Promise<void>((resolve, reject) => {
      socket.onopen = () => resolve();
      socket.onclose = () => {
        reject(new ConnectionLost("cannot connect"));
        for (const { reject } of this.#open.values()) reject(new ConnectionLost("the connection was lost"));
        this.#open.clear();
      };
    });
    // The server may not have noticed yet that the old connection is gone: do not wait for that.
    const resume = this.#sessionId === null ? {} : { resumeSessionId: this.#sessionId, takeover: true };
    const { sessionId } = await this.#send("initialize", { clientName: "examples/client.ts", ...resume });
    this.#sessionId = sessionId as string;
    socket.send(JSON.stringify({ method: "initialized" }));
  }

  async reconnect(): Promise<void> {
    for (let isBack = false; !isBack;) {
      isBack = await this.connect().then(() => true, (error) => {
        if (!(error instanceof ConnectionLost)) throw error; // The server's last word.
        return new Promise((resolve) => setTimeout(() => resolve(false), RETRY_MS));
      });
    }
    // What happened meanwhile is not sent again, so it is read.
    for (const [processId, { cursor }] of this.#followed) {
      const state = await this.#send("process/read", { processId, afterSeq: cursor });
      for (const chunk of state.chunks as (Json & { seq: number })[]) {
        this.#handOn(processId, chunk.seq, "process/output", chunk);
      }
      if (state.exited) this.#handOn(processId, 0, "process/exited", { exitCode: state.exitCode });
      if (state.closed) this.#handOn(processId, (state.nextSeq as number) - 1, "process/closed", {});
    }
  }

  /** A request that may be repeated: those here are, also process/write, because it has a writeId. */
  async call(method: string, params: Json): Promise<Json> {
    try {
      return await this.#send(method, params);
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      await this.reconnect();
      return await this.call(method, params);
    }
  }

  follow(processId: string, onEvent: Listener): void {
    this.#followed.set(processId, { cursor: 0, hasExited: false, onEvent });
  }

  close = () => this.#socket.close();

  #send(method: string, params: Json): Promise<Json> {
    if (this.#socket.readyState !== WebSocket.OPEN) return Promise.reject(new ConnectionLost("not connected"));
    const id = ++this.#lastId;
    this.#socket.send(JSON.stringify({ id, method, params }));
    const answer = Promise.withResolvers<Json>();
    this.#open.set(id, answer);
    return answer.promise;
  }

  #receive({ id, method, params = {}, result, error }: Message): void {
    if (method !== undefined) {
      const { processId, seq } = params;
      if (processId !== undefined && seq !== undefined) this.#handOn(processId, seq, method, params);
      return;
    }
    const answer = this.#open.get(id!);
    this.#open.delete(id!);
    if (error === undefined) answer?.resolve(result!);
    else answer?.reject(new Error(`${error.message} (${error.code})`));
  }

  /** Each event once: after a resume some come twice, read and told. */
  #handOn(processId: string, seq: number, method: string, params: Json): void {
    const followed = this.#followed.get(processId);
    const isExit = method === "process/exited";
    if (followed === undefined || (isExit ? followed.hasExited : seq <= followed.cursor)) return;
    followed.cursor = Math.max(seq, followed.cursor);
    followed.hasExited ||= isExit;
    if (method === "process/closed") this.#followed.delete(processId);
    followed.onEvent(method, params);
  }
}

const client = new Client(Deno.args[0]!);
await client.connect();
const path = `/tmp/exec-server-example-${crypto.randomUUID()}.txt`;
await client.call("fs/writeFile", { path, dataBase64: btoa("from a file\n") });
const closed = Promise.withResolvers<void>();
client.follow("p1", async (method, params) => {
  if (method === "process/exited") console.log("exit code", params.exitCode);
  if (method === "process/closed") closed.resolve();
  if (method !== "process/output") return;
  const text = atob(params.chunk as string);
  console.log(text.trimEnd());
  const write = { processId: "p1", chunk: btoa("a line\n"), writeId: "w1" };
  if (text.includes("from a file")) await client.call("process/write", write);
  if (text.includes("got")) client.close(), await client.reconnect();
});
const script = `cat ${path}; read line; echo got $line; sleep 0.5; echo after the cut`;
const command = {
  argv: ["sh", "-c", script],
  cwd: "/tmp",
  env: { PATH: "/usr/bin:/bin" },
  tty: false,
  pipeStdin: true,
};
await client.call("process/start", { processId: "p1", ...command });
await closed.promise;
console.log("the file:", atob((await client.call("fs/readFile", { path })).dataBase64 as string).trimEnd());
await client.call("fs/remove", { path });
client.close();
