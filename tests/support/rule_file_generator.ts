/**
 * Rule files and commands nobody wrote: programs that mostly make sense, programs with a slip in them, texts cut and spliced
 * from those, and plain soup. Everything comes from the random numbers it is given.
 */

import { ExpressionGenerator } from "./expression_generator.ts";
import type { Random } from "./random.ts";
import { DECISIONS, PATHS, PROGRAMS, SLIPS, SOUP, WORDS } from "./rule_file_words.ts";

export class RuleFileGenerator {
  readonly #random: Random;
  readonly #expressions: ExpressionGenerator;
  /** Commands that rules of the last file speak of. */
  #known: string[][] = [];

  constructor(random: Random) {
    this.#random = random;
    this.#expressions = new ExpressionGenerator(random);
  }

  /** A file that mostly makes sense; one in seven has a slip. */
  file(): string {
    this.#expressions.names = [];
    this.#known = [];
    const lines = Array.from({ length: 1 + this.#random.int(6) }, () => this.#statement(""));
    if (this.#random.chance(0.15)) {
      const slip = this.#random.pick(SLIPS);
      lines.splice(this.#random.int(lines.length + 1), 0, this.#random.chance(0.5) ? slip : `s = ${slip}`);
    }
    return lines.join("\n") + (this.#random.chance(0.9) ? "\n" : "");
  }

  /** Words without sense. */
  soup(): string {
    const words = Array.from({ length: this.#random.int(60) }, () => this.#random.pick(SOUP));
    return words.join(this.#random.chance(0.5) ? " " : "");
  }

  /** A file with pieces taken out, doubled, or put elsewhere. */
  mangled(): string {
    let text = this.file();
    for (let change = 0; change <= this.#random.int(4); change++) {
      const from = this.#random.int(text.length + 1);
      const to = from + this.#random.int(12);
      const piece = text.slice(from, to);
      const at = this.#random.int(text.length + 1);
      const added = this.#random.pick(["", piece, piece + piece, this.#random.pick(SOUP)]);
      const rest = this.#random.chance(0.6) ? text.slice(0, from) + text.slice(to) : text;
      text = rest.slice(0, at) + added + rest.slice(at);
    }
    return text;
  }

  /** A program that asks for more than it may have: time, memory, depth. */
  greedy(): string {
    const random = this.#random;
    const count = 10 ** (2 + random.int(9));
    return random.pick([
      `for i in range(${count}):\n    x = i\n`,
      `x = [${this.#expressions.string(1)}]\nfor i in range(${count}):\n    x = x + x\n`,
      `x = ${this.#expressions.string(1)} * ${count}\ny = x.replace("a", x)\n`,
      `x = 3\nfor i in range(${count}):\n    x = x * x\n`,
      `def f(n):\n    return f(n - 1) + f(n - 1) if n else 1\nf(${random.int(60)})\n`,
      `x = ${
        random.pick(["[", "(", "{1:", "-", "not ", "lambda: ", "f(", 'f"{', "1 if 1 else "]).repeat(
          1 + random.int(3000),
        )
      }`,
      `x = []\nfor i in range(${random.int(2000)}):\n    x = [x]\ny = str(x) + str(x == x)\n`,
      `x = [[0] * 100] * 100\ny = sorted([a for b in x for a in b for c in range(${random.int(1000)})])\n`,
      `x = {}\nfor i in range(${count}):\n    x[str(i) * 50] = (i, x)\n`,
      `prefix_rule([[str(i) for i in range(${count})]])\n`,
      `x = ${"1 + ".repeat(random.int(20_000))}1\n`,
      `${"if 1: pass\n".repeat(random.int(5000))}`,
      `x = "${"ab ".repeat(random.int(50_000))}".split()\n`,
    ]);
  }

  /** A command, mostly one that rules of the last file speak of, or nearly. */
  command(): string[] {
    const random = this.#random;
    const tail = Array.from({ length: random.int(3) }, () => random.pick(WORDS));
    if (this.#known.length > 0 && random.chance(0.75)) {
      const [program = "", ...rest] = random.pick(this.#known);
      const folder = random.chance(0.3)
        ? random.pick(["/usr/bin/", "/bin/", "./", "~/", "/usr/../bin/", "/tmp//"])
        : "";
      return [folder + program, ...(random.chance(0.8) ? rest : rest.slice(1)), ...tail];
    }
    return [random.chance(0.3) ? random.pick(PATHS) : random.pick(PROGRAMS), ...tail];
  }

  #statement(indent: string): string {
    const random = this.#random;
    const kind = random.int(indent === "" ? 12 : 7);
    if (kind < 5) return indent + this.#rule();
    if (kind === 5) return indent + this.#assignment();
    if (kind === 6) return indent + (random.chance(0.5) ? `pass  # ${random.pick(WORDS)}` : this.#assignment());
    if (kind === 7) return this.#hostExecutable();
    if (kind === 8) return this.#networkRule();
    if (kind === 9) {
      return `for i in ${this.#expressions.list(2)}:\n${this.#statement("    ")}\n${this.#statement("    ")}`;
    }
    if (kind === 10) {
      return `if ${this.#expressions.boolean(2)}:\n${this.#statement("  ")}\nelse:\n${this.#statement("  ")}`;
    }
    return this.#function();
  }

  #rule(): string {
    const random = this.#random;
    const args = [`${random.pick(["", "pattern = "])}${this.#pattern()}`];
    const isNamed = args[0]!.startsWith("pattern");
    if (random.chance(0.7)) {
      args.push(`${isNamed || random.chance(0.5) ? "decision = " : ""}${quote(random.pick(DECISIONS))}`);
    }
    if (random.chance(0.4)) {
      args.push(
        `justification = ${
          random.chance(0.5) ? this.#expressions.string(3) : `"=" + repr(${this.#expressions.any(3)})`
        }`,
      );
    }
    if (random.chance(0.1)) args.push(`match = [${this.#example(true)}]`);
    if (random.chance(0.1)) args.push(`not_match = [${this.#example(false)}]`);
    return `prefix_rule(${args.join(", ")}${random.pick(["", ",", " "])})`;
  }

  #pattern(): string {
    const random = this.#random;
    const alternatives = (words: readonly string[]) => {
      return Array.from({ length: random.chance(0.75) ? 1 : 1 + random.int(3) }, () => random.pick(words));
    };
    const pattern = [
      alternatives(random.chance(0.15) ? PATHS : PROGRAMS),
      ...Array.from({ length: random.int(3) }, () => alternatives(WORDS)),
    ];
    this.#known.push(pattern.map((words) => random.pick(words)));
    const written = pattern.map((words) =>
      words.length === 1 && random.chance(0.9) ? quote(words[0]!) : JSON.stringify(words)
    );
    return `[${random.chance(0.03) ? this.#expressions.list(1) : written.join(", ")}]`;
  }

  #example(isMatching: boolean): string {
    const command = isMatching && this.#random.chance(0.9) ? this.#known.at(-1)! : this.command();
    return this.#random.chance(0.6) ? JSON.stringify(command) : quote(command.map((word) => `'${word}'`).join(" "));
  }

  #hostExecutable(): string {
    const random = this.#random;
    const name = random.pick(["git", "ls", "a", "npm"]);
    const paths = Array.from({ length: this.#random.int(3) }, () => {
      return quote(
        `${
          this.#random.pick([
            "/usr/bin",
            "/usr/bin",
            "/bin",
            "/bin",
            "/usr/../bin",
            "/tmp",
            "/",
            "/bin/.",
            random.chance(0.1) ? "bin" : "/x",
          ])
        }/${name}`,
      );
    });
    return `host_executable(${quote(name)}, [${paths.join(", ")}])`;
  }

  #networkRule(): string {
    const random = this.#random;
    const mostly = (right: readonly string[], wrong: readonly string[]) => {
      return quote(random.pick(random.chance(0.95) ? right : wrong));
    };
    const host = mostly(["example.com", "EXAMPLE.com:443", "[::1]:80", "a.b."], ["*.x", "a b", "http://x", "[::1", ""]);
    const protocol = mostly(["http", "https", "https_connect", "http-connect", "socks5_tcp"], ["ftp", "HTTP"]);
    return `network_rule(${host}, ${protocol}, ${mostly([...DECISIONS, "deny"], ["x", ""])})`;
  }

  #assignment(): string {
    const name = `v${this.#random.int(4)}`;
    const text = `${name} = ${this.#expressions.any(3)}`;
    this.#expressions.names.push(name);
    return text;
  }

  #function(): string {
    const random = this.#random;
    const name = `f${random.int(3)}`;
    const [parameters = "", args = ""] = random.pick([
      ["", ""],
      ["a", "1"],
      ["a, b = 2", random.pick(["1", "1, 2", "b = 3, a = 1"])],
      ["*args", random.pick(["", "1, 2", "*[1, 2]"])],
      ["a = [], **k", random.pick(["", "a = 1", '**{"b": 1}'])],
      ["*, a = 1", random.pick(["", "a = 2"])],
      ["a: int = 3", random.pick(["", "4", "'x'"])],
      ["a", random.pick(["", "1, 2", "b = 1"])],
    ]);
    return `def ${name}(${parameters}):\n    ${random.pick(["", "y = 1\n    "])}return ${
      this.#expressions.any(2)
    }\nz = ${name}(${args})`;
  }
}

/** As a literal of the language. */
function quote(text: string): string {
  return JSON.stringify(text);
}
