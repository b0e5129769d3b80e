/**
 * The server as a library: everything a program needs to run one inside itself.
 *
 * ```ts
 * import { DEFAULT_LISTEN_URL, parseListenUrl, startServer } from "exec-server/server";
 *
 * const server = await startServer({
 *   listen: parseListenUrl(DEFAULT_LISTEN_URL),
 *   runtimePaths: { helper: { argv: ["/usr/local/bin/exec-server", "fs-helper"] } },
 * });
 * console.log(server.url);
 * await server.finished;
 * ```
 *
 * `startServer` asks nobody for a token unless it is given an `authenticator`, and logs nothing without a `log`. A program
 * that has a `Deno.serve` of its own mounts the server in it with `createHandler`.
 */

export { type RunningServer, type ServerOptions, type ServingOptions, startServer } from "./server.ts";
export { createHandler, type Handler, type HandlerOptions } from "./handler.ts";
export { type RemoteExecutorConfig, runRemoteExecutor } from "./remote_executor.ts";
export type { HelperCommand } from "../fs/confined/helper_program.ts";
export type { RuntimePaths } from "./runtime_paths.ts";
export {
  DEFAULT_LISTEN_URL,
  type ListenAddress,
  ListenUrlParseError,
  parseListenUrl,
} from "../transport/listen/listen_url.ts";
export { ListenError } from "../transport/listen/listen_error.ts";
export {
  type AuthConfig,
  type Authenticator,
  createAuthenticator,
  SharedSecret,
  TokenDigest,
  UrlToken,
} from "../transport/door/auth.ts";
export { loadTls } from "../transport/tls/load_tls.ts";
export type { SecureLayer } from "../transport/tls/secure_layer.ts";
export type { TlsFiles } from "../transport/tls/tls_files.ts";
export type { TlsLayer } from "../transport/tls/tls_layer.ts";
export { createLogger, type Logger, type LoggerOptions, type LogLevel } from "../log.ts";
