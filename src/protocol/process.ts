/**
 * What the methods of the process family take. `process_results.ts` has what they answer, and what is told unasked.
 *
 * The schemas also bring the several ways of saying the same thing into one form. Unknown fields are ignored, since
 * other versions exist.
 *
 * More than 300 lines: one family of methods; most lines are their schemas.
 */

import * as z from "zod/mini";
import type { ParsedPath } from "../path_uri.ts";
import { confinable, unconfinable } from "./confinable.ts";
import { addIssue, convert, type Payload } from "./convert.ts";
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
import { AboutProcess, type AboutProcessOutput } from "./process_ref.ts";
import { shellRefusal, ShellSnapshotParam } from "./shell_snapshot.ts";
import { noted } from "./wire_notes.ts";

export type * from "./process_results.ts";

// ---------------------------------------------------------------- process/start

/** How a child is connected. */
export const ProcessIoField = z.discriminatedUnion("type", [
  z.object({ type: z.literal("pipe"), stdin: oneOf(["open", "closed"]) }),
  z.object({ type: z.literal("pty"), rows: TerminalExtent, cols: TerminalExtent }),
]);
export type ProcessIoField = z.output<typeof ProcessIoField>;

/** The size of a terminal nobody chose a size for. */
const DEFAULT_TERMINAL_SIZE = { rows: 24, cols: 80 } as const;

/** How the child's environment derives from the server's. Every field is required. */
export const EnvPolicy = noted(
  z.object({
    inherit: oneOf(["core", "all", "none"]),
    ignoreDefaultExcludes: z.boolean(),
    exclude: z.array(z.string()),
    set: StringMap,
    includeOnly: z.array(z.string()),
  }),
  { constraints: ["environmentPatterns"] },
);
export type EnvPolicy = z.output<typeof EnvPolicy>;

/** The sandbox object, not looked into here: absent and null mean none. */
export const SandboxField = noted(z.optional(z.unknown()), { decodedLater: "Sandbox" });

const Argv = z.array(z.string()).check(z.minLength(1, "argv must not be empty"));

/** UUIDs of any version, with or without hyphens: the id is only a label here. */
const UUID = /^(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$/;

export const ProcessMetadata = z.object({
  threadId: z.nullish(z.string().check(z.regex(UUID, "threadId must be a UUID"))),
  toolCallId: z.nullish(z.string()),
});

export const ManagedNetwork = z.object({
  loopbackPorts: z._default(z.array(Uint16), []),
  allowLocalBinding: z._default(z.boolean(), false),
});

/**
 * `latest`: the newest output is kept and the child never waits, as the reference has it. `acknowledged`: nothing is dropped
 * before the client has acknowledged it, and the child waits when there is too much of that.
 */
const OUTPUT_MODES = ["latest", "acknowledged"] as const;
export type OutputMode = (typeof OUTPUT_MODES)[number];

/** What people type: no spaces, nothing a shell would take for itself, and short enough for a column. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const NAME_RULE = "a name has 1 to 64 letters, digits, dots, dashes and underscores, and begins with a letter or digit";

/** Longest `processId`, as of the id of a message: every notification about the process repeats it. */
export const MAX_PROCESS_ID_LENGTH = 64 * 1024;

/** Fields that mean the same for both kinds of start. */
const commonStartFields = {
  /** Where a process is only named, an id that is longer is one of no process. */
  processId: z.string().check(
    z.maxLength(MAX_PROCESS_ID_LENGTH, `processId must not be longer than ${MAX_PROCESS_ID_LENGTH} characters`),
  ),
  tty: z.optional(z.boolean()),
  pipeStdin: z._default(z.boolean(), false),
  io: z.optional(ProcessIoField),
  enforceManagedNetwork: z._default(z.boolean(), false),
  managedNetwork: z.nullish(ManagedNetwork),
  metadata: z.nullish(ProcessMetadata),
  networkProxy: z.nullish(z.looseObject({})),
  shellSnapshot: z.nullish(ShellSnapshotParam),
  timeoutMs: z.nullish(PositiveMs),
  idleTimeoutMs: z.nullish(PositiveMs),
  keepOnSessionEnd: z.optional(z.boolean()),
  output: z.nullish(oneOf(OUTPUT_MODES)),
  name: z.nullish(z.string().check(z.regex(NAME, NAME_RULE))),
};

/** Either says how the child is connected. */
const SOME_CONNECTION = { anyOf: [{ required: ["tty"] }, { required: ["io"] }] };

/** What is run, where and with which variables. */
const commandFields = {
  argv: Argv,
  cwd: LocalAbsolutePath,
  env: StringMap,
  arg0: z.nullish(z.string()),
};

const DirectStart = noted(
  convert(
    z.object({
      kind: z.optional(z.literal("direct")),
      ...commonStartFields,
      ...commandFields,
      envPolicy: z.nullish(EnvPolicy),
      sandbox: SandboxField,
    }),
    (params, payload) => startRequest(params, params, payload),
  ),
  { constraints: ["snapshotShell"], json: SOME_CONNECTION },
);

/** Accepted as null, for clients that write every member. */
const NotWithPrepared = noted(z.optional(z.unknown()), { json: { type: "null" } });

export const PreparedCommand = unconfinable(z.object(commandFields), "a prepared process starts exactly as given");

const PreparedStart = noted(
  convert(
    z.object({
      kind: z.literal("prepared"),
      ...commonStartFields,
      request: PreparedCommand,
      envPolicy: NotWithPrepared,
      sandbox: NotWithPrepared,
    }),
    (params, payload) => {
      for (const name of ["envPolicy", "sandbox"] as const) {
        if (params[name] === undefined || params[name] === null) continue;
        addIssue(payload, { code: "custom", path: [name], message: `${name} is not allowed with kind \`prepared\`` });
      }
      return startRequest({ ...params, envPolicy: null, sandbox: null }, params.request, payload);
    },
  ),
  { constraints: ["snapshotShell"], json: SOME_CONNECTION },
);

/** Both kinds of start, in one form. */
export const ProcessStartParams = confinable(z.discriminatedUnion("kind", [DirectStart, PreparedStart]), {
  isConfinable: ({ kind }) => kind !== "prepared",
});

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
  readonly output: OutputMode;
  /** What people call it. Unique among the processes that have not closed. */
  readonly name: string | null;
}

type CommonStart = z.output<z.ZodMiniObject<typeof commonStartFields>> & {
  kind?: "direct" | "prepared" | undefined;
  envPolicy?: EnvPolicy | null | undefined;
  sandbox?: unknown;
};
type Command = z.output<z.ZodMiniObject<typeof commandFields>>;

function startRequest(params: CommonStart, command: Command, payload: Payload): ProcessStartRequest {
  const kind = params.kind ?? "direct";
  if (params.io === undefined && params.tty === undefined) {
    // The same issue that a required field would have given.
    const code = "invalid_type";
    if (kind === "direct") addIssue(payload, { code, expected: "boolean", path: ["tty"], input: undefined });
    else addIssue(payload, { code, expected: "object", path: ["io"], input: undefined });
  }
  const shellSnapshot = params.shellSnapshot ?? null;
  const refusal = shellSnapshot === null ? null : shellRefusal(shellSnapshot, command.argv);
  if (refusal !== null) addIssue(payload, { code: "custom", path: ["shellSnapshot"], message: refusal });
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
    output: params.output ?? "latest",
    name: params.name ?? null,
  };
}

function ioOf(tty: boolean, pipeStdin: boolean): ProcessIoField {
  if (tty) return { type: "pty", ...DEFAULT_TERMINAL_SIZE };
  return { type: "pipe", stdin: pipeStdin ? "open" : "closed" };
}

// ---------------------------------------------------------------- process/read

export const ProcessReadParams = new AboutProcess({
  afterSeq: z.nullish(UnsignedInt),
  maxBytes: z.nullish(UnsignedInt),
  waitMs: z.nullish(UnsignedInt),
});
export type ProcessReadParams = AboutProcessOutput<typeof ProcessReadParams>;

// ---------------------------------------------------------------- process/ack

export const ProcessAckParams = new AboutProcess({
  /** The client is done with every event of the process up to this number. */
  seq: UnsignedInt,
});
export type ProcessAckParams = AboutProcessOutput<typeof ProcessAckParams>;

// ---------------------------------------------------------------- process/write, process/closeStdin

/**
 * Longest `writeId`. Ids are remembered, so their size must have an end: 4096 and more of them at two bytes a character
 * stay below 16 MiB for the worst peer, and a few kilobytes for any real one.
 */
export const MAX_WRITE_ID_LENGTH = 1024;

export const ProcessWriteParams = new AboutProcess({
  chunk: Base64Bytes,
  writeId: z.optional(
    z.string().check(
      z.minLength(1, "writeId must not be empty"),
      z.maxLength(MAX_WRITE_ID_LENGTH, `writeId must not be longer than ${MAX_WRITE_ID_LENGTH} characters`),
    ),
  ),
});
export type ProcessWriteParams = AboutProcessOutput<typeof ProcessWriteParams>;

export const ProcessCloseStdinParams = new AboutProcess({});
export type ProcessCloseStdinParams = AboutProcessOutput<typeof ProcessCloseStdinParams>;

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

/** `group`: the process's own group. `foreground`: the group that has its terminal now. */
const SIGNAL_TARGETS = ["group", "foreground"] as const;
export type SignalTarget = (typeof SIGNAL_TARGETS)[number];

export const ProcessSignalParams = new AboutProcess({
  signal: oneOf(SIGNAL_NAMES),
  target: convert(z.nullish(oneOf(SIGNAL_TARGETS)), (target): SignalTarget => target ?? "group"),
});
export type ProcessSignalParams = AboutProcessOutput<typeof ProcessSignalParams>;

export const TerminateMode = z.discriminatedUnion("type", [
  z.object({ type: z.literal("force") }),
  z.object({ type: z.literal("graceful"), timeoutMs: UnsignedInt }),
]);
export type TerminateMode = z.output<typeof TerminateMode>;

export const ProcessTerminateParams = new AboutProcess({
  mode: convert(z.nullish(TerminateMode), (mode): TerminateMode => mode ?? { type: "force" }),
  /** End everything that descends from the process, too, and answer when it has ended. */
  tree: convert(z.nullish(z.boolean()), (tree) => tree ?? false),
});
export type ProcessTerminateParams = AboutProcessOutput<typeof ProcessTerminateParams>;

// ---------------------------------------------------------------- process/resize, wait, snapshot, list

export const ProcessResizeParams = new AboutProcess({ rows: TerminalExtent, cols: TerminalExtent });
export type ProcessResizeParams = AboutProcessOutput<typeof ProcessResizeParams>;

export const ProcessWaitParams = new AboutProcess({
  timeoutMs: z.nullish(UnsignedInt),
  until: convert(z.nullish(oneOf(["closed", "exited"])), (until) => until ?? "closed"),
});
export type ProcessWaitParams = AboutProcessOutput<typeof ProcessWaitParams>;

export const ProcessSnapshotParams = new AboutProcess({});
export type ProcessSnapshotParams = AboutProcessOutput<typeof ProcessSnapshotParams>;

/**
 * `session`: what this session started. `server`: that, and what any session of the server asked to be kept. Without a
 * scope: what this session started, and what outlived its session.
 */
const LIST_SCOPES = ["session", "server"] as const;

export const ProcessListParams = z.nullish(z.strictObject({
  scope: z.nullish(oneOf(LIST_SCOPES)),
  /** The `nextAfter` of an earlier answer: the list goes on there. */
  after: z.nullish(noted(z.string(), { constraints: ["listPlace"] })),
  /** Whether each entry has `details`, which takes a look at every process of the machine. */
  details: z.nullish(z.boolean()),
}));
export type ProcessListParams = z.output<typeof ProcessListParams>;
