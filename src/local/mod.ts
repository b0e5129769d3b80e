/**
 * Processes without a server of another program: right here, or on a real server inside this one. Deno only.
 *
 * @module
 */

export { LocalBackend, localBackend } from "./local_backend.ts";
export { createTestServer, LocalTestServer } from "./test_server.ts";
export * from "../client/mod.ts";
export type { LocalOptions } from "./local_options.ts";
