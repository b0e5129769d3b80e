/**
 * Holds frames against the published document alone, by a validator that knows nothing of our schemas: what a client
 * written from `exec-server spec` would take for right.
 */

import { Ajv, type ValidateFunction } from "ajv";
import { type JsonSchema, type SpecDocument, specDocument, type SpecMethod } from "../../src/protocol/spec.ts";

export class SpecCheck {
  readonly document: SpecDocument;
  readonly #methods: ReadonlyMap<string, SpecMethod>;
  readonly #ajv = new Ajv({ strict: false, validateFormats: false });
  readonly #compiled = new Map<JsonSchema, ValidateFunction>();

  constructor(document: SpecDocument) {
    this.document = document;
    this.#methods = new Map(document.methods.map((method) => [method.name, method]));
    this.#ajv.addSchema({ $id: "spec", components: document.components });
  }

  method(name: string): SpecMethod | undefined {
    return this.#methods.get(name);
  }

  /** Why the parameters of a request or notification do not fit; null when they do, or the document has no such method. */
  paramsProblem(name: string, params: unknown): string | null {
    const method = this.#methods.get(name);
    if (method === undefined) return null;
    // Left out is null to whoever takes none.
    return this.#problem(method["x-paramsSchema"], params === undefined ? null : params);
  }

  resultProblem(name: string, result: unknown): string | null {
    const schema = this.#methods.get(name)?.result?.schema;
    return schema === undefined ? null : this.#problem(schema, result);
  }

  /** The constraint of the method that a -32602 with this message names, if any. */
  constraintNamed(name: string, message: string): string | null {
    const constraints = this.#methods.get(name)?.["x-constraints"] ?? [];
    return constraints.find(({ refusal }) => new RegExp(refusal, "s").test(message))?.name ?? null;
  }

  #problem(schema: JsonSchema, value: unknown): string | null {
    let validate = this.#compiled.get(schema);
    if (validate === undefined) {
      validate = this.#ajv.compile(
        JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"spec#/components/')),
      );
      this.#compiled.set(schema, validate);
    }
    if (validate(value)) return null;
    return this.#ajv.errorsText(validate.errors, { dataVar: "value" });
  }
}

let loading: Promise<SpecCheck> | null = null;

/** Of the document this source makes. */
export function loadSpecCheck(): Promise<SpecCheck> {
  return loading ??= specDocument().then((document) => new SpecCheck(document));
}
