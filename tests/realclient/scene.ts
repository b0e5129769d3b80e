/**
 * A real codex with a scripted model: has it run two commands somewhere, and tells what came of it.
 *
 * Needs codex (`CODEX_DIR`) and the directory of the checks that hold a scripted model (`CHECKS`).
 */

import assert from "node:assert/strict";

/** The part of the scripted model that is used here. */
interface ScriptedModel {
  baseUrl(scenario: string): string;
  script(scenario: string, steps: (() => unknown[] | Promise<unknown[]>)[]): {
    readonly requests: readonly unknown[];
    readonly outputs: ReadonlyMap<string, { readonly text: string }>;
    readonly stepErrors: readonly string[];
  };
  close(): Promise<void>;
}

const CHECKS = Deno.env.get("CHECKS");
const CODEX_TIMEOUT_MS = 120_000;

export const NO_CODEX = CHECKS === undefined || !Deno.env.has("CODEX_DIR") ? "CHECKS and CODEX_DIR are not set" : null;

export function codexTest(name: string, obstacle: string | null, fn: (scene: Scene) => Promise<void>): void {
  const reason = NO_CODEX ?? obstacle;
  Deno.test({
    name: reason === null ? name : `${name} (SKIPPED: ${reason})`,
    ignore: reason !== null,
    async fn() {
      await using scene = await Scene.open();
      await fn(scene);
    },
  });
}

export interface Run {
  readonly environments?: string;
  readonly env?: Record<string, string>;
  /**
   * Before the second command of two. A cut must be over when it resolves: codex does not repeat what it sends on a
   * connection that is being cut.
   */
  between?(): void | Promise<void>;
  /** In place of the two: a command on a terminal that goes on, and what is typed at it. */
  readonly terminal?: { readonly command: string; readonly typed: string };
}

export interface Outcome {
  readonly first: string;
  readonly second: string;
  /** Everything codex has said to its model, its user and its files. */
  readonly everything: string;
}

/** A directory for a codex and its server, and a model that says what is to be done. */
export class Scene implements AsyncDisposable {
  readonly directory: string;
  readonly #model: ScriptedModel;
  /** The program. */
  readonly codex: string;

  private constructor(directory: string, model: ScriptedModel, codex: string) {
    this.directory = directory;
    this.#model = model;
    this.codex = codex;
  }

  static async open(): Promise<Scene> {
    const at = (name: string) => new URL(name, `file://${Deno.realPathSync(CHECKS!)}/`).href;
    const { MockModel } = await import(at("realclient/mock_model.ts"));
    const { codexBin } = await import(at("codex_bin.mjs"));
    // Not below /tmp: codex makes no helpers there.
    const directory = await Deno.makeTempDir({ dir: "/var/tmp", prefix: "codex-door-" });
    return new Scene(directory, new MockModel() as ScriptedModel, codexBin());
  }

  /** Has codex run two commands. */
  async run({ environments, env = {}, between = () => {}, terminal }: Run): Promise<Outcome> {
    const name = crypto.randomUUID();
    const home = `${this.directory}/${name}`;
    for (const part of ["", "/codex", "/work"]) await Deno.mkdir(home + part);
    const call = (id: string, name: string, words: Record<string, unknown>) => ({
      type: "function_call",
      id: `fc_${id}`,
      call_id: id,
      name,
      arguments: JSON.stringify({ yield_time_ms: 15_000, ...words }),
    });
    const first = terminal === undefined
      ? { cmd: "echo first-$((40+2))" }
      : { cmd: terminal.command, tty: true, yield_time_ms: 1500 };
    const log = this.#model.script(name, [
      () => [call("c1", "exec_command", { login: false, ...first })],
      async () => {
        await between();
        if (terminal === undefined) return [call("c2", "exec_command", { login: false, cmd: "echo second-$((40+3))" })];
        const session = /session ID (\d+)/.exec(log.outputs.get("c1")?.text ?? "")?.[1];
        return [call("c2", "write_stdin", { session_id: Number(session), chars: terminal.typed })];
      },
    ]);
    await Deno.writeTextFile(`${home}/codex/config.toml`, configuration(this.#model.baseUrl(name)));
    if (environments !== undefined) await Deno.writeTextFile(`${home}/codex/environments.toml`, environments);
    const { stdout, stderr } = await new Deno.Command(this.codex, {
      args: ["exec", "--skip-git-repo-check", "--json", "-s", "danger-full-access", "-C", `${home}/work`, "go"],
      clearEnv: true,
      env: { PATH: "/usr/bin:/bin", HOME: home, CODEX_HOME: `${home}/codex`, RUST_LOG: "warn", ...env },
      stdin: "null",
      signal: AbortSignal.timeout(CODEX_TIMEOUT_MS),
    }).output();
    assert.deepEqual(log.stepErrors, []);
    const decoder = new TextDecoder();
    // What it was told is its own; what it writes down besides is for everybody who may read there.
    await Deno.remove(`${home}/codex/environments.toml`).catch(() => {/* There was none. */});
    return {
      first: log.outputs.get("c1")?.text ?? "",
      second: log.outputs.get("c2")?.text ?? "",
      everything: [JSON.stringify(log.requests), decoder.decode(stdout), decoder.decode(stderr), textsIn(home)].join(
        "\n",
      ),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#model.close();
    await Deno.remove(this.directory, { recursive: true });
  }
}

function configuration(baseUrl: string): string {
  return `model = "gpt-5.5"
model_provider = "mock"
approval_policy = "never"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
[model_providers.mock]
name = "mock"
base_url = "${baseUrl}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`;
}

export function environmentOf(url: string, token: string): string {
  return `default = "devbox"
include_local = false
[[environments]]
id = "devbox"
url = "${url}"
auth_bearer_token = "${token}"
`;
}

/** All files below a directory, one after another. */
function textsIn(directory: string): string {
  return Array.from(Deno.readDirSync(directory), ({ name, isDirectory, isFile }) => {
    const path = `${directory}/${name}`;
    if (isDirectory) return textsIn(path);
    return isFile ? new TextDecoder("latin1").decode(Deno.readFileSync(path)) : "";
  }).join("\n");
}
