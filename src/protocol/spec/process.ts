/** Texts and examples: processes. */

import { ABOUT_PROCESS, CONFINED, EXIT } from "./shared_texts.ts";
import type { MethodTexts } from "./text_types.ts";

const ENV = { PATH: "/usr/bin:/bin" };
const P1 = { processId: "p1" };

export const PROCESS_TEXTS: MethodTexts<
  | "process/start"
  | "process/write"
  | "process/ack"
  | "process/read"
  | "process/snapshot"
  | "process/list"
  | "process/closeStdin"
  | "process/wait"
  | "process/signal"
  | "process/resize"
  | "process/terminate"
> = {
  "process/start": {
    params: {
      processId:
        "Chosen by the client, at most 65536 characters; unique in its session until the process is forgotten. Not the number of the " +
        "operating system.",
      kind:
        "`direct` (default): `argv`, `cwd` and `env` say what to run. `prepared`: started exactly as `request` says, " +
        "without `envPolicy` and `sandbox`.",
      request: "What to run. Required with `prepared`, else without effect.",
      argv:
        "Program and arguments; no shell is involved. A program without a slash is looked for in PATH of the child. " +
        "Required unless `kind` is `prepared`.",
      cwd: "Working directory of the child. It has to exist. Required unless `kind` is `prepared`.",
      env: "All variables of the child, or, with `envPolicy`, those put on top. Required unless `kind` is " +
        "`prepared`.",
      arg0: "What the child sees as its first argument. `argv[0]` still selects the program.",
      tty: "True: on a terminal of 24 rows and 80 columns. Required unless `io` is given.",
      pipeStdin:
        "True: there is an input to write to. False: the child reads from `/dev/null`. A terminal always has one.",
      io: "How the child is connected, in place of `tty` and `pipeStdin`.",
      envPolicy: "How the variables derive from the server's. Null: only `env` counts.",
      enforceManagedNetwork: "True, with a sandbox: refused or without network, since there is no proxy to enforce.",
      managedNetwork: "Accepted, without effect.",
      metadata: "What the process is for. Logged only.",
      networkProxy: "Refused unless null: there is no proxy to start.",
      shellSnapshot: "The wish to reuse the state of a login shell.",
      timeoutMs: "The process is ended when it has run this long: SIGTERM, two seconds later SIGKILL.",
      idleTimeoutMs: "The same when it has written nothing for this long.",
      keepOnSessionEnd:
        "True: the process outlives its session, and other sessions may reach it by its `uid`. Left out: " +
        "as the server was told.",
      output:
        "What becomes of output that nobody has read: `latest` (default) drops the oldest, `acknowledged` keeps " +
        "everything until `process/ack`: the child waits when the window is full, and while the session has no " +
        "connection only at a larger bound (see `process/ack`).",
      name: "What people call it: 1 to 64 letters, digits, dots, dashes and underscores. Unique among the processes " +
        "that have not closed.",
      ...CONFINED,
    },
    result: {
      processId: "As asked.",
      uid: "Its name in the whole server. Only with `processUid`.",
      outputWindowBytes:
        "The window that is reserved: how much output may wait to be acknowledged while the session has a connection, " +
        "at least (see `process/ack`). Null with `latest`. Only with `acknowledgedOutput`.",
      sandboxType: "`none` without a sandbox object, else the system's: `linuxSeccomp` on Linux.",
    },
    notes: [
      "Answered when the program runs, before any notification about it. A program that cannot be run is -32603, and " +
      "its id stays free. Send further requests about the process without waiting for the answer: they wait for it " +
      "themselves.",
    ],
    example: {
      before: [{
        method: "process/start",
        params: { processId: "p0", argv: ["/nonexistent/program"], cwd: "/tmp/demo", env: ENV, tty: false },
      }],
      params: { ...P1, argv: ["cat"], cwd: "/tmp/demo", env: ENV, tty: false, pipeStdin: true },
      result: { ...P1, sandboxType: "none" },
    },
  },
  "process/write": {
    params: {
      ...ABOUT_PROCESS,
      chunk: "The bytes, in base64. May be empty.",
      writeId: "Chosen by the client. A write with an id that was accepted before is answered `accepted` and not " +
        "written again, so a write whose answer was lost can be repeated. The last 4096 ids of a process are " +
        "remembered, also over a resume. Left out: never taken for a repetition.",
    },
    result: {
      status: "`accepted`: queued. `stdinClosed`: there is no input (any more). `unknownProcess`. `starting`: a " +
        "process of another session that is still being started.",
    },
    notes: [
      "Writes to one process keep their order. When the child does not read, a write is answered later; nothing else " +
      "waits for it.",
    ],
    example: { params: { ...P1, chunk: "aGVsbG8K", writeId: "w1" }, result: { status: "accepted" } },
  },
  "process/read": {
    params: {
      ...ABOUT_PROCESS,
      afterSeq: "The cursor: only output with a larger number is returned. Null or 0: from the beginning.",
      maxBytes: "Stop before the chunk that would exceed this many bytes. One chunk is returned in any case.",
      waitMs:
        "If there is nothing to return, wait at most this long for output, the exit or the close; any length is " +
        "allowed. A process that has closed is answered at once. Null or 0: do not wait.",
    },
    result: {
      chunks: "Retained output, in the order of its numbers. Reading does not consume.",
      nextSeq:
        "Where there are chunks, and `maxBytes` was given or output was held back: the last returned number and " +
        "one. Else the number that the next event will have. The next cursor is `nextSeq - 1`.",
      ...EXIT,
      firstSeq: "Number of the oldest output that is retained, or null. Only with `outputGap`.",
      droppedBytes: "Bytes after the cursor that are not retained any more: there is a gap if it is not 0. Only with " +
        "`outputGap`.",
    },
    notes: [
      "The state (`exited`, `exitCode`, `closed`) is always the present one, also where output was held back: read on " +
      "until there are no chunks before you act on `closed`. Output is held back by `maxBytes`, and of a process with " +
      '`"output":"acknowledged"` always beyond one window (1 MiB). With `latest` output 1 ' +
      "MiB is retained for each process unless the server was told otherwise; the oldest goes first.",
    ],
    example: {
      params: { ...P1, afterSeq: 0, waitMs: 5000 },
      result: {
        chunks: [{ seq: 1, stream: "stdout", chunk: "aGVsbG8K" }],
        nextSeq: 2,
        exited: false,
        exitCode: null,
        closed: false,
        failure: null,
        sandboxDenied: false,
      },
    },
  },
  "process/ack": {
    params: { ...ABOUT_PROCESS, seq: "The client is done with every event of the process up to this number." },
    result: {},
    constraints: ["acknowledgedSeq"],
    notes: [
      'For a process that was started with `"output":"acknowledged"`; for others it changes nothing. Acknowledge after ' +
      "a quarter of the window (1 MiB unless the server was told otherwise), and the number of `process/closed` in the " +
      "end: the process is held until then. `process/read` with `afterSeq` says the same.",
      "The window counts each chunk with its bytes and 200 more. For a client who acknowledges within half a second of " +
      "the window being full it grows, up to eight times what was reserved, as far as the server has that; a client who " +
      "does not read has no more than was reserved. While the session has no connection the child does not " +
      "wait at the window: output is held up to `--detached-output-bytes` of the server (64 MiB for each process), as " +
      "far as `--acknowledged-output-bytes` (512 MiB for all processes of the server) allows. Then the child waits, and " +
      "after a resume until there is less than a window again.",
    ],
    example: { params: { ...P1, seq: 1 }, result: {} },
  },
  "process/snapshot": {
    params: ABOUT_PROCESS,
    result: {
      stdout: "First and last part of what was written there, in base64.",
      stderr: "The same of standard error.",
      terminal: "The same of a terminal. Then the other two are empty.",
      truncated: "Something was left out between the two parts.",
      exitCode: EXIT.exitCode,
      running: "It has not exited.",
      nextSeq: "The number that the next event will have.",
    },
    notes: ["For a long output: `process/read` retains the end only, this also the beginning."],
    example: {
      params: P1,
      result: {
        stdout: "aGVsbG8K",
        stderr: "",
        terminal: "",
        truncated: false,
        exitCode: null,
        running: true,
        nextSeq: 2,
      },
    },
  },
  "process/list": {
    params: {
      scope: "`session`: what this session started. `server`: besides, what any session asked to be kept. Left out: " +
        "what this session started, and what outlived its session.",
      after: "The `nextAfter` of an earlier answer: the list goes on there.",
      details:
        "True: each entry has `details`. Looks at every process of the machine, so ask for it when it is wanted.",
    },
    result: {
      processes: "This session's own first, each group in the order of the starts.",
      nextAfter: "Only where the list is longer than one answer (4 MiB): for `after` of the next request.",
    },
    example: {
      params: { scope: "session" },
      result: {
        processes: [{
          ...P1,
          uid: "k3f9x2m7q8ab",
          pid: 4711,
          argv: ["cat"],
          cwd: "file:///tmp/demo",
          tty: false,
          ageMs: 12,
          exited: false,
          exitCode: null,
          closed: false,
          nextSeq: 2,
          kept: false,
          keepOnSessionEnd: false,
          own: true,
        }],
      },
      varies: ["processes.0.uid", "processes.0.pid", "processes.0.ageMs"],
    },
  },
  "process/closeStdin": {
    params: ABOUT_PROCESS,
    result: { status: "As `process/write` answers." },
    notes: ["The end comes after everything that was written before. A terminal gets Ctrl-D, and stays writable."],
    example: { params: P1, result: { status: "accepted" } },
  },
  "process/wait": {
    params: {
      ...ABOUT_PROCESS,
      timeoutMs: "Answer after this time in any case. Null: wait forever.",
      until: "`closed` (default): exited, and all output has come. `exited`: the exit status is known.",
    },
    result: { ...EXIT, timedOut: "The time was up first.", nextSeq: "The number that the next event will have." },
    example: {
      params: { ...P1, timeoutMs: 5000 },
      result: {
        exited: true,
        exitCode: 0,
        closed: true,
        failure: null,
        sandboxDenied: false,
        timedOut: false,
        nextSeq: 4,
      },
    },
  },
  "process/signal": {
    params: {
      ...ABOUT_PROCESS,
      signal: "Which. To end a process for good is `process/terminate`.",
      target: "`group` (default): the process's own group. `foreground`: the group that has its terminal now, as " +
        "Ctrl-C would.",
    },
    result: {},
    notes: ["A process that has ended, or that nobody knows, is no error."],
    example: {
      before: [{
        method: "process/start",
        params: {
          processId: "p2",
          argv: ["cat"],
          cwd: "/tmp/demo",
          env: ENV,
          io: { type: "pty", rows: 24, cols: 80 },
        },
      }],
      params: { processId: "p2", signal: "winch", target: "foreground" },
      result: {},
    },
  },
  "process/resize": {
    params: { ...ABOUT_PROCESS, rows: "Height.", cols: "Width." },
    result: {},
    notes: ["The program in the foreground gets SIGWINCH. A process that has exited is no error."],
    example: { params: { processId: "p2", rows: 40, cols: 132 }, result: {} },
  },
  "process/terminate": {
    params: {
      ...ABOUT_PROCESS,
      mode: "How. Null: `force`, SIGKILL at once.",
      tree: "True: end everything that descends from the process, wherever it went, and answer when it has ended.",
    },
    result: {
      running: "It had not exited.",
      endedCount: "With `tree`: how many processes of the operating system were ended.",
      survivorPids: "With `tree`: those that could not be ended.",
    },
    notes: [
      "Without `tree` the process's group is ended. With `force` the server stops reading its output, so that `closed` " +
      "follows even if a descendant still holds it; what came before stays readable. A process that has ended, or " +
      "that nobody knows, is no error.",
    ],
    example: { params: { processId: "p2" }, result: { running: true } },
  },
};
