/**
 * The W3C trace context of a request as log fields, so that a line of the server's log can be found from a trace.
 *
 * Reading never fails: a context that does not follow the recommendation counts as none. `tracestate` belongs to the
 * tracing systems it names; it is accepted and not logged.
 */

import type { LogFields } from "../log.ts";

/** What a client may attach to a request; its content is not checked. */
export interface TraceContext {
  readonly traceparent?: string | null;
  readonly tracestate?: string | null;
}

/** `VERSION-TRACE-PARENT-FLAGS`: all there is in version 00, and how every later version must begin. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-|$)/;

const NO_FIELDS: LogFields = {};

/**
 * OpenTelemetry's names for logs in other formats: collectors find them without configuration. A `traceparent` of more
 * than `maxCharacters` counts as none.
 */
export function traceFields(trace: TraceContext | undefined, maxCharacters: number): LogFields {
  const text = trace?.traceparent;
  if (typeof text !== "string" || text.length > maxCharacters) return NO_FIELDS;
  const [, version, traceId, spanId, more] = TRACEPARENT.exec(text) ?? [];
  if (version === undefined || traceId === undefined || spanId === undefined) return NO_FIELDS;
  if (version === "ff" || (version === "00" && more !== "")) return NO_FIELDS;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return NO_FIELDS;
  return { trace_id: traceId, span_id: spanId };
}
