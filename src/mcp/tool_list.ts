/** The tools as clients see them. `shell` is the reference's tool; the others are ours. */

import { DEFAULT_POLL_WAIT_MS, DEFAULT_TIMEOUT_WITH_HANDLES_MS, DEFAULT_YIELD_MS } from "./limits.ts";

export interface ToolListOptions {
  /** Whether there are also `shell_poll`, `shell_input` and `shell_stop`. */
  readonly hasHandles: boolean;
  /** What commands may do unless the client says otherwise; null: nothing is claimed about that. */
  readonly annotatedSandbox: "read-only" | "workspace-write" | null;
}

export interface ToolDescription {
  readonly [key: string]: unknown;
  readonly name: string;
  readonly description: string;
  readonly inputSchema: {
    readonly [key: string]: unknown;
    readonly type: "object";
    readonly properties: Record<string, Record<string, unknown>>;
    readonly required: string[];
  };
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
}

/** One type each, because some clients cannot pass on several. Null still counts as absent, as in the reference. */
const SHELL_PROPERTIES = {
  command: { description: "The bash string to execute.", type: "string" },
  workdir: {
    description: "The working directory to execute the command in. Must be an absolute path.",
    type: "string",
  },
  timeout_ms: {
    description: "The timeout for the command in milliseconds.",
    type: "integer",
    minimum: 0,
  },
  login: { description: "Launch Bash with -lc instead of -c: defaults to true.", type: "boolean" },
};

const SHELL_TEXT = "Runs a shell command and returns its output. You MUST provide the workdir as an absolute path.";

const seconds = (ms: number) => `${ms / 1000} s`;
const waitMs = {
  description: `How long to wait for new output or the end, in milliseconds: defaults to ${
    seconds(DEFAULT_POLL_WAIT_MS)
  }, at most ${seconds(DEFAULT_YIELD_MS)}.`,
  type: "integer",
  minimum: 0,
};
const handle = { description: "The handle that shell returned.", type: "string" };

const SHELL_WITH_HANDLES = {
  ...SHELL_PROPERTIES,
  timeout_ms: {
    ...SHELL_PROPERTIES.timeout_ms,
    description: `The timeout for the command in milliseconds: defaults to ${
      seconds(DEFAULT_TIMEOUT_WITH_HANDLES_MS)
    }. The time goes on after the call has returned a handle.`,
  },
  yield_ms: {
    description:
      `Return after this time even if the command still runs, with its output so far and a handle: defaults to ${
        seconds(DEFAULT_YIELD_MS)
      }.`,
    type: "integer",
    minimum: 0,
  },
  stdin: {
    description: "Keep standard input open for shell_input: defaults to false, which gives the command an empty one.",
    type: "boolean",
  },
  merge_output: {
    description:
      "Return stdout and stderr in the order written: defaults to false, which returns all stdout before all stderr.",
    type: "boolean",
  },
};

export function toolList({ hasHandles, annotatedSandbox }: ToolListOptions): ToolDescription[] {
  const annotations = {
    readOnlyHint: annotatedSandbox === "read-only",
    destructiveHint: annotatedSandbox !== "read-only",
    idempotentHint: false,
    openWorldHint: annotatedSandbox === null,
  };
  const tool = (
    name: string,
    description: string,
    [properties, required]: [Record<string, Record<string, unknown>>, string[]],
  ): ToolDescription => ({ name, description, inputSchema: { type: "object", properties, required }, annotations });
  if (!hasHandles) return [tool("shell", SHELL_TEXT, [SHELL_PROPERTIES, ["command", "workdir"]])];

  const text = `${SHELL_TEXT} If a command takes longer than yield_ms, it goes on and a handle is returned: use ` +
    "shell_poll, shell_input and shell_stop with it.";
  const input = {
    handle,
    text: { description: "The text to write, including line ends.", type: "string" },
    close: { description: "End standard input after the text: defaults to false.", type: "boolean" },
    wait_ms: waitMs,
  };
  return [
    tool("shell", text, [SHELL_WITH_HANDLES, ["command", "workdir"]]),
    tool("shell_poll", "Waits for a running command and returns its new output, and its result once it has ended.", [
      { handle, wait_ms: waitMs },
      ["handle"],
    ]),
    tool(
      "shell_input",
      "Writes to the standard input of a running command that was started with stdin, then waits like shell_poll.",
      [input, ["handle"]],
    ),
    tool("shell_stop", "Ends a running command with everything it started, and returns its remaining output.", [
      { handle },
      ["handle"],
    ]),
  ];
}
