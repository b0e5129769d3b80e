/** The `cp` command: files and trees between this machine and a box. */

import type { CopyOptions, CopyResult } from "../../client/fs/copy/copy_options.ts";
import { printable } from "../../printable.ts";
import { quoted, refusal, usageError } from "../cli_error.ts";
import type { FlagTable } from "../flags.ts";
import { boxPath } from "./box_path.ts";
import { runClientCommand } from "./client_command.ts";
import { CopyBar } from "./copy_bar.ts";
import { copySteps, readCopyWords } from "./copy_words.ts";
import { EXIT, SIGNAL_BASE } from "./exit_codes.ts";
import { tellFailure } from "./failure.ts";
import { type OpenBox, openBox } from "./open_box.ts";
import { JSON_FLAG, printedJson } from "./output_flags.ts";
import { HELP_FLAG, WHERE_FLAGS } from "./places/place.ts";

const INTRODUCTION = `Usage: exec-server cp [@NAME] [flags] SRC... DST

Copies files and whole directories to or from the box: a path with a colon in
front is on the box. Modes, times and links are kept; owners are not. If DST is
a directory, copies are made below it, as cp does. Each file appears when it is
complete. After a lost connection the copy goes on where it was.

  exec-server cp @devbox src Makefile :project/
  exec-server cp @devbox --ignore node_modules/ :project .`;

/** How long the server keeps the session of a copy whose connection is lost. */
const PATIENCE = "1h";
/** Something could not be copied. Everything else was. */
const EXIT_INCOMPLETE = 1;

export const CP_FLAGS = {
  ignore: {
    section: "What",
    kind: "list",
    placeholder: "PATTERN",
    default: [],
    isWhole: true,
    hasVariable: false,
    help: "Leave out files that match, as a line of .gitignore would.",
  },
  "ignore-file": {
    section: "What",
    kind: "list",
    placeholder: "PATH",
    default: [],
    isWhole: true,
    hasVariable: false,
    help: "File of such patterns, such as .gitignore.",
  },
  sync: {
    section: "What",
    kind: "switch",
    default: false,
    hasVariable: false,
    help: "Write each file to disk (fsync) before it gets its name.",
  },
  json: { ...JSON_FLAG, help: "Print what was copied as JSON." },
  quiet: {
    section: "Output",
    kind: "switch",
    short: "q",
    default: false,
    hasVariable: false,
    help: "Show no progress bar. It is only shown if standard error is a terminal.",
  },
  ...WHERE_FLAGS,
  help: HELP_FLAG,
} as const satisfies FlagTable;

/** Resolves with the exit code. */
export function cp(args: readonly string[]): Promise<number> {
  return runClientCommand(args, {
    flags: CP_FLAGS,
    introduction: INTRODUCTION,
    async run({ positionals, ...where }) {
      const { quiet, sync, json } = where.values;
      const words = readCopyWords(positionals);
      const ignore = [...where.values.ignore, ...await patternsOf(where.values["ignore-file"])];
      const opened = await openBox(where, { detachTtl: PATIENCE });
      await using _closing = opened.box;
      using interrupt = new Interrupt();
      using bar = new CopyBar({ isShown: !quiet && Deno.stderr.isTerminal() });
      const options = { ignore, sync, signal: interrupt.signal, onProgress: bar.progress };
      const total: CopyResult[] = [];
      let exitCode: number = EXIT.ok;
      for (const step of await copySteps(words, places(opened))) {
        try {
          const result = await copyOne(opened, words.toBox, step, options);
          bar.next(result);
          total.push(result);
        } catch (error) {
          bar.clear();
          if (interrupt.exitCode !== null) return interrupt.exitCode;
          exitCode = tellFailure(step.from, localError(error));
        }
      }
      bar.clear();
      const { failures, skipped, ...counts } = sum(total);
      for (const { path, message } of failures) console.error(`exec-server: ${printable(path)}: ${printable(message)}`);
      for (const path of skipped) {
        console.error(`exec-server: ${printable(path)}: left out: it is not a file, directory or link`);
      }
      if (failures.length > 0) exitCode = EXIT_INCOMPLETE;
      return json ? await printedJson({ ...counts, skipped, failures }, exitCode) : exitCode;
    },
  });
}

async function copyOne(
  { box }: OpenBox,
  toBox: boolean,
  { from, to }: { from: string; to: string },
  options: CopyOptions,
): Promise<CopyResult> {
  const result = toBox ? await box.fs.put(from, to, options) : await box.fs.get(from, to, options);
  const named = (path: string) => path === "" ? from : `${from}/${path}`;
  return {
    ...result,
    skipped: result.skipped.map(named),
    failures: result.failures.map(({ path, message }) => ({ path: named(path), message })),
  };
}

/** How to find out, on both sides, whether a path is a directory, and how to resolve a path of the box. */
function places(opened: OpenBox) {
  return {
    boxPath: (path: string) => boxPath(path, opened),
    isBoxDirectory: async (path: string) => {
      const info = await opened.box.fs.stat(path).catch(() => null);
      return info?.isDirectory === true;
    },
    isLocalDirectory: async (path: string) => {
      const info = await Deno.stat(path).catch(() => null);
      return info?.isDirectory === true;
    },
  };
}

async function patternsOf(files: readonly string[]): Promise<string[]> {
  const texts = await Promise.all(files.map((file) =>
    Deno.readTextFile(file).catch((error) => {
      throw refusal(`cannot read --ignore-file ${quoted(file)}: ${error.message}`, error);
    })
  ));
  return texts.flatMap((text) => text.split("\n"));
}

/** Turns an error of this machine's files into one for the user. */
function localError(error: unknown): unknown {
  const isOfSystem = error instanceof Error && (typeof (error as { code?: unknown }).code === "string");
  return isOfSystem ? usageError(error.message) : error;
}

function sum(results: readonly CopyResult[]): CopyResult {
  const add = (pick: (result: CopyResult) => number) => results.reduce((total, result) => total + pick(result), 0);
  return {
    files: add(({ files }) => files),
    bytes: add(({ bytes }) => bytes),
    directories: add(({ directories }) => directories),
    links: add(({ links }) => links),
    skipped: results.flatMap(({ skipped }) => skipped),
    failures: results.flatMap(({ failures }) => failures),
  };
}

const INTERRUPTS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

/** Ctrl-C, or a terminal that is closed, stops the copy, so that parts can be removed; a second one ends the program. */
class Interrupt implements Disposable {
  readonly #controller = new AbortController();
  readonly #listeners = (Object.entries(INTERRUPTS) as [keyof typeof INTERRUPTS, number][])
    .map(([name, number]) => [name, () => this.#stop(SIGNAL_BASE + number)] as const);
  /** Null: not interrupted. */
  exitCode: number | null = null;

  constructor() {
    for (const [name, listener] of this.#listeners) Deno.addSignalListener(name, listener);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    for (const [name, listener] of this.#listeners) Deno.removeSignalListener(name, listener);
  }

  #stop(exitCode: number): void {
    this.exitCode = exitCode;
    this[Symbol.dispose]();
    this.#controller.abort();
  }
}
