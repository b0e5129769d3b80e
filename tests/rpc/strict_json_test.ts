import assert from "node:assert/strict";
import { MAX_JSON_DEPTH, MAX_JSON_VALUES, MAX_NUMBER_CHARACTERS, MESSAGE_LIMITS } from "../../src/protocol/limits.ts";
import { parseStrictJson as parse, StrictJsonError } from "../../src/rpc/strict_json.ts";
import { Random } from "../support/random.ts";

const parseStrictJson = (text: string) => parse(text, MESSAGE_LIMITS);

function refuses(text: string, reason: RegExp): void {
  assert.throws(
    () => parseStrictJson(text),
    (error) => error instanceof StrictJsonError && reason.test(error.message),
    text.slice(0, 80),
  );
}

Deno.test("parseStrictJson() refuses a key given twice, at any depth and in any spelling", () => {
  for (
    const text of [
      '{"a":1,"a":2}',
      '{"a":1,"a":1}',
      '{"a":{"b":[{"c":1,"c":2}]}}',
      '{ "a" : 1 , "a" : 2 }',
      '{"a":1,"\\u0061":2}',
      '{"a":"x\\"y","a":"z"}',
      '{"":1,"":2}',
      '{"__proto__":1,"__proto__":2}',
      '{"1":"a","1":"b"}',
      // Numbers written shorter than their decimal form must not make up for the dropped member.
      '{"n":1e9,"a":1,"a":2}',
      '{"n":1e-9,"a":1,"a":2}',
      '{"n":1e20,"a":"xxxxxxxxx","a":""}',
      '{"n":[1e3,1e3,1e3,1e3],"a":1,"a":2}',
    ]
  ) refuses(text, /duplicate key/);
});

Deno.test("parseStrictJson() accepts keys that only look like duplicates", () => {
  for (
    const text of [
      '{"a":"a","b":"\\"a\\":1,\\"a\\":2"}',
      '{"a":{"a":{"a":1}}}',
      '[{"a":1},{"a":1}]',
      '{"a":"\\\\","b":"\\\\\\""}',
      '{"a":1e3,"b":0.5,"c":-0,"d":1.0,"e":12E2}',
      '  {"a" :\t1 ,\n"b": [ ] }\r\n',
      '{"__proto__":{"a":1}}',
      '"\\ud83d\\ude00"',
      '{"a":"\u00fc","\u00fc":"\ud83d\ude00"}',
    ]
  ) assert.deepEqual(parseStrictJson(text), JSON.parse(text), text);
});

Deno.test("parseStrictJson() refuses what JSON.parse does, and more", () => {
  for (const text of ["{nope", "{}x", "\ufeff{}", "[1,]", "'a'", "NaN", "01", '"\t"']) refuses(text, /not valid JSON/);
  for (const text of ["", "  \n"]) refuses(text, /empty/);
  refuses('"\\ud800"', /surrogate/);
  refuses('{"\\udfff":1}', /surrogate/);
  refuses('"\\ude00\\ud83d"', /surrogate/);
});

Deno.test("parseStrictJson() accepts numbers out of range, which its callers check", () => {
  assert.deepEqual(parseStrictJson('{"a":[1e999],"b":-1e999}'), { a: [Infinity], b: -Infinity });
  refuses('{"a":1e999,"a":1}', /duplicate/);
});

Deno.test("parseStrictJson() counts nesting from the outermost value", () => {
  const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  assert.ok(parseStrictJson(nested(MAX_JSON_DEPTH)));
  refuses(nested(MAX_JSON_DEPTH + 1), /nesting/);
  refuses('{"a":'.repeat(MAX_JSON_DEPTH + 1) + "1" + "}".repeat(MAX_JSON_DEPTH + 1), /nesting/);
});

Deno.test("parseStrictJson() counts every scalar, array and object", () => {
  const array = (values: number) => `[${new Array(values).fill("1").join(",")}]`;
  assert.equal((parseStrictJson(array(MAX_JSON_VALUES - 1)) as unknown[]).length, MAX_JSON_VALUES - 1);
  refuses(array(MAX_JSON_VALUES), /more than 262144/);
  refuses(`[${new Array(MAX_JSON_VALUES).fill("{}").join(",")}]`, /more than 262144/);
});

Deno.test("parseStrictJson() refuses hostile structure without building it", () => {
  // 64 MiB each: as values they would take gigabytes.
  refuses("[".repeat(64 << 20), /nesting/);
  refuses("[" + "[],".repeat(20 << 20), /more than 262144/);
});

Deno.test("parseStrictJson() refuses a number without end in a long text before it is read", () => {
  const number = `-1.${"5".repeat(MAX_NUMBER_CHARACTERS - 6)}e+5`;
  const pad = "x".repeat(2 * MAX_JSON_VALUES);
  for (const key of ["a", "\\u0061"]) {
    const text = (value: string) => `{"pad":"${pad}","${key}":[true,${value},1]}`;
    assert.deepEqual(parseStrictJson(text(number)), { pad, a: [true, Number(number), 1] });
    for (const long of [`${number}5`, "1".repeat(1 << 20)]) refuses(text(long), /number of more than 1024 characters/);
  }
});

Deno.test("parseStrictJson() takes a long string whole, whatever it holds", () => {
  const text = JSON.stringify({ chunk: '[,"\\'.repeat(300_000) });
  assert.deepEqual(parseStrictJson(text), JSON.parse(text));
});

Deno.test("parseStrictJson() reads escaped keys right where V8 does not", () => {
  // The first text teaches V8 the shape that makes it misread the others.
  assert.deepEqual(parseStrictJson('{"a":1,"\\\\":2}'), { a: 1, "\\": 2 });
  assert.deepEqual(parseStrictJson('{"a":1,"\\u0062":2}'), { a: 1, b: 2 });
  assert.deepEqual(parseStrictJson('{"a":[ -1.5e3 , true ] ,"\\n":{"\\u0062" : null}, "c":"\\\\"} '), {
    a: [-1500, true],
    "\n": { b: null },
    c: "\\",
  });
  refuses('{"a":1,"\\u0061":2}', /duplicate key/);
});

Deno.test("parseStrictJson() keeps every rule in a long text with escaped keys", () => {
  const long = "x".repeat(2 * MAX_JSON_VALUES);
  const text = (rest: string) => `{"pad":"${long}","\\\\":0${rest}}`;
  const expected = { pad: long, "\\": 0 };
  assert.deepEqual(parseStrictJson(text("")), expected);
  assert.deepEqual(parseStrictJson(` ${text(' , "b" :\t[ 1 , -2.5e3, "\\"" ,{ } ] \n')}\r\n`), {
    ...expected,
    b: [1, -2500, '"', {}],
  });
  const odd = parseStrictJson(text(',"__proto__":{"a":1}')) as object;
  assert.deepEqual(Object.keys(odd), ["pad", "\\", "__proto__"]);
  assert.equal(Object.getPrototypeOf(odd), Object.prototype);
  refuses(text(',"pad":1'), /duplicate key/);
  refuses(text(',"\\u0061":1,"a":2'), /duplicate key/);
  refuses(text(',"a":{"b":1,"b":1}'), /duplicate key/);
  refuses(text(',"a":"\\ud800"'), /surrogate/);
  refuses(text(',"\\udfff":1'), /surrogate/);
  refuses(text(`,"a":${"[".repeat(MAX_JSON_DEPTH)}${"]".repeat(MAX_JSON_DEPTH)}`), /nesting/);
  refuses(text(`,"a":[${"1,".repeat(MAX_JSON_VALUES)}1]`), /more than 262144/);
  for (
    const rest of [",", ',"a"', ',"a":', ',"a":1,', ',"a":01', ',"a":tru', ',"a":[1 2]', ',"a":[1,]', ",a:1", ',"a" 1']
  ) refuses(text(rest), /not valid JSON/);
  for (const wrong of [`${text("")}x`, text("").slice(0, -1), `${text("")}}`, text(',"a":"\t"')]) {
    refuses(wrong, /not valid JSON/);
  }
});

Deno.test("parseStrictJson() finds the end of strings full of escapes", () => {
  const value = { a: '\\"'.repeat(300_000), b: "\\".repeat(300_001), c: '"'.repeat(10) };
  const text = JSON.stringify(value);
  assert.deepEqual(parseStrictJson(text), value);
  assert.deepEqual(parseStrictJson(` ${text}`), value);
  refuses(text.replace('"c":', '"a":'), /duplicate key/);
});

Deno.test("parseStrictJson() reads generated documents as they were meant", () => {
  const seed = 20260501;
  const random = new Random(seed);
  for (let round = 0; round < 5000; round++) {
    const { text, value, hasDuplicate } = new Generator(random).document();
    const label = `seed ${seed} round ${round}: ${text}`;
    if (hasDuplicate) assert.throws(() => parseStrictJson(text), /duplicate key/, label);
    else assert.deepEqual(parseStrictJson(text), value, label);
  }
});

/** Writes JSON with random white space, number forms and escapes, and knows what it means without parsing it. */
class Generator {
  #hasDuplicate = false;
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  document(): { text: string; value: unknown; hasDuplicate: boolean } {
    const [text, value] = this.#value(0);
    return { text, value, hasDuplicate: this.#hasDuplicate };
  }

  #value(depth: number): [string, unknown] {
    switch (this.#random.int(depth > 4 ? 4 : 7)) {
      case 0:
        return this.#string();
      case 1:
        return this.#random.pick(NUMBERS);
      case 2:
        return this.#random.pick<[string, unknown]>([["true", true], ["false", false], ["null", null]]);
      case 3:
        return this.#random.pick<[string, unknown]>([["{}", {}], ["[]", []], ["[ ]", []], ["{\n}", {}]]);
      case 4: {
        const items = this.#several(() => this.#value(depth + 1));
        return [`[${items.map(([text]) => this.#space() + text).join(",")}]`, items.map(([, value]) => value)];
      }
      default:
        return this.#object(depth);
    }
  }

  #object(depth: number): [string, unknown] {
    const members = this.#several(() => ({ key: this.#string(), value: this.#value(depth + 1) }));
    const keys = members.map(({ key }) => key[1]);
    if (new Set(keys).size < keys.length) this.#hasDuplicate = true;
    const texts = members.map(({ key, value }) => {
      return [this.#space(), key[0], this.#space(), ":", this.#space(), value[0], this.#space()].join("");
    });
    return [`{${texts.join(",")}}`, Object.fromEntries(members.map(({ key, value }) => [key[1], value[1]]))];
  }

  #string(): [string, string] {
    return this.#random.pick(STRINGS);
  }

  #several<T>(make: () => T): T[] {
    return Array.from({ length: 1 + this.#random.int(3) }, make);
  }

  #space(): string {
    return this.#random.chance(0.1) ? this.#random.pick([" ", "\n", "\t ", "  "]) : "";
  }
}

const STRINGS: [string, string][] = [
  ['"a"', "a"],
  ['"b"', "b"],
  ['"\\u0061"', "a"],
  ['"\\""', '"'],
  ['"\\\\"', "\\"],
  ['"\\\\\\""', '\\"'],
  ['"a\\\\"', "a\\"],
  ['""', ""],
  ['"\u00fc:"', "\u00fc:"],
  ['"{\\"a\\":1}"', '{"a":1}'],
  ['"id"', "id"],
];

const NUMBERS: [string, number][] = [
  ["0", 0],
  ["-1", -1],
  ["12", 12],
  ["1e3", 1000],
  ["1E+2", 100],
  ["0.5", 0.5],
  ["1e-7", 1e-7],
  ["1000", 1000],
  ["123456789012", 123456789012],
  ["1.50", 1.5],
];
