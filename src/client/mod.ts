/**
 * A devbox in your hands, from Deno, Node, Bun and the browser.
 *
 * ```ts
 * import { connect } from "exec-server/client";
 *
 * await using box = await connect("ws://127.0.0.1:9000");
 * const { code, stdoutText } = await box.run(["uname", "-s"]);
 * ```
 *
 * Connections may be lost: the box comes back to its session by itself, and streams continue where they were.
 *
 * @module
 */

export { type Address, connect, type ConnectOptions, type TokenSource } from "./connect.ts";
export { filePins } from "./link/file_pins.ts";
export type { PinStore, RendezvousAddress } from "./link/rendezvous_transport.ts";
export { type BoxEnvironment, Devbox, type RunOptions, type RunPortion, type RunUntilOptions } from "./devbox.ts";
export type { Duration } from "./duration.ts";
export {
  AbortedError,
  ClientError,
  type ClientErrorKind,
  ConnectionLostError,
  ConnectionRefusedError,
  type FailedProcess,
  OutputGapError,
  ProcessFailedError,
  ProtocolError,
  ServerError,
  SessionExpiredError,
  TimedOutError,
  UnauthorisedError,
} from "./errors.ts";
export type { ConnectionState } from "./session/connection_state.ts";

export type { ExecBackend } from "./backend/exec_backend.ts";
export { remoteBackend } from "./backend/remote_backend.ts";

export { CommandOutput, type CommandOutputParts } from "./process/command_output.ts";
export type { ProcessEvent } from "./process/event_queue.ts";
export { OutputStream } from "./process/output_stream.ts";
export { ProcessHandle } from "./process/process_handle.ts";
export type {
  CollectOptions,
  ProcessDetails,
  ProcessInfo,
  ProcessReference,
  ProcessSnapshot,
  WaitOptions,
} from "./process/process_types.ts";
export type { EndReason, ProcessStatus } from "./process/process_status.ts";
export type { TemplateValue } from "./process/quote.ts";
export { ShellCommand } from "./process/shell_command.ts";
export type { Signal } from "./process/signals.ts";
export type { EnvPolicy, Sandbox, SpawnOptions } from "./process/spawn_options.ts";
export type { WaitForPortOptions } from "./process/wait_for_port.ts";
export type { TextMatch, WaitForOptions } from "./process/wait_for_text.ts";
export type { OutputPortion, YieldOptions } from "./process/yield_window.ts";

export { DevboxFiles } from "./fs/devbox_files.ts";
export type {
  ContentDigest,
  DirectoryEntry,
  FileInfo,
  FileOptions,
  LinkOptions,
  ListedEntry,
  ReadOptions,
  WalkOptions,
  WalkResult,
  WriteOptions,
} from "./fs/file_options.ts";
export type { CopyFailure, CopyOptions, CopyProgress, CopyResult } from "./fs/copy/copy_options.ts";
export type { BoxPath } from "./fs/paths.ts";
export type {
  DownloadOptions,
  TransferOptions,
  TransferProgress,
  TransferResult,
  UploadOptions,
} from "./fs/transfer.ts";
export { type FileChange, FileWatch, type WatchOptions } from "./fs/watch.ts";

export type { Tunnel, TunnelOptions } from "./net/tunnel.ts";

export type { CommandAddress } from "./link/command_transport.ts";
export type { OpenOptions, Transport, TransportEnd, TransportLink } from "./link/transport.ts";
export type { WebSocketLike } from "./link/standard_socket_link.ts";
export type { WebSocketConstructor } from "./link/web_socket_transport.ts";
