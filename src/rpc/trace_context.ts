/**
 * The W3C trace context of a request as log fields, so that a line of the server's log can be found from a trace.
 *
 * Reading never fails: a context that does not follow the recommendation is as good as none. `tracestate` belongs to
 * the tracing systems it names; it is accepted and has no place in our log.
 */

import type { LogFields } from "../log.ts";

/** What a client may attach to a request, not looked into. */
export interface TraceContext {
  readonly traceparent?: string | null;
  readonly tracestate?: string | null;
}

/** `VERSION-TRACE-PARENT-FLAGS`: all there is in version 00, and how every later version must begin. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-|$)/;

/** Later versions may append to the 55 characters of version 00. What goes far beyond them is no trace context. */
const MAX_TRACEPARENT_CHARS = 256;

const NO_FIELDS: LogFields = {};

/** The names are those OpenTelemetry gives for logs in formats of one's own: collectors find them without being told. */
export function traceFields(trace: TraceContext | undefined): LogFields {
  const text = trace?.traceparent;
  if (typeof text !== "string" || text.length > MAX_TRACEPARENT_CHARS) return NO_FIELDS;
  const [, version, traceId, spanId, more] = TRACEPARENT.exec(text) ?? [];
  if (version === undefined || traceId === undefined || spanId === undefined) return NO_FIELDS;
  if (version === "ff" || (version === "00" && more !== "")) return NO_FIELDS;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return NO_FIELDS;
  return { trace_id: traceId, span_id: spanId };
}
