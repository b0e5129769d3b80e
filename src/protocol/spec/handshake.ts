/** Texts and examples: the handshake, the session, the description of the protocol. */

import { EXAMPLE_MACHINE } from "./shared_texts.ts";
import type { MethodTexts } from "./text_types.ts";

export const HANDSHAKE_TEXTS: MethodTexts<"initialize" | "session/end" | "rpc.discover"> = {
  initialize: {
    params: {
      clientName: "Who calls, for the log.",
      resumeSessionId: "The `sessionId` of an earlier connection: its session is taken up.",
      takeover: "True resumes at once although another connection holds the session, which then loses it.",
      detachTtlMs:
        "How long the session waits for its client after a lost connection, up to the server's bound (24 h " +
        "unless set). 0: it ends with its connection. Null: as the server is set (30 s), or, with a resume, as before.",
      notifications: "Notifications to be told of that have to be asked for. Unknown names are ignored.",
      optionalFields: "Additions to results and notifications that have to be asked for. Unknown names are ignored.",
    },
    result: {
      sessionId: "Keep it: after a lost connection it is the way back. Anyone who knows it can take up the session.",
      environmentInfo: "As `environment/info` answers.",
      detachTtlMs: "What holds now. Only with `detachTtlMs` in `optionalFields`.",
    },
    notes: [
      "The first request of a connection. It may be tried again when it was refused, and is refused once it has " +
      "succeeded. After its answer the client sends the notification `initialized`, again after every resume.",
    ],
    example: {
      params: { clientName: "my-client", notifications: ["process/started", "process/failed"] },
      result: {
        sessionId: "26daa05b-4f66-48ed-9572-f76991a4f5bc",
        environmentInfo: EXAMPLE_MACHINE,
      },
      varies: ["sessionId", "environmentInfo"],
    },
  },
  "rpc.discover": {
    params: {},
    result: {
      openrpc: "Version of the OpenRPC specification.",
      info: "Title and version of the server.",
      methods: "Every request and notification. One without a `result` is a notification; `x-from` says who sends it.",
      components: "Types with a name, and errors that every request can meet.",
    },
    notes: ["The same document that `exec-server spec` prints."],
    example: {
      params: null,
      result: {
        openrpc: "1.3.2",
        info: { title: "exec-server", version: "0.1.0" },
        methods: [{ name: "environment/status" }],
        components: {},
      },
      varies: ["info", "methods", "components"],
    },
  },
  "session/end": {
    params: {},
    result: {},
    notes: [
      "Answers when all processes of the session but kept ones have ended. The session's id is not valid any more. Then " +
      "the server closes the connection (close code 1000).",
    ],
    example: { params: null, result: {} },
  },
};
