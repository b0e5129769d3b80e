import assert from "node:assert/strict";
import { childEnv } from "../../src/launch/child_env.ts";
import type { EnvPolicy } from "../../src/protocol/process.ts";
import { forSeeds } from "../support/seeds.ts";

const SERVER = {
  PATH: "/bin",
  HOME: "/home/me",
  TERM: "xterm",
  API_KEY: "k",
  my_secret_x: "s",
  TOKENS: "t",
  AWS_ID: "a",
  aws_region: "r",
  NODE_REPL_AUTH_TOKEN: "never",
};

function policy(fields: Partial<EnvPolicy> = {}): EnvPolicy {
  return { inherit: "all", ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [], ...fields };
}

const CASES: {
  claim: string;
  policy: EnvPolicy | null;
  env?: Record<string, string>;
  server?: Record<string, string>;
  expected: Record<string, string>;
}[] = [
  {
    claim: "without a policy passes the request's variables alone",
    policy: null,
    env: { ONLY: "this" },
    expected: { ONLY: "this" },
  },
  {
    claim: "inherits everything but what no child may see",
    policy: policy(),
    expected: {
      PATH: "/bin",
      HOME: "/home/me",
      TERM: "xterm",
      API_KEY: "k",
      my_secret_x: "s",
      TOKENS: "t",
      AWS_ID: "a",
      aws_region: "r",
    },
  },
  {
    claim: "inherits nothing, then sets, then overlays",
    policy: policy({ inherit: "none", set: { X: "1", S: "s" } }),
    env: { Y: "2", X: "over" },
    expected: { X: "over", S: "s", Y: "2" },
  },
  {
    claim: "inherits the core names only, spelled exactly",
    policy: policy({ inherit: "core" }),
    server: {
      PATH: "1",
      SHELL: "2",
      TMPDIR: "3",
      TEMP: "4",
      TMP: "5",
      HOME: "6",
      LANG: "7",
      LC_ALL: "8",
      LC_CTYPE: "9",
      LOGNAME: "10",
      USER: "11",
      path: "no",
      LC_TIME: "no",
      TERM: "no",
    },
    expected: {
      PATH: "1",
      SHELL: "2",
      TMPDIR: "3",
      TEMP: "4",
      TMP: "5",
      HOME: "6",
      LANG: "7",
      LC_ALL: "8",
      LC_CTYPE: "9",
      LOGNAME: "10",
      USER: "11",
    },
  },
  {
    claim: "drops names that look like credentials, in any case, before set",
    policy: policy({ ignoreDefaultExcludes: false, set: { NEW_TOKEN: "set" } }),
    expected: { PATH: "/bin", HOME: "/home/me", TERM: "xterm", AWS_ID: "a", aws_region: "r", NEW_TOKEN: "set" },
  },
  {
    claim: "drops excluded names whatever their case, before set",
    policy: policy({ exclude: ["aws_*", "?ERM", "token", "*secret*"], set: { AWS_NEW: "set" } }),
    expected: { PATH: "/bin", HOME: "/home/me", API_KEY: "k", TOKENS: "t", AWS_NEW: "set" },
  },
  {
    claim: "keeps only included names, of the set ones too, but every variable of the request",
    policy: policy({ set: { AWS_NEW: "set", OTHER: "gone" }, includeOnly: ["AWS_*", "path"] }),
    env: { MINE: "kept" },
    expected: { PATH: "/bin", AWS_ID: "a", aws_region: "r", AWS_NEW: "set", MINE: "kept" },
  },
  {
    claim: "keeps what no child may see from children even if the request names it",
    policy: policy({ inherit: "none", set: { OPENAI_FEDERATION_RULE_ID: "1" } }),
    env: {
      CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE: "1",
      CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: "1",
      NODE_REPL_AUTH_TOKEN: "1",
      OPENAI_IDENTITY_TOKEN_FILE: "1",
      OPENAI_WORKLOAD_IDENTITY_CONTEXT: "1",
      node_repl_auth_token: "another name",
    },
    expected: { node_repl_auth_token: "another name" },
  },
  {
    claim: "passes names that mean something to JavaScript",
    policy: policy({ inherit: "all", set: JSON.parse('{"__proto__":"p"}') }),
    server: { constructor: "c" },
    env: { toString: "t" },
    expected: JSON.parse('{"constructor":"c","__proto__":"p","toString":"t"}'),
  },
];

for (const { claim, policy, env = {}, server = SERVER, expected } of CASES) {
  Deno.test(`childEnv() ${claim}`, () => {
    assert.deepEqual(childEnv({ env, envPolicy: policy }, server), expected);
  });
}

function isExcluded(name: string, pattern: string): boolean {
  const env = childEnv({ env: {}, envPolicy: policy({ exclude: [pattern] }) }, { [name]: "" });
  return !(name in env);
}

const PATTERNS: [pattern: string, name: string, matches: boolean][] = [
  ["", "", true],
  ["", "A", false],
  ["*", "", true],
  ["*", "ANY", true],
  ["**", "ANY", true],
  ["?", "A", true],
  ["?", "AB", false],
  ["?", "", false],
  ["?", "😀", true],
  ["A?C", "abc", true],
  ["A*C", "ac", true],
  ["A*C", "abcb", false],
  ["*B*", "abc", true],
  ["*AB", "AAB", true],
  ["A.C", "ABC", false],
  ["A[BC]", "AB", false],
  ["A+", "AA", false],
  ["ÜBER*", "übermut", true],
  ["*ab*ab", "abxabab", true],
];

for (const [pattern, name, matches] of PATTERNS) {
  Deno.test(`pattern \`${pattern}\` ${matches ? "matches" : "does not match"} the name \`${name}\``, () => {
    assert.equal(isExcluded(name, pattern), matches);
  });
}

Deno.test("patterns match as the same regular expressions do", async () => {
  await forSeeds(3000, (random) => {
    const text = (alphabet: string[], length: number) =>
      Array.from({ length: random.int(length) }, () => random.pick(alphabet)).join("");
    const pattern = text(["a", "b", "*", "?"], 8);
    const name = text(["a", "b"], 10);
    const expression = new RegExp(`^${pattern.replaceAll("*", ".*").replaceAll("?", ".")}$`);
    assert.equal(isExcluded(name, pattern), expression.test(name), `${pattern} on ${name}`);
  });
});

Deno.test("a pattern made to blow up a backtracking matcher is answered", () => {
  // A matcher that goes back and tries again would need longer than anybody can wait.
  assert.equal(isExcluded("a".repeat(5000), "a*".repeat(500) + "b"), false);
});
