/**
 * The wire forms of the process family: what each method takes and answers, and what is told unasked.
 *
 * Parameters are schemas, which also bring the several ways of saying the same thing into one form. Results and
 * notifications are types: we build them ourselves. Unknown fields are ignored, since other versions exist.
 */

import * as z from "zod";
import type { ParsedPath } from "../path_uri.ts";
import {
  Base64Bytes,
  LocalAbsolutePath,
  oneOf,
  PositiveMs,
  StringMap,
  TerminalExtent,
  Uint16,
  UnsignedInt,
} from "./primitives.ts";
import { shellRefusal, ShellSnapshotParam } from "./shell_snapshot.ts";

// ---------------------------------------------------------------- process/start

/** How a child is connected. */
export const ProcessIoField = z.discriminatedUnion("type", [
  z.object({ type: z.literal("pipe"), stdin: oneOf(["open", "closed"]) }),
  z.object({ type: z.literal("pty"), rows: TerminalExtent, cols: TerminalExtent }),
]);
export type ProcessIoField = z.output<typeof ProcessIoField>;

/** The size of a terminal nobody chose a size for. */
export const DEFAULT_TERMINAL_SIZE = { rows: 24, cols: 80 } as const;

/** How the child's environment derives from the server's. Every field is required. */
export const EnvPolicy = z.object({
  inherit: oneOf(["core", "all", "none"]),
  ignoreDefaultExcludes: z.boolean(),
  exclude: z.array(z.string()),
  set: StringMap,
  includeOnly: z.array(z.string()),
});
export type EnvPolicy = z.output<typeof EnvPolicy>;

/** The sandbox object, not looked into here: absent and null mean none. */
export const SandboxField = z.unknown().optional();

const Argv = z.array(z.string()).min(1, "argv must not be empty");

/** Of any version, with or without hyphens: the id is only a label here. */
const UUID = /^(?:[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/i;

const ProcessMetadata = z.object({
  threadId: z.string().regex(UUID, "threadId must be a UUID").nullish(),
  toolCallId: z.string().nullish(),
});

const ManagedNetwork = z.object({
  loopbackPorts: z.array(Uint16).default([]),
  allowLocalBinding: z.boolean().default(false),
});

/** Fields that mean the same for both kinds of start. */
const commonStartFields = {
  processId: z.string(),
  tty: z.boolean().optional(),
  pipeStdin: z.boolean().default(false),
  io: ProcessIoField.optional(),
  enforceManagedNetwork: z.boolean().default(false),
  managedNetwork: ManagedNetwork.nullish(),
  metadata: ProcessMetadata.nullish(),
  networkProxy: z.looseObject({}).nullish(),
  shellSnapshot: ShellSnapshotParam.nullish(),
  timeoutMs: PositiveMs.nullish(),
  idleTimeoutMs: PositiveMs.nullish(),
  keepOnSessionEnd: z.boolean().optional(),
};

/** What is run, where and with which variables. */
const commandFields = {
  argv: Argv,
  cwd: LocalAbsolutePath,
  env: StringMap,
  arg0: z.string().nullish(),
};

const DirectStart = z.object({
  kind: z.literal("direct").optional(),
  ...commonStartFields,
  ...commandFields,
  envPolicy: EnvPolicy.nullish(),
  sandbox: SandboxField,
}).transform((params, context) => startRequest(params, params, context));

const PreparedStart = z.object({
  kind: z.literal("prepared"),
  ...commonStartFields,
  request: z.object(commandFields),
  envPolicy: z.unknown().optional(),
  sandbox: z.unknown().optional(),
}).transform((params, context) => {
  for (const name of ["envPolicy", "sandbox"] as const) {
    if (params[name] === undefined || params[name] === null) continue;
    context.addIssue({ code: "custom", path: [name], message: `${name} is not allowed with kind \`prepared\`` });
  }
  return startRequest({ ...params, envPolicy: null, sandbox: null }, params.request, context);
});

/** Both kinds of start, in one form. */
export const ProcessStartParams = z.discriminatedUnion("kind", [DirectStart, PreparedStart]);

/** A start request, decoded. What was absent is null, or its default. */
export interface ProcessStartRequest {
  readonly processId: string;
  /** `prepared`: the caller has resolved environment and sandbox, and the child starts exactly as given. */
  readonly kind: "direct" | "prepared";
  readonly argv: readonly string[];
  readonly arg0: string | null;
  readonly cwd: ParsedPath;
  readonly env: Readonly<Record<string, string>>;
  readonly envPolicy: EnvPolicy | null;
  readonly io: ProcessIoField;
  readonly sandbox: unknown;
  readonly enforceManagedNetwork: boolean;
  readonly managedNetwork: z.output<typeof ManagedNetwork> | null;
  readonly metadata: z.output<typeof ProcessMetadata> | null;
  readonly networkProxy: unknown;
  readonly shellSnapshot: ShellSnapshotParam | null;
  /** The child is ended when it has run this long. */
  readonly timeoutMs: number | null;
  /** The child is ended when it has written nothing for this long. */
  readonly idleTimeoutMs: number | null;
  /** Null: as the server is set. */
  readonly keepOnSessionEnd: boolean | null;
}

type CommonStart = z.output<z.ZodObject<typeof commonStartFields>> & {
  kind?: "direct" | "prepared" | undefined;
  envPolicy?: EnvPolicy | null | undefined;
  sandbox?: unknown;
};
type Command = z.output<z.ZodObject<typeof commandFields>>;

function startRequest(params: CommonStart, command: Command, context: z.RefinementCtx): ProcessStartRequest {
  const kind = params.kind ?? "direct";
  if (params.io === undefined && params.tty === undefined) {
    // The same issue that a required field would have given.
    const code = "invalid_type";
    if (kind === "direct") context.addIssue({ code, expected: "boolean", path: ["tty"], input: undefined });
    else context.addIssue({ code, expected: "object", path: ["io"], input: undefined });
  }
  const shellSnapshot = params.shellSnapshot ?? null;
  const refusal = shellSnapshot === null ? null : shellRefusal(shellSnapshot, command.argv);
  if (refusal !== null) context.addIssue({ code: "custom", path: ["shellSnapshot"], message: refusal });
  return {
    processId: params.processId,
    kind,
    argv: command.argv,
    arg0: command.arg0 ?? null,
    cwd: command.cwd,
    env: command.env,
    envPolicy: params.envPolicy ?? null,
    io: params.io ?? ioOf(params.tty === true, params.pipeStdin),
    sandbox: params.sandbox ?? null,
    enforceManagedNetwork: params.enforceManagedNetwork,
    managedNetwork: params.managedNetwork ?? null,
    metadata: params.metadata ?? null,
    networkProxy: params.networkProxy ?? null,
    shellSnapshot,
    timeoutMs: params.timeoutMs ?? null,
    idleTimeoutMs: params.idleTimeoutMs ?? null,
    keepOnSessionEnd: params.keepOnSessionEnd ?? null,
  };
}

function ioOf(tty: boolean, pipeStdin: boolean): ProcessIoField {
  if (tty) return { type: "pty", ...DEFAULT_TERMINAL_SIZE };
  return { type: "pipe", stdin: pipeStdin ? "open" : "closed" };
}

export interface ProcessStartResult {
  processId: string;
  sandboxType: "none" | "linuxSeccomp" | "macosSeatbelt" | "windowsRestrictedToken";
}

// ---------------------------------------------------------------- process/read

export const ProcessReadParams = z.object({
  processId: z.string(),
  afterSeq: UnsignedInt.nullish(),
  maxBytes: UnsignedInt.nullish(),
  waitMs: UnsignedInt.nullish(),
});
export type ProcessReadParams = z.output<typeof ProcessReadParams>;

export type OutputStreamName = "stdout" | "stderr" | "pty";

export interface OutputChunkField {
  seq: number;
  stream: OutputStreamName;
  /** Base64. */
  chunk: string;
}

/** Why a process ended; only for clients that asked to be told. */
export type EndReasonField = "exit" | "signal" | "terminated" | "timeout" | "sessionExpired" | "serverShutdown";

/** Something a sandbox refused for the sake of the network. */
export interface NetworkDenialField {
  /** `socket(AF_INET, SOCK_STREAM)`, `connect(/run/docker.sock)`. */
  call: string;
  /** Path of the program that tried; null when it could not be learnt. */
  program: string | null;
}

/** Members of a result or notification that a client has to opt in to, since others compare whole objects. */
export interface DetailFields {
  endReason?: EndReasonField | null;
  /** `SIGTERM` and the like, when a signal ended the process. */
  signal?: string | null;
  /** So far. Null when it is not known what was refused: no sandbox, one with network, or a system that cannot tell. */
  networkDenials?: NetworkDenialField[] | null;
}

export interface ProcessReadResult extends DetailFields {
  chunks: OutputChunkField[];
  nextSeq: number;
  exited: boolean;
  exitCode: number | null;
  closed: boolean;
  failure: string | null;
  sandboxDenied: boolean;
}

// ---------------------------------------------------------------- process/write, process/closeStdin

/**
 * Longest `writeId`. Ids are remembered, so their size must have an end: 4096 and more of them at two bytes a character
 * stay below 16 MiB for the worst peer, and a few kilobytes for any real one.
 */
export const MAX_WRITE_ID_LENGTH = 1024;

export const ProcessWriteParams = z.object({
  processId: z.string(),
  chunk: Base64Bytes,
  writeId: z.string()
    .min(1, "writeId must not be empty")
    .max(MAX_WRITE_ID_LENGTH, `writeId must not be longer than ${MAX_WRITE_ID_LENGTH} characters`)
    .optional(),
});
export type ProcessWriteParams = z.output<typeof ProcessWriteParams>;

export type WriteStatus = "accepted" | "unknownProcess" | "stdinClosed" | "starting";

export interface ProcessWriteResult {
  status: WriteStatus;
}

export const ProcessCloseStdinParams = z.object({ processId: z.string() });
export type ProcessCloseStdinParams = z.output<typeof ProcessCloseStdinParams>;

export interface ProcessCloseStdinResult {
  status: WriteStatus;
}

// ---------------------------------------------------------------- process/signal, process/terminate

/**
 * `interrupt` is the reference's only name; the others follow the shell's `kill`. There is no `kill`: ending a process
 * for good is `process/terminate`, which also stops reading from it.
 */
export const SIGNAL_NAMES = [
  "interrupt",
  "term",
  "hup",
  "quit",
  "usr1",
  "usr2",
  "winch",
  "cont",
  "tstp",
  "stop",
] as const;
export type SignalName = (typeof SIGNAL_NAMES)[number];

export const ProcessSignalParams = z.object({ processId: z.string(), signal: oneOf(SIGNAL_NAMES) });
export type ProcessSignalParams = z.output<typeof ProcessSignalParams>;

export const TerminateMode = z.discriminatedUnion("type", [
  z.object({ type: z.literal("force") }),
  z.object({ type: z.literal("graceful"), timeoutMs: UnsignedInt }),
]);
export type TerminateMode = z.output<typeof TerminateMode>;

export const ProcessTerminateParams = z.object({
  processId: z.string(),
  mode: TerminateMode.nullish().transform((mode): TerminateMode => mode ?? { type: "force" }),
});
export type ProcessTerminateParams = z.output<typeof ProcessTerminateParams>;

export interface ProcessTerminateResult {
  running: boolean;
}

// ---------------------------------------------------------------- process/resize, wait, snapshot, list

export const ProcessResizeParams = z.object({ processId: z.string(), rows: TerminalExtent, cols: TerminalExtent });
export type ProcessResizeParams = z.output<typeof ProcessResizeParams>;

export const ProcessWaitParams = z.object({
  processId: z.string(),
  timeoutMs: UnsignedInt.nullish(),
  until: oneOf(["closed", "exited"]).nullish().transform((until) => until ?? "closed"),
});
export type ProcessWaitParams = z.output<typeof ProcessWaitParams>;

export interface ProcessWaitResult extends DetailFields {
  exited: boolean;
  exitCode: number | null;
  closed: boolean;
  sandboxDenied: boolean;
  failure: string | null;
  timedOut: boolean;
  nextSeq: number;
}

export const ProcessSnapshotParams = z.object({ processId: z.string() });
export type ProcessSnapshotParams = z.output<typeof ProcessSnapshotParams>;

/** The three texts are base64. */
export interface ProcessSnapshotResult {
  stdout: string;
  stderr: string;
  terminal: string;
  truncated: boolean;
  exitCode: number | null;
  running: boolean;
  nextSeq: number;
}

export { NoParams as ProcessListParams } from "./primitives.ts";

export interface ProcessListEntry {
  processId: string;
  /** Null while the child is being started. */
  pid: number | null;
  argv: readonly string[];
  cwd: string;
  tty: boolean;
  /** Since the start request was taken. */
  ageMs: number;
  exited: boolean;
  exitCode: number | null;
  closed: boolean;
  nextSeq: number;
  /** It outlived the session that started it, on purpose, and belongs to none. */
  kept: boolean;
}

export interface ProcessListResult {
  processes: ProcessListEntry[];
}

// ---------------------------------------------------------------- notifications

export interface ProcessOutputNotification extends OutputChunkField {
  processId: string;
}

export interface ProcessExitedNotification extends DetailFields {
  processId: string;
  seq: number;
  exitCode: number;
  sandboxDenied: boolean;
}

export interface ProcessClosedNotification {
  processId: string;
  seq: number;
}

/** Only for clients that asked for it. Carries no seq. */
export interface ProcessStartedNotification {
  processId: string;
}

/** Only for clients that asked for it, besides the error answer. Carries no seq. */
export interface ProcessFailedNotification {
  processId: string;
  message: string;
}
