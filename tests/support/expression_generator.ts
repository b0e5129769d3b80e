/** Expressions of rule files that nobody wrote: mostly of the type that is asked for, from the random numbers given. */

import type { Random } from "./random.ts";

export class ExpressionGenerator {
  readonly #random: Random;
  /** Variables that may be used. */
  names: string[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  any(depth: number): string {
    return this.#random.pick([
      () => this.integer(depth),
      () => this.string(depth),
      () => this.boolean(depth),
      () => this.list(depth),
      () => this.#other(depth),
      () => this.names.length > 0 ? this.#random.pick(this.names) : "None",
    ])();
  }

  integer(depth: number): string {
    const random = this.#random;
    if (depth <= 0 || random.chance(0.3)) return random.pick(["0", "1", "2", "7", "-3", "0x1f", "10", "1000000007"]);
    return random.pick([
      () =>
        `(${this.integer(depth - 1)} ${random.pick(["+", "-", "*", "//", "%", "&", "|", "^"])} ${
          this.integer(depth - 1)
        })`,
      () => `len(${this.list(depth - 1)})`,
      () => `len(${this.string(depth - 1)})`,
      () => `${this.string(depth - 1)}.${random.pick(["find", "count", "rfind"])}(${this.string(0)})`,
      () => `abs(${this.integer(depth - 1)})`,
      () => `min(${this.integer(depth - 1)}, ${this.integer(depth - 1)})`,
      () => `max([${this.integer(depth - 1)}, ${this.integer(depth - 1)}])`,
      () => `(${this.integer(depth - 1)} if ${this.boolean(depth - 1)} else ${this.integer(depth - 1)})`,
      () => `(${random.int(1000)} << ${random.int(20)})`,
      () => `-${this.integer(depth - 1)}`,
      () => `~${this.integer(depth - 1)}`,
      () => `int("${random.int(100)}")`,
      () => `(lambda q: q + ${this.integer(depth - 1)})(${this.integer(depth - 1)})`,
      () => `hash(${this.string(0)})`,
    ])();
  }

  string(depth: number): string {
    const random = this.#random;
    if (depth <= 0 || random.chance(0.3)) {
      return random.pick([
        '"a"',
        "'b c'",
        'r"\\d"',
        '"x\\n\\t\\"é"',
        '"""t\nu"""',
        '"\\x41\\u00e9"',
        '""',
        '"Hello World"',
      ]);
    }
    return random.pick([
      () => `(${this.string(depth - 1)} + ${this.string(depth - 1)})`,
      () => `(${this.string(depth - 1)} * ${random.int(4)})`,
      () =>
        `${this.string(depth - 1)}.${
          random.pick(["upper", "lower", "title", "strip", "capitalize", "lstrip", "rstrip"])
        }()`,
      () => `${this.string(depth - 1)}.replace(${this.string(0)}, ${this.string(depth - 1)})`,
      () => `${this.string(depth - 1)}.join([str(t) for t in ${this.list(depth - 1)}])`,
      () => `str(${this.any(depth - 1)})`,
      () => `repr(${this.any(depth - 1)})`,
      () => `"%s-%r" % (${this.any(depth - 1)}, ${this.string(depth - 1)})`,
      () => `"{}{}".format(${this.string(depth - 1)}, ${this.any(depth - 1)})`,
      () => `f"{${this.integer(0)}} {${random.pick(["1", "'q'"])}!r}"`,
      () => `${this.string(depth - 1)}[${random.pick(["0:1", "::-1", "1:", ":-1", "::2", "-2:"])}]`,
      () => `(${this.string(depth - 1)} if ${this.boolean(depth - 1)} else ${this.string(depth - 1)})`,
      () => `${this.string(depth - 1)}.${random.pick(["removeprefix", "removesuffix"])}(${this.string(depth - 1)})`,
      () => `type(${this.any(depth - 1)})`,
      () => `${this.string(depth - 1)}.partition("b")[0]`,
    ])();
  }

  boolean(depth: number): string {
    const random = this.#random;
    if (depth <= 0 || random.chance(0.2)) return random.pick(["True", "False", "1 == 1.0", "None == None"]);
    return random.pick([
      () => `${this.integer(depth - 1)} ${random.pick(["<", ">", "<=", ">=", "==", "!="])} ${this.integer(depth - 1)}`,
      () => `${this.string(depth - 1)} ${random.pick(["<", "==", "!=", ">="])} ${this.string(depth - 1)}`,
      () => `(${this.boolean(depth - 1)} ${random.pick(["and", "or"])} ${this.boolean(depth - 1)})`,
      () => `(not ${this.any(depth - 1)})`,
      () => `${this.integer(depth - 1)} ${random.pick(["in", "not in"])} ${this.list(depth - 1)}`,
      () => `bool(${this.any(depth - 1)})`,
      () =>
        `${this.string(depth - 1)}.${
          random.pick(["isalpha", "isdigit", "isspace", "isupper", "islower", "istitle", "isalnum"])
        }()`,
      () => `${this.string(depth - 1)}.${random.pick(["startswith", "endswith"])}(${this.string(0)})`,
      () => `${random.pick(["any", "all"])}(${this.list(depth - 1)})`,
      () => `${this.list(depth - 1)} == ${this.list(depth - 1)}`,
    ])();
  }

  list(depth: number): string {
    const random = this.#random;
    if (depth <= 0 || random.chance(0.3)) return random.pick(["[]", "[1, 2, 3]", '["a", "b"]', "[0]", '["git", "ls"]']);
    return random.pick([
      () => `[${this.any(depth - 1)}, ${this.any(depth - 1)}]`,
      () => `(${this.list(depth - 1)} + ${this.list(depth - 1)})`,
      () => `(${this.list(depth - 1)} * ${random.int(3)})`,
      () => `[t for t in ${this.list(depth - 1)} if ${this.boolean(depth - 1)}]`,
      () => `[(s, t) for s in range(${random.int(4)}) for t in range(s)]`,
      () => `list(range(${random.int(5)}, ${random.int(9)}, ${1 + random.int(3)}))`,
      () =>
        `${this.string(depth - 1)}.${
          random.pick(["split()", "splitlines()", 'split("b")', "rsplit(None, 1)", 'split(" ", 1)'])
        }`,
      () =>
        `sorted([${this.string(depth - 1)}, ${this.string(depth - 1)}], reverse = ${random.pick(["True", "False"])})`,
      () => `sorted([${this.integer(depth - 1)}, ${this.integer(depth - 1)}], key = lambda q: -q)`,
      () => `enumerate(${this.list(depth - 1)})`,
      () => `zip(${this.list(depth - 1)}, ${this.list(depth - 1)})`,
      () => `reversed(${this.list(depth - 1)})`,
      () => `list(${this.string(depth - 1)}.elems())`,
      () => `${this.list(depth - 1)}[${random.pick(["1:", ":1", "::-1", ":-1"])}]`,
      () => `{"k": 1, "j": 2}.${random.pick(["keys", "values", "items"])}()`,
    ])();
  }

  #other(depth: number): string {
    const random = this.#random;
    if (depth <= 0) return random.pick(["None", "()", "1.5"]);
    return random.pick([
      () => "None",
      () => "()",
      () => "(1,)",
      () => "1.5",
      () => "len",
      () => "range(3)",
      () => `{${this.string(0)}: ${this.any(depth - 1)}}`,
      () => `(${this.any(depth - 1)}, ${this.any(depth - 1)})`,
      () => `{t: t for t in ["a", "b"]}`,
      () => `dict([("a", ${this.any(depth - 1)})], b = 1)`,
      () => `({"a": 1} | {"b": ${this.any(depth - 1)}})`,
      () => `{"a": 1}.get(${this.string(0)}, ${this.any(depth - 1)})`,
      () => `tuple(${this.list(depth - 1)})`,
    ])();
  }
}
