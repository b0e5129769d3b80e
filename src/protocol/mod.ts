/** The wire contract as types and schemas. */

export { decode, decodeParams, type ParamsSchema } from "./decode_params.ts";
export * from "./environment.ts";
export * from "./fs.ts";
export * from "./handshake.ts";
export * from "./http.ts";
export * from "./limits.ts";
export * from "./method_types.ts";
export * from "./process.ts";
