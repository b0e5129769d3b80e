/**
 * Random values that fit a JSON Schema of the protocol's document. It knows the keywords that the document uses; a value
 * is to be validated before it is relied on, since alternatives can exclude each other.
 *
 * What a text means is not in a schema, and a server really does what it is asked. So texts, and whole members where they
 * belong together, come from pools by the name of their member: nothing outside of them is ever asked for.
 */

import type { JsonSchema } from "../../src/protocol/spec.ts";
import type { Random } from "./random.ts";

export interface Pools {
  /** Whole values by the name of a member, whatever its schema says. */
  readonly members: Readonly<Record<string, readonly unknown[]>>;
  /** The same, but only sometimes: else they are made from the schema. */
  readonly sometimes: Readonly<Record<string, readonly unknown[]>>;
  /** Texts that no pool is for. */
  readonly texts: readonly string[];
  /** Members that are given more seldom than others. */
  readonly seldom: readonly string[];
  /** Members that no schema has, and their values. */
  readonly unknownMembers: Readonly<Record<string, readonly unknown[]>>;
}

const OPTIONAL_CHANCE = 0.35;
const SELDOM_CHANCE = 0.1;
const UNKNOWN_CHANCE = 0.04;
const MAX_ITEMS = 3;

export class SchemaValues {
  readonly #random: Random;
  readonly #pools: Pools;
  readonly #components: Readonly<Record<string, JsonSchema>>;

  constructor(random: Random, pools: Pools, components: Readonly<Record<string, JsonSchema>>) {
    this.#random = random;
    this.#pools = pools;
    this.#components = components;
  }

  make(schema: JsonSchema, name = ""): unknown {
    const pool = this.#pools.members[name] ?? (this.#random.chance(0.5) ? this.#pools.sometimes[name] : undefined);
    if (pool !== undefined) return this.#random.pick(pool);
    if (typeof schema.$ref === "string") return this.make(this.#components[schema.$ref.split("/").at(-1)!]!, name);
    if (schema.allOf !== undefined) return this.make(schema.allOf[0]!, name);
    // Alternatives that only say what is required leave the members to the whole.
    const alternatives = [...schema.anyOf ?? [], ...schema.oneOf ?? []];
    if (schema.properties === undefined && alternatives.length > 0) {
      return this.make({ ...schema, anyOf: [], oneOf: [], ...this.#random.pick(alternatives) }, name);
    }
    const required = alternatives.length === 0 ? [] : this.#random.pick(alternatives).required ?? [];
    if ("const" in schema) return schema.const;
    if (Array.isArray(schema.enum)) return this.#random.pick(schema.enum);
    const type = Array.isArray(schema.type) ? this.#random.pick(schema.type) : schema.type;
    switch (type) {
      case "null":
        return null;
      case "boolean":
        return this.#random.chance(0.5);
      case "integer":
        return this.#integer(Number(schema.minimum ?? -1000), Number(schema.maximum ?? 1000));
      case "array":
        return this.#items(schema, name);
      case "object":
        return this.#object(schema, required);
      default:
        return this.#text(schema);
    }
  }

  #integer(least: number, most: number): number {
    const usual = [0, 1, 2, 5, 80, 4096, least, least + 1, most].filter((value) => value >= least && value <= most);
    return this.#random.pick(usual);
  }

  #items({ items = {}, minItems }: JsonSchema, name: string): unknown[] {
    const count = Math.max(Number(minItems ?? 0), this.#random.int(MAX_ITEMS + 1));
    return Array.from({ length: count }, () => this.make(items, name));
  }

  #object({ properties = {}, required = [], additionalProperties }: JsonSchema, more: readonly string[]): unknown {
    const made: Record<string, unknown> = {};
    const needed = [...required, ...more];
    for (const [name, schema] of Object.entries(properties)) {
      const chance = this.#pools.seldom.includes(name) ? SELDOM_CHANCE : OPTIONAL_CHANCE;
      if (needed.includes(name) || this.#random.chance(chance)) made[name] = this.make(schema, name);
    }
    if (additionalProperties === false) return made;
    for (const [name, values] of Object.entries(this.#pools.unknownMembers)) {
      if (!(name in properties) && this.#random.chance(UNKNOWN_CHANCE)) made[name] = this.#random.pick(values);
    }
    return made;
  }

  #text({ pattern }: JsonSchema): string {
    const fitting = typeof pattern === "string"
      ? this.#pools.texts.filter((text) => new RegExp(pattern).test(text))
      : this.#pools.texts;
    return this.#random.pick(fitting);
  }
}
