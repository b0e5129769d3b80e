/**
 * Somebody who types commands: a home of their own in a temporary directory, so that nobody's state is touched, and the
 * program under test, compiled (`EXEC_SERVER_BINARY`) or from its source. Ends the server that the commands have started.
 *
 * What commands and servers say to each other is checked: of each that `run` runs at its end, of others that were given
 * `env` when the home is disposed of.
 */

import { FrameTrace } from "./frame_trace.ts";
import { runtimeCache } from "./runtime_cache.ts";
import { serverCommand } from "./test_server.ts";

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly input?: string | Uint8Array<ArrayBuffer>;
  readonly cwd?: string;
  readonly env?: Record<string, string>;
}

export class CommandHome implements AsyncDisposable {
  readonly path: string;
  readonly #trace: FrameTrace;

  private constructor(path: string, trace: FrameTrace) {
    this.path = path;
    this.#trace = trace;
  }

  static async make(): Promise<CommandHome> {
    // Beside the home, where no command comes across it.
    const trace = new FrameTrace(await Deno.makeTempFile({ prefix: "exec-server-trace-" }));
    return new CommandHome(await Deno.makeTempDir({ prefix: "exec-server-home-" }), trace);
  }

  /** Methods of results and notifications that commands got, and that were as they should be. */
  get checkedMethods(): ReadonlySet<string> {
    return this.#trace.checked;
  }

  get stateDirectory(): string {
    return `${this.path}/.local/state/exec-server`;
  }

  /** What the commands find in their environment. */
  get env(): Record<string, string> {
    const kept = ["PATH", "LANG", "DENO_DIR", "XDG_CACHE_HOME", "EXEC_SERVER_BINARY"];
    const env = Object.fromEntries(kept.flatMap((name) => {
      const value = Deno.env.get(name);
      return value === undefined ? [] : [[name, value]];
    }));
    const cache = runtimeCache();
    return { DENO_DIR: cache, ...env, HOME: this.path, TERM: "xterm", EXEC_SERVER_TRACE_FILE: this.#trace.path };
  }

  /** Program and words of a command. */
  words(args: readonly string[]): [program: string, ...args: string[]] {
    const { program, args: words } = serverCommand();
    return [program, ...words, ...args];
  }

  /** Runs a command to its end. */
  async run(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult & { bytes: Uint8Array }> {
    const [program, ...words] = this.words(args);
    const child = new Deno.Command(program, {
      args: words,
      cwd: options.cwd ?? this.path,
      clearEnv: true,
      env: { ...this.env, ...options.env },
      stdin: options.input === undefined ? "null" : "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const output = child.output();
    if (options.input !== undefined) {
      const writer = child.stdin.getWriter();
      const bytes = typeof options.input === "string" ? new TextEncoder().encode(options.input) : options.input;
      // A command may end before it has read all of it.
      await writer.write(bytes).then(() => writer.close()).catch(() => {});
    }
    const { code, stdout, stderr } = await output;
    await this.#trace.check();
    const text = (part: Uint8Array) => new TextDecoder().decode(part);
    return { code, stdout: text(stdout), stderr: text(stderr), bytes: stdout };
  }

  /** The servers that commands of this home have started and that still run. */
  async servers(): Promise<number[]> {
    return await ownServers(this.stateDirectory);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pid of await this.servers()) {
      Deno.kill(pid, "SIGTERM");
      // It is nobody's child here: it is gone when its directory in /proc is.
      const deadline = Date.now() + 60_000;
      while (Date.now() < deadline && await Deno.stat(`/proc/${pid}`).then(() => true, () => false)) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
    await Deno.remove(this.path, { recursive: true });
    await this.#trace.check().finally(() => Deno.remove(this.#trace.path));
  }
}

/** The servers that listen in a state directory. */
export async function ownServers(stateDirectory: string): Promise<number[]> {
  const pids: number[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const words = await Deno.readTextFile(`/proc/${name}/cmdline`).catch(() => "");
    if (words.split("\0").includes(`--listen=unix:${stateDirectory}/server.sock`)) pids.push(Number(name));
  }
  return pids;
}
