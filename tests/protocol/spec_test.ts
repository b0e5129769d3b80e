import assert from "node:assert/strict";
import { Ajv } from "ajv";
import metaSchema from "@open-rpc/meta-schema";
import { capabilities } from "../../src/environment/capability_flags.ts";
import { METHODS, NOTIFICATIONS } from "../../src/protocol/methods.ts";
import type { JsonSchema, SpecDocument } from "../../src/protocol/spec.ts";
import { CONSTRAINTS } from "../../src/protocol/spec/constraints.ts";
import { FLAG_TEXTS } from "../../src/protocol/spec/flags.ts";
import { METHOD_TEXTS, NOTIFICATION_TEXTS } from "../../src/protocol/spec/texts.ts";
import { loadSpecCheck } from "../support/spec_check.ts";

const DRAFT_07 = "http://json-schema.org/draft-07/schema#";

Deno.test("the document is valid OpenRPC by its meta-schema, and its schemas are valid JSON Schema draft 07", async () => {
  const { document } = await loadSpecCheck();
  assert.equal(metaProblems(document), null);

  // The validator does find what is wrong.
  const method = document.methods[0]!;
  assert.match(metaProblems({ ...document, methods: [{ ...method, params: undefined }] })!, /params/);
  assert.match(metaProblems({ ...document, openrpc: "9.0.0" })!, /openrpc/);
  const [param] = method.params;
  const wrong = { ...method, params: [{ ...param!, schema: { type: "text" } }] };
  assert.notEqual(metaProblems({ ...document, methods: [wrong] }), null);
});

/** What the OpenRPC meta-schema finds wrong, or null. */
function metaProblems(document: object): string | null {
  const { openrpcDocument } = metaSchema as unknown as { openrpcDocument: Record<string, unknown> };
  const { $schema: _, ...meta } = openrpcDocument;
  // It refers to draft 07 by an address that nothing answers here.
  const text = JSON.stringify(meta).replaceAll('{"$ref":"https://meta.json-schema.tools"}', `{"$ref":"${DRAFT_07}"}`)
    .replaceAll(/"https:\/\/meta\.json-schema\.tools\/#[^"]*\$ref"/g, `"${DRAFT_07}/properties/$ref"`);
  assert.doesNotMatch(text, /meta\.json-schema\.tools/);
  const ajv = new Ajv({ strict: false, validateFormats: false });
  const validate = ajv.compile(JSON.parse(text));
  return validate(JSON.parse(JSON.stringify(document))) ? null : ajv.errorsText(validate.errors);
}

Deno.test("the document has every row of the table, and nothing else", async () => {
  const { document } = await loadSpecCheck();
  const rows = [...Object.values(METHODS), ...Object.values(NOTIFICATIONS)];
  assert.deepEqual(document.methods.map(({ name }) => name), rows.map(({ name }) => name));
  for (const row of rows) {
    const method = document.methods.find(({ name }) => name === row.name)!;
    assert.equal(method.result === undefined, "from" in row, row.name);
    assert.deepEqual([method["x-since"], method["x-capability"]], [row.since, row.capability]);
    const codes = (method.errors ?? []).map(({ code }) => code);
    assert.equal(new Set(codes).size, codes.length, `${row.name} lists a code twice`);
  }
});

Deno.test("every reference leads somewhere, and every named type is referred to", async () => {
  const { document } = await loadSpecCheck();
  const referred = new Set(
    Array.from(JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g), (match) => match[1]!),
  );
  assert.deepEqual([...referred].sort(), Object.keys(document.components.schemas).sort());
});

Deno.test("every member of every object is described", async () => {
  const { document } = await loadSpecCheck();
  assert.deepEqual(undescribed(document), [], "src/protocol/spec/ lacks a sentence: in FAMILY.ts or types.ts");
});

/** Places of members without a sentence. */
function undescribed({ methods, components }: SpecDocument): string[] {
  const missing: string[] = [];
  const look = (schema: JsonSchema, place: string) => {
    for (const form of [schema, ...schema.oneOf ?? [], ...schema.anyOf ?? []]) {
      for (const [name, member] of Object.entries(form.properties ?? {})) {
        if (member.description === undefined) missing.push(`${place}.${name}`);
      }
    }
  };
  for (const method of methods) {
    look(method["x-paramsSchema"], method.name);
    if (method.result !== undefined) look(method.result.schema, `${method.name} result`);
  }
  for (const [name, schema] of Object.entries(components.schemas)) look(schema, name);
  return missing;
}

Deno.test("every member that a text describes is a parameter, and every parameter has a text", async () => {
  const { document } = await loadSpecCheck();
  for (const { name, params } of document.methods) {
    const { params: texts } = METHOD_TEXTS[name] ?? NOTIFICATION_TEXTS[name] ?? { params: {} };
    assert.deepEqual(params.map(({ name }) => name).sort(), Object.keys(texts).sort(), name);
    for (const { name: param, description } of params) assert.ok(description !== undefined, `${name} ${param}`);
  }
});

Deno.test("sentences begin like sentences and end with a stop", async () => {
  const { document } = await loadSpecCheck();
  const sentences = Array.from(JSON.stringify(document).matchAll(/"description":("(?:[^"\\]|\\.)*")/g), (match) => {
    return JSON.parse(match[1]!) as string;
  });
  assert.ok(sentences.length > 200);
  for (const sentence of sentences) assert.match(sentence, /^["A-Z0-9`][\s\S]*[.…]$/, sentence);
});

Deno.test("the flags that are explained are those that a server can have", () => {
  const flags = Object.keys(capabilities({ hasLibc: true, mayConfine: true, mayTunnel: true })).sort();
  assert.deepEqual(Object.keys(FLAG_TEXTS).sort(), flags, "explain each flag in src/protocol/spec/flags.ts");
});

Deno.test("every constraint is listed by a method, and its expression can be read", async () => {
  const { document } = await loadSpecCheck();
  const listed = new Set(document.methods.flatMap((method) => (method["x-constraints"] ?? []).map(({ name }) => name)));
  assert.deepEqual([...listed].sort(), Object.keys(CONSTRAINTS).sort());
  for (const { refusal } of Object.values(CONSTRAINTS)) new RegExp(refusal, "s");
});

Deno.test("every example fits the schemas", async () => {
  const check = await loadSpecCheck();
  for (const [name, { example }] of Object.entries(METHOD_TEXTS)) {
    assert.equal(check.paramsProblem(name, example.params), null, `params of ${name}`);
    assert.equal(check.resultProblem(name, example.result), null, `result of ${name}`);
  }
  for (const [name, { example }] of Object.entries(NOTIFICATION_TEXTS)) {
    assert.equal(check.paramsProblem(name, example.params), null, `params of ${name}`);
  }
});

Deno.test("every number is said to be whole, so that clients can read it as an integer", async () => {
  const { document } = await loadSpecCheck();
  const fractions = JSON.stringify(document).match(/"[^"]+":\{[^{}]*"type":"number"[^{}]*\}/g) ?? [];
  assert.deepEqual(fractions, []);
});
