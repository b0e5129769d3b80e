/** The tools with a client and a clock that the test moves, and shells that the test plays. */

import { InMemoryTransport } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { silentLogger } from "../../src/log.ts";
import type { AnyRecord } from "../../src/mcp/audit.ts";
import { startCommand, type StarterOptions } from "../../src/mcp/command_starter.ts";
import { ExecDecider } from "../../src/mcp/exec_decider.ts";
import { McpConnection } from "../../src/mcp/mcp_connection.ts";
import { type Era, ProtocolServers } from "../../src/mcp/protocol_server.ts";
import { ToolCalls } from "../../src/mcp/tool_calls.ts";
import { toolList } from "../../src/mcp/tool_list.ts";
import { loadRules } from "../../src/rules/mod.ts";
import { type FakeShell, FakeSupervisedShells } from "../support/fake_supervised_shells.ts";
import { ManualClock } from "../support/manual_clock.ts";
import { type McpMessage, McpPeer } from "../support/mcp_peer.ts";

export interface SceneOptions {
  readonly rules?: string;
  readonly hasHandles?: boolean;
  readonly preservesPaths?: boolean;
  readonly descriptorPrograms?: readonly string[];
  readonly escalate?: "shell" | "all";
  readonly sandbox?: "read-only" | "workspace-write";
  readonly isAnnotated?: boolean;
  readonly env?: Record<string, string>;
}

const HOME = { cwd: "/work", home: "/home/u" };

export class Scene {
  readonly shells = new FakeSupervisedShells();
  readonly clock = new ManualClock();
  readonly audit: AnyRecord[] = [];
  /** Members of sandboxes that were told to be ignored. */
  readonly ignored: string[] = [];
  readonly servers: ProtocolServers;

  constructor(options: SceneOptions = {}) {
    const { hasHandles = false, preservesPaths = false, escalate = "shell", sandbox = "read-only" } = options;
    const { isAnnotated = false } = options;
    const { clock } = this;
    const audit = { write: (record: AnyRecord) => void this.audit.push(record) };
    const rules = loadRules([{ path: "/rules/a.rules", text: options.rules ?? "" }], HOME);
    const descriptorPrograms = new Set(options.descriptorPrograms);
    const decider = new ExecDecider({
      ...{ rules: () => rules, preservesPaths, descriptorPrograms, escalate, home: HOME.home, audit, clock },
    });
    const starter: StarterOptions = {
      ...{ shells: this.shells, decider, audit, clock, sandbox, isAnnotated, escalate },
      keepRules: () => {},
      directoryFault: () => null,
      tellIgnored: (members) => void this.ignored.push(...members),
      ...{ cwd: "/work", guardedPaths: ["/rules"], env: options.env ?? { PATH: "/usr/bin" }, patchedBash: null },
      ...{ shell: "/bin/bash", intercept: "all", strictExec: false },
    };
    const calls = new ToolCalls({ hasHandles, clock, start: (args, call) => startCommand(args, call, starter) });
    const tools = toolList({ hasHandles, annotatedSandbox: isAnnotated ? sandbox : null });
    this.servers = new ProtocolServers({ tools, calls, log: silentLogger(), tmpdir: options.env?.["TMPDIR"] });
  }

  /** Lets time pass, a second at a time, until that has settled. */
  async passTimeUntil(settled: Promise<unknown>): Promise<void> {
    let isSettled = false;
    settled.catch(() => {}).finally(() => isSettled = true);
    while (!isSettled) {
      await new Promise<void>((resolve) => setTimeout(resolve, 0));
      if (!isSettled) this.clock.advance(1000);
    }
  }

  /** A command that goes on under a handle when its first call has returned. */
  async leftRunning(peer: McpPeer, args: object): Promise<{ shell: FakeShell; handle: string }> {
    const started = this.shells.next();
    const first = peer.call("shell", args);
    const shell = await started;
    await this.passTimeUntil(first);
    return { shell, handle: textOf(await first).handle };
  }

  /** A client, connected and after the handshake of its era. */
  async client(
    { era = "legacy" as Era, name = "test", capabilities = { elicitation: {} } as object } = {},
  ): Promise<SceneClient> {
    const connection = new McpConnection({ clock: this.clock, idleMs: null });
    const [near, far] = InMemoryTransport.createLinkedPair();
    const peer = new McpPeer((message) => void near.send(message as never));
    near.onmessage = (message: unknown) => peer.receive(message as McpMessage);
    await near.start();
    serveStdio((request) => this.servers.create(request.era, connection), { transport: far });
    if (era === "legacy") await peer.initialize({ name, capabilities });
    return { peer, connection };
  }
}

export interface SceneClient {
  readonly peer: McpPeer;
  readonly connection: McpConnection;
}

/** What a result's text says. */
// deno-lint-ignore no-explicit-any
export function textOf(result: any): any {
  return JSON.parse(result.content[0].text);
}
