import assert from "node:assert/strict";
import { parseSkillMetadata } from "../../../src/environment/discovery/skill_metadata.ts";

const NONE = { dependencies: null, policy: null };

const BARE_TOOL = { description: null, transport: null, command: null, url: null, oauthCallbackPort: null };

async function toolsOf(...tools: string[]) {
  const { dependencies } = await parseSkillMetadata(
    `dependencies:\n  tools:\n${tools.map((tool) => `    - ${tool}\n`).join("")}`,
  );
  return dependencies?.tools ?? null;
}

async function policyOf(text: string) {
  return (await parseSkillMetadata(`policy: ${text}`)).policy;
}

Deno.test("parseSkillMetadata() reads tools and policy", async () => {
  const text = [
    "interface:\n  display_name: Nice",
    "dependencies:\n  tools:",
    "    - type: mcp",
    "      value: github",
    "      description: GH",
    "      transport: streamable_http",
    "      url: https://x",
    "      command: c",
    "      oauth:\n        callback_port: 8080",
    '    - {type: " env  var ", value: 1.50}',
    "policy:\n  allow_implicit_invocation: false\n  products: [codex, ChatGPT]",
  ].join("\n");
  assert.deepEqual(await parseSkillMetadata(text), {
    dependencies: {
      tools: [
        {
          type: "mcp",
          value: "github",
          description: "GH",
          transport: "streamable_http",
          command: "c",
          url: "https://x",
          oauthCallbackPort: 8080,
        },
        { type: "env var", value: "1.50", ...BARE_TOOL },
      ],
    },
    policy: { allowImplicitInvocation: false, products: ["codex", "chatgpt"] },
  });
});

Deno.test("parseSkillMetadata() leaves out tools without type or value, and texts that are too long", async () => {
  const bare = { type: "t", value: "v", ...BARE_TOOL };
  assert.deepEqual(await toolsOf("{type: t, value: v}", "{value: v}", '{type: "", value: v}', "{type: t}"), [bare]);
  assert.equal(await toolsOf("{type: t}"), null);
  const long = (length: number) => "x".repeat(length);
  assert.deepEqual(await toolsOf(`{type: t, value: v, description: ${long(1024)}}`), [{
    ...bare,
    description: long(1024),
  }]);
  assert.deepEqual(await toolsOf(`{type: t, value: v, description: ${long(1025)}, transport: ${long(65)}}`), [bare]);
  assert.equal(await toolsOf(`{type: ${long(65)}, value: v}`), null);
  assert.equal(await toolsOf(`{type: t, value: ${long(1025)}}`), null);
});

Deno.test("parseSkillMetadata() takes truth values and products as the reference does", async () => {
  assert.deepEqual(await policyOf("{}"), { allowImplicitInvocation: null, products: [] });
  assert.deepEqual(await policyOf("{allow_implicit_invocation: null}"), {
    allowImplicitInvocation: null,
    products: [],
  });
  assert.deepEqual(await policyOf("{allow_implicit_invocation: True}"), {
    allowImplicitInvocation: true,
    products: [],
  });
  assert.deepEqual(await policyOf("{other: 1, products: [CODEX, atlas]}"), {
    allowImplicitInvocation: null,
    products: ["codex", "atlas"],
  });
  assert.equal(await policyOf("{allow_implicit_invocation: yes}"), null);
  assert.equal(await policyOf('{allow_implicit_invocation: "true"}'), null);
  assert.equal(await policyOf("{products: codex}"), null);
  assert.equal(await policyOf("{products: [nope]}"), null);
});

Deno.test("parseSkillMetadata() resolves aliases, but no merge keys", async () => {
  const anchor = "a: &x {allow_implicit_invocation: true}\n";
  const allowed = async (policy: string) => (await parseSkillMetadata(anchor + policy)).policy?.allowImplicitInvocation;
  assert.equal(await allowed("policy: *x"), true);
  assert.equal(await allowed("policy:\n  <<: *x"), null);
});

Deno.test("parseSkillMetadata() takes nothing from a file it does not understand", async () => {
  const table = [
    "",
    ": bad: yaml: [",
    "- a",
    "policy: {}\npolicy: {}",
    "---\npolicy: {}\n---\npolicy: {}",
    "dependencies: 5\npolicy: {}",
    "dependencies: {tools: [mcp]}\npolicy: {}",
    "dependencies: {tools: [{type: [1], value: v}]}\npolicy: {}",
    "dependencies: {tools: [{type: t, value: v, oauth: {callback_port: 99999}}]}\npolicy: {}",
    "dependencies: {tools: [{type: t, value: v, oauth: 5}]}\npolicy: {}",
    'policy: {allow_implicit_invocation: !!bool "true"}',
    "policy: *unknown",
    "? [a]\n: b",
  ];
  for (const text of table) assert.deepEqual(await parseSkillMetadata(text), NONE, JSON.stringify(text));
});

Deno.test("parseSkillMetadata() does not expand a few lines into gigabytes", async () => {
  const lines = ["a0: &a0 [x]"];
  for (let level = 1; level < 40; level++) {
    lines.push(`a${level}: &a${level} [${Array(9).fill(`*a${level - 1}`).join(", ")}]`);
  }
  assert.deepEqual(await parseSkillMetadata(`${lines.join("\n")}\npolicy: {}`), NONE);
});
