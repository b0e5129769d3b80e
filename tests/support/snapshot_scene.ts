/** A scene for shells that start from a kept state. */

import { FileTree } from "./file_tree.ts";
import { areInstalled } from "./installed.ts";
import type { Client } from "./rpc_client.ts";
import { TestServer, type TestServerOptions } from "./test_server.ts";

export const BASH = "/bin/bash";
const hasBash = areInstalled(["bash"], "shell snapshots");

export const PIPES = { type: "pipe", stdin: "closed" } as const;
export const TERMINAL = { type: "pty", rows: 24, cols: 80 } as const;

/** Each run of a profile leaves a line. */
export const NOTE_RUN = 'echo run >> "$HOME/runs"';

interface Command {
  scopeId?: string;
  shell?: { name: string; path: string };
  argv?: string[];
  io?: typeof PIPES | typeof TERMINAL;
  env?: Record<string, string>;
  [field: string]: unknown;
}

/** A server, a client, and a home directory whose profile login shells run. */
export class SnapshotScene implements AsyncDisposable {
  readonly server: TestServer;
  readonly client: Client;
  readonly home: FileTree;
  #started = 0;

  private constructor(server: TestServer, client: Client, home: FileTree) {
    this.server = server;
    this.client = client;
    this.home = home;
  }

  static async open(profile: string, options: TestServerOptions = {}): Promise<SnapshotScene> {
    const home = await FileTree.make({ ".bash_profile": profile });
    await home.directory("work");
    await home.directory("tmp");
    const server = await TestServer.start({ ...options, env: { ...options.env, TMPDIR: home.path("tmp") } });
    return new SnapshotScene(server, await server.connect(), home);
  }

  params(script: string, fields: Command = {}) {
    const { scopeId = "scope", shell = { name: "bash", path: BASH }, ...rest } = fields;
    return {
      processId: `p${++this.#started}`,
      argv: [BASH, "-lc", script],
      cwd: this.home.path("work"),
      env: { PATH: "/usr/bin:/bin", HOME: this.home.root },
      io: PIPES,
      shellSnapshot: { scopeId, shell },
      ...rest,
    };
  }

  /** What a command writes, and how it ends. */
  async run(script: string, fields: Command = {}): Promise<{ output: string; exitCode: number | null }> {
    const params = this.params(script, fields);
    const stream = this.client.follow(params.processId);
    await this.client.call("process/start", params);
    let output = "";
    let exitCode: number | null = null;
    for await (const { method, params } of stream) {
      if (method === "process/output") output += atob(params.chunk);
      if (method === "process/exited") exitCode = params.exitCode;
    }
    return { output, exitCode };
  }

  /** How often the profile has run. */
  get runs(): number {
    try {
      return Deno.readTextFileSync(this.home.path("runs")).split("\n").length - 1;
    } catch {
      return 0;
    }
  }

  /** A sandbox object: everything can be read but what is denied, and only `work` written. */
  sandbox(denied: readonly string[] = []) {
    const entry = (path: string, access: string) => ({ path: { type: "path", path }, access });
    const entries = [
      entry("/", "read"),
      entry(this.home.path("work"), "write"),
      ...denied.map((name) => entry(this.home.path(name), "deny")),
    ];
    return {
      permissions: { type: "managed", file_system: { type: "restricted", entries }, network: "restricted" },
      windowsSandboxLevel: "disabled",
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await this.server[Symbol.asyncDispose]();
    await this.home[Symbol.asyncDispose]();
  }
}

export function snapshotTest(name: string, fn: () => Promise<void>, missing: string | null = null): void {
  const reason = hasBash ? missing : "bash is not installed";
  Deno.test({ name: reason === null ? name : `${name} (SKIPPED: ${reason})`, ignore: reason !== null, fn });
}
