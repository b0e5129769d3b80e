/**
 * The `logs` command: prints what a process has written, byte for byte, as far as the server retains it, and what it
 * writes from now on. It reads by number, so the process never waits for it, and a lost connection loses nothing that
 * is still retained.
 */

import { decodeBase64 } from "../../client/base64.ts";
import type { Devbox } from "../../client/devbox.ts";
import type { MethodTypes } from "../../protocol/method_types.ts";
import { usageError } from "../cli_error.ts";
import type { FlagTable } from "../flags.ts";
import { runClientCommand } from "./client_command.ts";
import { EXIT, EXIT_PIPE_CLOSED } from "./exit_codes.ts";
import { findProcess, reachableProcesses } from "./find_process.ts";
import { type LogChunk, tailOf } from "./log_tail.ts";
import { openBox } from "./open_box.ts";
import { JSON_FLAG } from "./output_flags.ts";
import { HELP_FLAG, WHERE_FLAGS } from "./places/place.ts";
import { writeAll } from "./write_all.ts";

const INTRODUCTION = `Usage: exec-server logs [@NAME] [-f] [--since N] [--tail N] ID|NAME

Prints what a process has written: standard error on standard error, everything
else on standard output. If the server no longer has all of it, standard error
says how much is missing.

  exec-server logs -f web
  exec-server logs @devbox --tail 20 4r1c0dq9m2zt`;

/** The largest number that is exact. */
const MAX_NUMBER = Number.MAX_SAFE_INTEGER;
/** How long one request waits for more. The server answers sooner if there is some. */
const WAIT_MS = 30_000;

export const LOGS_FLAGS = {
  follow: {
    section: "Which",
    kind: "switch",
    short: "f",
    default: false,
    hasVariable: false,
    help: "Keep printing until the process has ended.",
  },
  since: {
    section: "Which",
    kind: "integer",
    min: 0,
    max: MAX_NUMBER,
    default: null,
    hasVariable: false,
    whenAbsent: "everything kept",
    help: "Print only what came after this number (--json shows the numbers).",
  },
  tail: {
    section: "Which",
    kind: "integer",
    min: 0,
    max: MAX_NUMBER,
    default: null,
    hasVariable: false,
    whenAbsent: "all",
    help: "Print only the last N lines of what was written so far.",
  },
  json: { ...JSON_FLAG, help: "Print one JSON object per line, with the number of each piece." },
  ...WHERE_FLAGS,
  help: HELP_FLAG,
} as const satisfies FlagTable;

type Read = MethodTypes["process/read"]["result"];

/** Resolves with the exit code. */
export function logs(args: readonly string[]): Promise<number> {
  return runClientCommand(args, {
    flags: LOGS_FLAGS,
    introduction: INTRODUCTION,
    async run({ positionals: [word, surplus], ...where }) {
      if (word === undefined || surplus !== undefined) throw usageError("give the ID or NAME of one process");
      const { follow, since, tail, json } = where.values;
      const { box } = await openBox(where);
      await using _closing = box;
      const { uid } = findProcess(await reachableProcesses(box), word);
      const out = new LogPrinter(json);
      const first = await retained(box, uid, since ?? 0);
      if (!await out.gap(first, since ?? 0)) return EXIT_PIPE_CLOSED;
      for (const chunk of tail === null ? first.chunks : tailOf(first.chunks, tail)) {
        if (!await out.chunk(chunk)) return EXIT_PIPE_CLOSED;
      }
      let last: Read = first.last;
      while (follow && !last.closed) {
        const afterSeq = last.nextSeq - 1;
        last = await box.call<Read>("process/read", { uid, afterSeq, waitMs: WAIT_MS });
        const chunks = last.chunks.map(decoded);
        if (!await out.gap({ chunks, last }, afterSeq)) return EXIT_PIPE_CLOSED;
        for (const chunk of chunks) if (!await out.chunk(chunk)) return EXIT_PIPE_CLOSED;
      }
      await out.end(last);
      return EXIT.ok;
    },
  });
}

interface Portion {
  readonly chunks: readonly LogChunk[];
  readonly last: Read;
}

/** Prints everything that is there now. Answers are bounded, so this may take several. */
async function retained(box: Devbox, uid: string, since: number): Promise<Portion & { droppedBytes: number }> {
  const chunks: LogChunk[] = [];
  let droppedBytes = 0;
  for (let afterSeq = since;;) {
    const last = await box.call<Read>("process/read", { uid, afterSeq });
    droppedBytes += last.droppedBytes ?? 0;
    chunks.push(...last.chunks.map(decoded));
    const seq = chunks.at(-1)?.seq ?? afterSeq;
    if (last.chunks.length === 0 || seq >= last.nextSeq - 1) return { chunks, last, droppedBytes };
    afterSeq = seq;
  }
}

function decoded({ seq, stream, chunk }: Read["chunks"][number]): LogChunk {
  return { seq, stream, bytes: decodeBase64(chunk) };
}

class LogPrinter {
  readonly #isJson: boolean;

  constructor(isJson: boolean) {
    this.#isJson = isJson;
  }

  async chunk({ seq, stream, bytes }: LogChunk): Promise<boolean> {
    if (this.#isJson) return await line({ type: "output", seq, stream, dataBase64: bytes.toBase64() });
    return await writeAll(stream === "stderr" ? Deno.stderr : Deno.stdout, bytes);
  }

  /** Reports output that is missing before a portion. */
  async gap({ last, ...portion }: Portion & { droppedBytes?: number }, afterSeq: number): Promise<boolean> {
    const droppedBytes = portion.droppedBytes ?? last.droppedBytes ?? 0;
    if (droppedBytes === 0) return true;
    if (this.#isJson) return await line({ type: "gap", afterSeq, droppedBytes });
    console.error(`exec-server: ${droppedBytes} bytes after number ${afterSeq} are no longer kept`);
    return true;
  }

  async end({ closed, exitCode, nextSeq }: Read): Promise<void> {
    if (this.#isJson) await line({ type: "end", closed, exitCode, nextSeq });
  }
}

async function line(value: unknown): Promise<boolean> {
  return await writeAll(Deno.stdout, new TextEncoder().encode(`${JSON.stringify(value)}\n`));
}
