/** A child of any backend whose reports are kept, so that a test can wait for them and look at them. */

import type {
  ExitStatus,
  OutputStream,
  ProcessBackend,
  ProcessObserver,
  SpawnedProcess,
  SpawnRequest,
} from "../../src/process/backend.ts";

export const TEST_ENV = { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C" };
export const PIPES = { type: "pipe", stdin: "closed" } as const;
export const PIPES_WITH_INPUT = { type: "pipe", stdin: "open" } as const;
export const TERMINAL = { type: "pty", rows: 24, cols: 80 } as const;

/** A shell script with pipes, no input and a small environment, unless told otherwise. */
export function shell(script: string, changes: Partial<SpawnRequest> = {}): SpawnRequest {
  return command(["sh", "-c", script], changes);
}

export function command(argv: readonly string[], changes: Partial<SpawnRequest> = {}): SpawnRequest {
  return { argv, arg0: null, cwd: "/", env: TEST_ENV, io: PIPES, ...changes };
}

export class RecordedChild implements ProcessObserver {
  readonly chunks: Array<{ readonly stream: OutputStream; readonly bytes: Uint8Array<ArrayBuffer> }> = [];
  /** In the order they came, without the output. */
  readonly events: string[] = [];
  readonly exit: Promise<ExitStatus>;
  readonly end: Promise<void>;
  readonly #exit = Promise.withResolvers<ExitStatus>();
  readonly #end = Promise.withResolvers<void>();
  readonly #waiting = new Set<() => void>();
  #process: SpawnedProcess | null = null;

  private constructor() {
    this.exit = this.#exit.promise;
    this.end = this.#end.promise;
  }

  static async start(backend: ProcessBackend, request: SpawnRequest): Promise<RecordedChild> {
    const child = await RecordedChild.spawn(backend, request);
    child.process.begin(child);
    return child;
  }

  /** Nothing is heard of it before `process.begin`. */
  static async spawn(backend: ProcessBackend, request: SpawnRequest): Promise<RecordedChild> {
    const child = new RecordedChild();
    child.#process = await backend.spawn(request);
    return child;
  }

  /** Starts it, waits until it has exited and all its streams have ended, and disposes of it. */
  static async run(backend: ProcessBackend, request: SpawnRequest): Promise<RecordedChild> {
    const child = await RecordedChild.start(backend, request);
    await child.exit;
    await child.end;
    child.process.dispose();
    return child;
  }

  get process(): SpawnedProcess {
    if (this.#process === null) throw new Error("the child was reported on before its starter could get hold of it");
    return this.#process;
  }

  bytes(stream: OutputStream): Uint8Array<ArrayBuffer> {
    const chunks = this.chunks.filter((chunk) => chunk.stream === stream);
    const all = new Uint8Array(chunks.reduce((sum, { bytes }) => sum + bytes.length, 0));
    let offset = 0;
    for (const { bytes } of chunks) {
      all.set(bytes, offset);
      offset += bytes.length;
    }
    return all;
  }

  text(stream: OutputStream): string {
    return new TextDecoder().decode(this.bytes(stream));
  }

  /** Resolves as soon as the stream's output so far contains the text. */
  async saw(stream: OutputStream, text: string): Promise<void> {
    while (!this.text(stream).includes(text)) {
      if (this.events.includes("end")) throw new Error(`output ended without "${text}": ${this.text(stream)}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  output(stream: OutputStream, bytes: Uint8Array<ArrayBuffer>): void {
    // Throws unless whoever started the child has it by now.
    void this.process;
    this.chunks.push({ stream, bytes });
    this.#wake();
  }

  exited(status: ExitStatus): void {
    void this.process;
    this.events.push("exit");
    this.#exit.resolve(status);
  }

  outputEnded(): void {
    void this.process;
    this.events.push("end");
    this.#end.resolve();
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

/** Type into a child. */
export function input(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/** For what announces itself by no event, such as a process being blocked. Looks again until it is so. */
export async function eventually(
  claim: string,
  isSo: () => boolean | Promise<boolean>,
  limitMs = 60_000,
): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!await isSo()) {
    if (performance.now() > deadline) throw new Error(`never came true: ${claim}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
