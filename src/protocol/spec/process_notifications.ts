/** Texts and examples: what is told of processes. */

import { EXIT } from "./shared_texts.ts";
import type { NotificationTexts } from "./text_types.ts";

const P1 = { processId: "p1" };

const OF_PROCESS = "The id its client gave it.";
const SEQ = "Its number among all events of the process.";

export const PROCESS_NOTIFICATION_TEXTS: NotificationTexts<
  "process/started" | "process/output" | "process/exited" | "process/closed" | "process/failed"
> = {
  "process/started": {
    params: { processId: OF_PROCESS },
    notes: ["Carries no number. Comes before the first output."],
    example: { params: P1 },
  },
  "process/output": {
    params: {
      processId: OF_PROCESS,
      seq: SEQ,
      stream: "`stdout` or `stderr`; `pty` for all output of a terminal.",
      chunk: "The bytes, in base64. Chunks do not respect lines or characters.",
    },
    notes: ["Every byte is told while the session has a connection, whether or not it is still retained."],
    example: { params: { ...P1, seq: 1, stream: "stdout", chunk: "aGVsbG8K" } },
  },
  "process/exited": {
    params: {
      processId: OF_PROCESS,
      seq: SEQ,
      exitCode: "The exit status, or 128 and the number of the signal that ended it.",
      sandboxDenied: EXIT.sandboxDenied,
      endReason: "Why it ended. Only with `processEndReason`.",
      signal: EXIT.signal,
      networkDenials: EXIT.networkDenials,
    },
    notes: ["Once for each process. Output may still follow: a descendant can hold the pipe."],
    example: { params: { ...P1, seq: 2, exitCode: 0, sandboxDenied: false } },
  },
  "process/closed": {
    params: { processId: OF_PROCESS, seq: SEQ },
    notes: ["Once for each process, and the last of its notifications."],
    example: { params: { ...P1, seq: 3 } },
  },
  "process/failed": {
    params: { processId: OF_PROCESS, message: "As the answer to the request says." },
    notes: ["Besides the error that answers `process/start`. Carries no number."],
    example: { params: { processId: "p0", message: "No such file or directory (os error 2)" } },
  },
};
