import assert from "node:assert/strict";
import { parseArgs } from "node:util";
import { CliError } from "../../src/cli/cli_error.ts";
import { environmentVariable, type FlagTable, parseFlags } from "../../src/cli/flags.ts";
import { Random } from "../support/random.ts";

const TABLE = {
  listen: { section: "A", kind: "text", placeholder: "URL", default: "here", help: "" },
  issuer: { section: "A", kind: "text", placeholder: "TEXT", default: null, help: "" },
  mode: { section: "A", kind: "choice", choices: ["slow", "fast", "best"], default: null, help: "" },
  "wait-ms": { section: "A", kind: "integer", min: 1, max: 5000, default: 30, help: "" },
  loud: { section: "A", kind: "switch", default: false, help: "" },
  "allow-direct-exec": { section: "A", kind: "switch", default: true, help: "" },
  help: { section: "B", kind: "action", short: "h", help: "" },
  version: { section: "B", kind: "action", short: "V", help: "" },
} as const satisfies FlagTable;

const DEFAULTS = {
  listen: "here",
  issuer: null,
  mode: null,
  "wait-ms": 30,
  loud: false,
  "allow-direct-exec": true,
};

type Env = Record<string, string>;

function valuesOf(argv: string[], env: Env = {}): Record<string, unknown> {
  const parsed = parseFlags(TABLE, argv, env);
  assert.equal(parsed.type, "values");
  return parsed.type === "values" ? { ...parsed.values } : {};
}

function complaintOf(argv: string[], env: Env = {}): string {
  try {
    parseFlags(TABLE, argv, env);
  } catch (error) {
    assert.ok(error instanceof CliError, String(error));
    assert.equal(error.exitCode, 2, error.message);
    return error.message;
  }
  assert.fail(`accepted: ${JSON.stringify(argv)} ${JSON.stringify(env)}`);
}

Deno.test("parseFlags() gives every flag its default when nothing is written", () => {
  assert.deepEqual(parseFlags(TABLE, [], {}), {
    type: "values",
    values: DEFAULTS,
    givenAs: {},
    positionals: [],
    place: null,
  });
});

Deno.test("parseFlags() reads every kind of value, after a space or an equals sign", () => {
  const cases: [string[], Record<string, unknown>][] = [
    [["--listen", "ws://x"], { listen: "ws://x" }],
    [["--listen=ws://x?a=b"], { listen: "ws://x?a=b" }],
    [["--listen", "-"], { listen: "-" }],
    [["--listen=--odd"], { listen: "--odd" }],
    [["--mode", "fast"], { mode: "fast" }],
    [["--mode=best"], { mode: "best" }],
    [["--wait-ms", "1"], { "wait-ms": 1 }],
    [["--wait-ms=5000"], { "wait-ms": 5000 }],
    [["--wait-ms", "0007"], { "wait-ms": 7 }],
    [["--loud"], { loud: true }],
    [["--allow-direct-exec"], { "allow-direct-exec": true }],
    [["--no-allow-direct-exec"], { "allow-direct-exec": false }],
    [["--loud", "--mode", "slow", "--listen", "a"], { loud: true, mode: "slow", listen: "a" }],
  ];
  for (const [argv, expected] of cases) assert.deepEqual(valuesOf(argv), { ...DEFAULTS, ...expected }, argv.join(" "));
});

Deno.test("parseFlags() takes a flag over its variable and a variable over the default", () => {
  const env = { EXEC_SERVER_LISTEN: "from-env", EXEC_SERVER_WAIT_MS: "9", EXEC_SERVER_MODE: "slow" };
  const parsed = parseFlags(TABLE, ["--listen", "from-flag"], env);
  assert.deepEqual(parsed, {
    type: "values",
    values: { ...DEFAULTS, listen: "from-flag", "wait-ms": 9, mode: "slow" },
    givenAs: { listen: "--listen", "wait-ms": "EXEC_SERVER_WAIT_MS", mode: "EXEC_SERVER_MODE" },
    positionals: [],
    place: null,
  });
});

Deno.test("parseFlags() does not look at the variable of a flag that is given", () => {
  assert.equal(valuesOf(["--wait-ms", "5"], { EXEC_SERVER_WAIT_MS: "nonsense" })["wait-ms"], 5);
});

Deno.test("parseFlags() reads switches from variables as true, false, 1 or 0", () => {
  for (const [text, expected] of [["true", true], ["1", true], ["false", false], ["0", false]] as const) {
    assert.equal(valuesOf([], { EXEC_SERVER_LOUD: text })["loud"], expected);
    assert.equal(valuesOf([], { EXEC_SERVER_ALLOW_DIRECT_EXEC: text })["allow-direct-exec"], expected);
  }
  assert.equal(
    valuesOf(["--no-allow-direct-exec"], { EXEC_SERVER_ALLOW_DIRECT_EXEC: "1" })["allow-direct-exec"],
    false,
  );
});

Deno.test("parseFlags() checks variables by the rules of their flags and names them", () => {
  const cases: [Env, string][] = [
    [{ EXEC_SERVER_LISTEN: "" }, "EXEC_SERVER_LISTEN must not be empty"],
    [{ EXEC_SERVER_MODE: "" }, 'EXEC_SERVER_MODE must be slow, fast or best, not ""'],
    [{ EXEC_SERVER_WAIT_MS: "0" }, 'EXEC_SERVER_WAIT_MS must be a whole number from 1 to 5000, not "0"'],
    [{ EXEC_SERVER_LOUD: "yes" }, 'EXEC_SERVER_LOUD must be true, false, 1 or 0, not "yes"'],
    [{ EXEC_SERVER_LOUD: "" }, 'EXEC_SERVER_LOUD must be true, false, 1 or 0, not ""'],
  ];
  for (const [env, message] of cases) assert.equal(complaintOf([], env), message);
});

Deno.test("parseFlags() ignores variables that belong to no flag", () => {
  const env = { EXEC_SERVER_PORT: "tcp://10.0.0.1:80", EXEC_SERVER_HELP: "1", EXEC_SERVER_VERSION: "1", LISTEN: "x" };
  assert.deepEqual(valuesOf([], env), DEFAULTS);
});

Deno.test("parseFlags() refuses values of the wrong form, naming flag, rule and value", () => {
  const range = "--wait-ms must be a whole number from 1 to 5000, not";
  const cases: [string[], string][] = [
    ...["0", "5001", "-1", "1.5", "1e3", "0x10", "+5", " 5", "5 ", "1_000", "9".repeat(60), "NaN", "٣"].map((
      text,
    ): [string[], string] => [["--wait-ms", text], `${range} ${JSON.stringify(text)}`]),
    [["--wait-ms="], `${range} ""`],
    [["--mode", "faster"], '--mode must be slow, fast or best, not "faster"'],
    [["--mode=SLOW"], '--mode must be slow, fast or best, not "SLOW"'],
    [["--listen="], "--listen must not be empty"],
    [["--listen", ""], "--listen must not be empty"],
    [["--listen"], "--listen needs a value"],
    [["--listen", "--loud"], '--listen needs a value; write one that begins with "-" as --listen=VALUE'],
    [["--loud=true"], "--loud takes no value"],
    [["--no-allow-direct-exec=1"], "--no-allow-direct-exec takes no value"],
    [["--help=x"], "--help takes no value"],
  ];
  for (const [argv, message] of cases) assert.equal(complaintOf(argv), message);
});

Deno.test("parseFlags() refuses a flag that is given twice, however it is written", () => {
  for (
    const argv of [
      ["--listen", "a", "--listen=b"],
      ["--listen", "a", "--listen", "a"],
      ["--loud", "--loud"],
      ["--allow-direct-exec", "--no-allow-direct-exec"],
    ]
  ) assert.match(complaintOf(argv), /^--[\w-]+ is given more than once$/);
});

Deno.test("parseFlags() refuses an unknown flag, naming the nearest and never its value", () => {
  const cases: [string, string][] = [
    ["--lisen", 'unknown flag "--lisen": did you mean --listen?'],
    ["--lisen=secret", 'unknown flag "--lisen": did you mean --listen?'],
    ["--Listen", 'unknown flag "--Listen": did you mean --listen?'],
    ["--wait", 'unknown flag "--wait": did you mean --wait-ms?'],
    ["--no-allow-direct", 'unknown flag "--no-allow-direct": did you mean --no-allow-direct-exec?'],
    ["--no-listen", 'unknown flag "--no-listen": did you mean --listen?'],
    ["-listen", 'unknown flag "-listen": did you mean --listen?'],
    ["-listen=secret", 'unknown flag "-listen": did you mean --listen?'],
    ["-hV", 'unknown flag "-hV": see --help'],
    ["-h=1", 'unknown flag "-h": see --help'],
    ["-x", 'unknown flag "-x": see --help'],
    ["--h", 'unknown flag "--h": see --help'],
    ["--qqqqqqqq", 'unknown flag "--qqqqqqqq": see --help'],
    ["--__proto__", 'unknown flag "--__proto__": see --help'],
    ["--constructor", 'unknown flag "--constructor": see --help'],
    ["--\x1b[31m", 'unknown flag "--\\u001b[31m": see --help'],
    ["--\x9b31m", 'unknown flag "--\\u009b31m": see --help'],
    ["--no-loud", 'unknown flag "--no-loud": see --help'],
  ];
  for (const [word, message] of cases) assert.equal(complaintOf([word]), message);
  assert.equal(complaintOf(["--listen", "a", "-ab", "-path"]), 'unknown flag "-ab": see --help');
  assert.equal(complaintOf(["--listen", "a", "-path", "-ab"]), 'unknown flag "-path": see --help');
});

Deno.test("parseFlags() answers help and version whatever else is written", () => {
  for (const argv of [["--help"], ["-h"], ["--lisen", "x", "-h"], ["--wait-ms", "0", "--help"], ["-h", "-V"]]) {
    assert.deepEqual(parseFlags(TABLE, argv, { EXEC_SERVER_MODE: "bad" }), { type: "action", action: "help" });
  }
  for (const argv of [["--version"], ["-V"], ["-V", "-h"], ["--loud", "--loud", "-V"], ["-abc", "x", "-V"]]) {
    assert.deepEqual(parseFlags(TABLE, argv, {}), { type: "action", action: "version" });
  }
});

Deno.test("parseFlags() hands on words that are not flags, and everything after --", () => {
  const parsed = parseFlags(TABLE, ["one", "--loud", "two", "--", "--help", "--mode"], {});
  assert.deepEqual(parsed.type === "values" && parsed.positionals, ["one", "two", "--help", "--mode"]);
});

Deno.test("parseFlags() splits argv as parseArgs of node:util does", () => {
  const pieces = [
    "--listen",
    "--listen=a=b",
    "--issuer",
    "--issuer=",
    "x",
    "-",
    "--",
    "--loud",
    "--wait-ms",
    "7",
    "-1",
  ];
  const options = { listen: "string", issuer: "string", loud: "boolean", "wait-ms": "string" } as const;
  const random = new Random(13);
  let compared = 0;
  for (let round = 0; round < 2000; round++) {
    const argv = Array.from({ length: random.int(6) }, () => random.pick(pieces));
    let ours: ReturnType<typeof parseFlags>;
    try {
      ours = parseFlags(TABLE, argv, {});
    } catch {
      continue; // Judged after splitting, which is what the other tests are about.
    }
    const { values, positionals } = parseArgs({
      args: argv,
      options: Object.fromEntries(Object.entries(options).map(([name, type]) => [name, { type }])),
      strict: false,
      allowPositionals: true,
    });
    assert.ok(ours.type === "values");
    assert.deepEqual(ours.positionals, positionals, argv.join(" "));
    const given = Object.entries(ours.values).filter(([name]) => (ours.givenAs as Env)[name] !== undefined);
    const expected = Object.entries(values).map(([name, value]) => [name, name === "wait-ms" ? Number(value) : value]);
    assert.deepEqual(Object.fromEntries(given), Object.fromEntries(expected), argv.join(" "));
    compared++;
  }
  assert.ok(compared > 200, `${compared} command lines were taken`);
});

Deno.test("environmentVariable() derives the name from the flag; actions have none", () => {
  assert.equal(environmentVariable("wait-ms", TABLE["wait-ms"]), "EXEC_SERVER_WAIT_MS");
  assert.equal(environmentVariable("help", TABLE.help), null);
});
