/**
 * The one logger type. It is passed in, never imported as a global, and writes to a sink it is given.
 *
 * Fields are for facts (ids, counts, durations). Payload bytes, environment values and credentials never go in. Peers
 * choose some of the strings, so each is bounded, and none can break a line or change how it is read.
 */

import { printable } from "./printable.ts";

export type LogLevel = "error" | "warn" | "info" | "debug";
export type LogFormat = "text" | "json";
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export const LOG_LEVELS: readonly LogLevel[] = ["error", "warn", "info", "debug"];

/** Longest text of one field: a stack of some thirty frames. More than that is a peer's doing. */
export const MAX_FIELD_CHARS = 4096;

export interface Logger {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  /** Whether lines of this level are written: ask before putting together fields that would be dropped. */
  prints(level: LogLevel): boolean;
  /** A logger that adds these fields to every line. */
  with(fields: LogFields): Logger;
}

export interface LoggerOptions {
  level: LogLevel;
  format: LogFormat;
  write(line: string): void;
  now?: () => Date;
}

export function createLogger(options: LoggerOptions, base: LogFields = {}): Logger {
  const threshold = LOG_LEVELS.indexOf(options.level);
  const now = options.now ?? (() => new Date());
  const encode = options.format === "json" ? encodeJson : encodeText;

  const prints = (level: LogLevel): boolean => LOG_LEVELS.indexOf(level) <= threshold;
  const emit = (level: LogLevel, message: string, fields: LogFields): void => {
    if (!prints(level)) return;
    options.write(encode(now(), level, message, bounded({ ...base, ...fields })) + "\n");
  };

  return {
    error: (message, fields = {}) => emit("error", message, fields),
    warn: (message, fields = {}) => emit("warn", message, fields),
    info: (message, fields = {}) => emit("info", message, fields),
    debug: (message, fields = {}) => emit("debug", message, fields),
    prints,
    with: (fields) => createLogger(options, { ...base, ...fields }),
  };
}

/** A logger that drops everything, for code under test. */
export function silentLogger(): Logger {
  return createLogger({ level: "error", format: "text", write: () => {} });
}

/** An unknown thrown value as log fields, with its stack: for faults of ours, never for the peer. */
export function errorFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: String(error) };
  const cause = error.cause === undefined ? undefined : String(error.cause);
  return { error: `${error.name}: ${error.message}`, stack: error.stack, cause };
}

function bounded(fields: Record<string, LogFields[string]>): LogFields {
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === "string") fields[name] = shortened(value, MAX_FIELD_CHARS);
  }
  return fields;
}

/** At most this many characters of a text, with a mark where it was cut. A slice would keep the whole text in memory. */
export function shortened(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : [...text.slice(0, maxChars - 1).split(""), "…"].join("");
}

function encodeJson(time: Date, level: LogLevel, message: string, fields: LogFields): string {
  return printable(JSON.stringify({ time: time.toISOString(), level, message, ...fields }));
}

function encodeText(time: Date, level: LogLevel, message: string, fields: LogFields): string {
  let line = `${time.toISOString().slice(11, 23)} ${level.toUpperCase().padEnd(5)} ${printable(message)}`;
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    line += ` ${name}=${typeof value === "string" ? quoteIfNeeded(value) : value}`;
  }
  return line;
}

function quoteIfNeeded(text: string): string {
  return /^[\w.:/@+-]+$/.test(text) ? text : printable(JSON.stringify(text));
}
