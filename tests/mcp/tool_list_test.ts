import assert from "node:assert/strict";
import { toolList } from "../../src/mcp/tool_list.ts";

const hints = (annotatedSandbox: "read-only" | "workspace-write" | null) => {
  const [shell] = toolList({ hasHandles: false, annotatedSandbox });
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = shell!.annotations;
  return { readOnlyHint, destructiveHint, idempotentHint, openWorldHint };
};

Deno.test("alone, shell is the reference's tool to the letter", () => {
  const tools = toolList({ hasHandles: false, annotatedSandbox: null });
  assert.equal(tools.length, 1);
  const [{ name, description, inputSchema }] = tools as [typeof tools[0]];
  assert.equal(name, "shell");
  assert.equal(
    description,
    "Runs a shell command and returns its output. You MUST provide the workdir as an absolute path.",
  );
  assert.deepEqual(Object.keys(inputSchema.properties), ["command", "workdir", "timeout_ms", "login"]);
  assert.deepEqual(inputSchema.required, ["command", "workdir"]);
});

Deno.test("by default the tools claim nothing; annotated they claim what their sandbox makes true, and no more", () => {
  const honest = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };
  assert.deepEqual(hints(null), honest);
  assert.deepEqual(hints("read-only"), {
    ...{ readOnlyHint: true, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  });
  assert.deepEqual(hints("workspace-write"), { ...honest, openWorldHint: false });
});

Deno.test("no schema has several types in one place: some clients cannot pass that on", () => {
  for (const hasHandles of [false, true]) {
    for (const { inputSchema } of toolList({ hasHandles, annotatedSandbox: null })) {
      for (const property of Object.values(inputSchema.properties)) assert.equal(typeof property["type"], "string");
    }
  }
});
