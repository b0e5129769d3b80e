import assert from "node:assert/strict";
import { MAX_TRACEPARENT_CHARACTERS } from "../../src/protocol/limits.ts";
import { type TraceContext, traceFields as fieldsOf } from "../../src/rpc/trace_context.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

const traceFields = (trace: TraceContext | undefined) => fieldsOf(trace, MAX_TRACEPARENT_CHARACTERS);

Deno.test("traceFields() names the trace and the span of a traceparent, of this version and of later ones", () => {
  const fields = { trace_id: TRACE, span_id: SPAN };
  for (const traceparent of [`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-00`, `cc-${TRACE}-${SPAN}-01-more`]) {
    assert.deepEqual(traceFields({ traceparent, tracestate: "vendor=secret" }), fields, traceparent);
  }
});

Deno.test("traceFields() takes anything else for no trace at all", () => {
  const texts = [
    "",
    "zz",
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-01 `,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `cc-${TRACE}-${SPAN}-01-${"x".repeat(1000)}`,
    `\n00-${TRACE}-${SPAN}-01`,
  ];
  for (const traceparent of texts) assert.deepEqual(traceFields({ traceparent }), {}, traceparent);
  assert.deepEqual([traceFields(undefined), traceFields({}), traceFields({ traceparent: null })], [{}, {}, {}]);
});

Deno.test("traceFields() reads a traceparent of as many characters as its caller allows", () => {
  const traceparent = `cc-${TRACE}-${SPAN}-01-more`;
  assert.deepEqual(fieldsOf({ traceparent }, traceparent.length), { trace_id: TRACE, span_id: SPAN });
  assert.deepEqual(fieldsOf({ traceparent }, traceparent.length - 1), {});
});
