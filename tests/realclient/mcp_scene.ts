/** A real codex whose model calls the tools of `exec-server mcp`, and what the model was told of them. */

import assert from "node:assert/strict";
import { CodexAppServer } from "../support/codex_app_server.ts";
import { runtimeCache } from "../support/runtime_cache.ts";
import { serverCommand } from "../support/test_server.ts";

const CHECKS = Deno.env.get("CHECKS");

export const RULES = `
prefix_rule(pattern = ["touch"], decision = "allow")
prefix_rule(pattern = ["id"], decision = "forbidden")
prefix_rule(pattern = ["uname"], decision = "prompt")
`;

export interface Call {
  readonly tool: string;
  /** Whether the tool is codex's own. */
  readonly isCodexs?: boolean;
  readonly arguments: Record<string, unknown>;
}
type Outputs = ReadonlyMap<string, { readonly text: string }>;
export type Say = (outputs: Outputs) => Call | Promise<Call>;

export interface McpSceneOptions {
  /** Lines for `config.toml` that say how the server is reached. */
  readonly server: (place: Place) => string;
  readonly calls: readonly Say[];
  readonly features?: string;
}

/** Directories and words of one codex. */
export interface Place {
  readonly home: string;
  readonly work: string;
  readonly rules: string;
  /** Program and words of `exec-server mcp`. */
  readonly command: readonly string[];
}

export class McpScene implements AsyncDisposable {
  readonly app: CodexAppServer;
  readonly place: Place;
  readonly outputs: Outputs;
  readonly #close: () => Promise<void>;

  private constructor(
    app: CodexAppServer,
    place: Place,
    { outputs, close }: { outputs: Outputs; close(): Promise<void> },
  ) {
    this.app = app;
    this.place = place;
    this.outputs = outputs;
    this.#close = close;
  }

  static async open({ server, calls, features = "" }: McpSceneOptions): Promise<McpScene> {
    const at = (name: string) => new URL(name, `file://${Deno.realPathSync(CHECKS!)}/`).href;
    const { MockModel } = await import(at("realclient/mock_model.ts"));
    const { codexBin } = await import(at("codex_bin.mjs"));
    // Not below /tmp: codex makes no helpers there.
    const home = await Deno.makeTempDir({ dir: "/var/tmp", prefix: "codex-mcp-" });
    const { program, args } = serverCommand();
    const place = { home, work: `${home}/work`, rules: `${home}/test.rules`, command: [program, ...args, "mcp"] };
    for (const part of ["codex", "work"]) await Deno.mkdir(`${home}/${part}`);
    await Deno.writeTextFile(place.rules, RULES);
    const model = new MockModel();
    const log = model.script(
      "mcp",
      calls.map((say, index) => async ({ outputs }: { outputs: Outputs }) => {
        const { tool, isCodexs = false, arguments: words } = await say(outputs);
        const call = {
          type: "function_call",
          id: `fc_c${index}`,
          call_id: `c${index}`,
          name: tool,
          ...(isCodexs ? {} : { namespace: "mcp__box" }),
        };
        return [{ ...call, arguments: JSON.stringify(words) }];
      }),
    );
    await Deno.writeTextFile(
      `${home}/codex/config.toml`,
      configuration(model.baseUrl("mcp"), features) + server(place),
    );
    const env = { PATH: "/usr/bin:/bin", HOME: home, CODEX_HOME: `${home}/codex`, RUST_LOG: "warn" };
    const app = await CodexAppServer.start({ codex: codexBin(), env, cwd: place.work });
    return new McpScene(app, place, {
      outputs: log.outputs,
      close: async () => {
        await model.close();
        await Deno.remove(home, { recursive: true });
      },
    });
  }

  /** What the model was told of a call. */
  text(index: number): string {
    return this.outputs.get(`c${index}`)?.text ?? "";
  }

  /** The result in what the model was told. */
  // deno-lint-ignore no-explicit-any
  result(index: number): any {
    const json = /\{"exit_code".*\}/s.exec(this.text(index))?.[0];
    assert.ok(json !== undefined, `call ${index} has no result: ${this.text(index)}`);
    return JSON.parse(json);
  }

  async turn(thread: Record<string, unknown> = {}): Promise<{ threadId: string; turnId: string }> {
    return await this.app.startTurn({
      cwd: this.place.work,
      sandbox: "read-only",
      approvalPolicy: "on-request",
      ...thread,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.app[Symbol.asyncDispose]();
    await this.#close();
  }
}

function configuration(baseUrl: string, features: string): string {
  return `model = "gpt-5.5"
model_provider = "mock"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
${features}
[model_providers.mock]
name = "mock"
base_url = "${baseUrl}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`;
}

interface ChildOptions {
  readonly words?: readonly string[];
  /** Further lines of its table. */
  readonly more?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The server as a child of codex, or of a machine. */
export function child({ command, rules }: Place, { words = [], more = "", env = {} }: ChildOptions = {}): string {
  const [program, ...args] = [...command, "--rules", rules, ...words];
  const variables = Object.entries({ DENO_DIR: runtimeCache(), ...env });
  return `[mcp_servers.box]
command = ${JSON.stringify(program)}
args = ${JSON.stringify(args)}
default_tools_approval_mode = "approve"
required = true
startup_timeout_sec = 60
${more}
[mcp_servers.box.env]
${variables.map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join("\n")}
`;
}
