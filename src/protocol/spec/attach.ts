/** Texts and examples: following processes of other sessions. */

import { EXIT } from "./shared_texts.ts";
import type { MethodTexts, NotificationTexts } from "./text_types.ts";

const UID = "k3f9x2m7q8ab";
const OF_PROCESS = "Its name in the whole server.";
const SEQ = "Its number among all events of the process.";
const BY_UID = "The process by its name in the whole server. Either this or `name`.";
const BY_NAME = "The process by the name people gave it: the living one, or else the one that was started last.";

export const ATTACH_TEXTS: MethodTexts<"process/attach" | "process/detach"> = {
  "process/attach": {
    params: {
      uid: BY_UID,
      name: BY_NAME,
      role: "`view` (default): this connection may only watch the process. `control`: it may also change it.",
      afterSeq: "Send only events with a larger number. Null: everything that is retained.",
    },
    result: {
      uid: OF_PROCESS,
      processId: "Its id in the session that started it.",
      name: "The name that it was given, or null.",
      role: "As asked.",
      tty: "It has a terminal.",
      size: "Of its terminal; null without one.",
      nextSeq: "The number its next event will have.",
      firstSeq: "Number of the oldest output that is retained, or null.",
      exited: EXIT.exited,
      exitCode: EXIT.exitCode,
      closed: EXIT.closed,
    },
    constraints: ["oneSharedName"],
    notes: [
      "Retained output is sent first, then new output. A slow connection misses output and is told how much; it holds " +
      "up nobody. Attachments end with their connection, and with the process. A second one to the same process " +
      "replaces the first.",
    ],
    example: {
      before: [{
        method: "process/start",
        params: {
          processId: "p3",
          argv: ["sh", "-c", "echo hello; cat"],
          cwd: "/tmp/demo",
          env: { PATH: "/usr/bin:/bin" },
          tty: true,
          name: "web",
        },
      }],
      params: { name: "web" },
      result: {
        uid: UID,
        processId: "p3",
        name: "web",
        role: "view",
        tty: true,
        size: { rows: 24, cols: 80 },
        nextSeq: 1,
        firstSeq: null,
        exited: false,
        exitCode: null,
        closed: false,
      },
      varies: ["uid", "nextSeq", "firstSeq"],
    },
  },
  "process/detach": {
    params: { uid: BY_UID, name: BY_NAME },
    result: {},
    constraints: ["oneSharedName"],
    notes: ["A process that this connection is not attached to is no error."],
    example: {
      before: [
        { method: "process/read", params: { processId: "p3", waitMs: 5000 } },
        { method: "process/resize", params: { processId: "p3", rows: 50, cols: 160 } },
        { method: "process/terminate", params: { processId: "p3" } },
        { method: "process/wait", params: { processId: "p3" } },
      ],
      params: { name: "web" },
      result: {},
    },
  },
};

export const ATTACH_NOTIFICATION_TEXTS: NotificationTexts<
  "process/viewOutput" | "process/viewExited" | "process/viewClosed" | "process/resized"
> = {
  "process/viewOutput": {
    params: {
      uid: OF_PROCESS,
      seq: SEQ,
      stream: "`stdout` or `stderr`; `pty` for all output of a terminal.",
      chunk: "The bytes, in base64. Chunks do not respect lines or characters.",
      droppedBytes:
        "How many bytes before this chunk were dropped before they could be sent. Only where there are some.",
    },
    example: { params: { uid: UID, seq: 1, stream: "pty", chunk: "aGVsbG8NCg==" }, varies: ["uid"] },
  },
  "process/viewExited": {
    params: {
      uid: OF_PROCESS,
      seq: SEQ,
      exitCode: "The exit status, or 128 and the number of the signal that ended it.",
      sandboxDenied: EXIT.sandboxDenied,
      endReason: "Why it ended. Only with `processEndReason`.",
      signal: EXIT.signal,
      networkDenials: EXIT.networkDenials,
    },
    notes: ["Output may still follow: a descendant can hold the pipe."],
    example: { params: { uid: UID, seq: 2, exitCode: 137, sandboxDenied: false }, varies: ["uid"] },
  },
  "process/viewClosed": {
    params: { uid: OF_PROCESS, seq: SEQ },
    notes: ["The attachment is over with it."],
    example: { params: { uid: UID, seq: 3 }, varies: ["uid"] },
  },
  "process/resized": {
    params: {
      uid: OF_PROCESS,
      processId: "Its id in the session that started it.",
      rows: "Height.",
      cols: "Width.",
    },
    notes: ["For those who are attached, and for the session that started the process if it asked to be told."],
    example: { params: { uid: UID, processId: "p3", rows: 50, cols: 160 }, varies: ["uid"] },
  },
};
