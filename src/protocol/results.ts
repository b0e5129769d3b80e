/**
 * Every result and notification as a schema. Loaded when a row is asked for its `result`, and never by a server on its
 * way to the first request.
 */

import * as z from "zod/mini";

/** The answer of methods that only do something. */
export const Nothing = z.strictObject({});
export type Nothing = Record<string, never>;

/** An OpenRPC document: `spec.ts` makes it. */
export const RpcDiscoverResult = z.looseObject({
  openrpc: z.string(),
  info: z.looseObject({ title: z.string(), version: z.string() }),
  methods: z.array(z.looseObject({ name: z.string() })),
  components: z.looseObject({}),
});

/** The parameters of `initialized`, which nobody looks at. */
export const InitializedNotification = z.optional(z.unknown());

export * from "./discovery_results.ts";
export * from "./environment_results.ts";
export * from "./fs_results.ts";
export * from "./http_results.ts";
export * from "./net_results.ts";
export * from "./process_results.ts";
