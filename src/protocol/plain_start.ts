/**
 * The parameters of an ordinary `process/start` checked by hand, so that the first process of a server does not wait for
 * the schemas to be loaded, 15 ms and more.
 *
 * Takes the members that clients commonly write, where they are plainly right, and gives exactly what the schema of
 * `process.ts` makes of them (a test compares the two). Any other member, and any doubt, is left to the schema.
 */

import { DomainError } from "../errors.ts";
import { isObject } from "../json_object.ts";
import { type ParsedPath, parsePeerPath } from "../path_uri.ts";
import type { EnvPolicy, ProcessIoField, ProcessStartRequest } from "./process.ts";

type Members = Readonly<Record<string, unknown>>;

/** Members that are looked at here. */
const TAKEN = new Set(
  "processId kind argv arg0 cwd env envPolicy tty pipeStdin sandbox enforceManagedNetwork metadata".split(" "),
);
/** Members that may be there as null. With a value they are the schema's. */
const NULL_ONLY = new Set(
  "managedNetwork networkProxy shellSnapshot timeoutMs idleTimeoutMs output name".split(" "),
);

/** Such as clients write it. Other forms are the schema's. */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The size of a terminal nobody chose a size for, as in `process.ts`. */
const TERMINAL = { type: "pty", rows: 24, cols: 80 } as const;

/** Longer texts are the schema's. */
const PLAIN_ID_LENGTH = 1024;

/** Null: ask the schema. */
export function plainStart(raw: unknown): ProcessStartRequest | null {
  if (!isObject(raw)) return null;
  for (const name of Object.keys(raw)) {
    if (!TAKEN.has(name) && !(NULL_ONLY.has(name) && raw[name] === null)) return null;
  }
  const { processId, kind, argv, arg0 = null, env, tty, pipeStdin = false, enforceManagedNetwork = false } = raw;
  if (typeof processId !== "string" || processId.length > PLAIN_ID_LENGTH) return null;
  if (kind !== undefined && kind !== "direct") return null;
  if (!isStrings(argv) || argv.length === 0 || !isStringMap(env)) return null;
  if (arg0 !== null && typeof arg0 !== "string") return null;
  if (typeof tty !== "boolean" || typeof pipeStdin !== "boolean" || typeof enforceManagedNetwork !== "boolean") {
    return null;
  }
  const envPolicy = plainPolicy(raw.envPolicy ?? null);
  const metadata = plainMetadata(raw.metadata ?? null);
  const cwd = plainPath(raw.cwd);
  if (envPolicy === undefined || metadata === undefined || cwd === null) return null;
  const io: ProcessIoField = tty ? { ...TERMINAL } : { type: "pipe", stdin: pipeStdin ? "open" : "closed" };
  return {
    processId,
    kind: "direct",
    argv,
    arg0,
    cwd,
    env,
    envPolicy,
    io,
    sandbox: raw.sandbox ?? null,
    enforceManagedNetwork,
    managedNetwork: null,
    metadata,
    networkProxy: null,
    shellSnapshot: null,
    timeoutMs: null,
    idleTimeoutMs: null,
    keepOnSessionEnd: null,
    output: "latest",
    name: null,
  };
}

/** Undefined: ask the schema. */
function plainPolicy(raw: unknown): EnvPolicy | null | undefined {
  if (raw === null) return null;
  if (!isObject(raw)) return undefined;
  const { inherit, ignoreDefaultExcludes, exclude, set, includeOnly } = raw;
  if (inherit !== "core" && inherit !== "all" && inherit !== "none") return undefined;
  if (typeof ignoreDefaultExcludes !== "boolean") return undefined;
  if (!isStrings(exclude) || !isStringMap(set) || !isStrings(includeOnly)) return undefined;
  return { inherit, ignoreDefaultExcludes, exclude, set, includeOnly };
}

/** Undefined: ask the schema. */
function plainMetadata(raw: unknown): ProcessStartRequest["metadata"] | undefined {
  if (raw === null) return null;
  if (!isObject(raw)) return undefined;
  const { threadId, toolCallId } = raw;
  if (threadId !== undefined && threadId !== null && !(typeof threadId === "string" && UUID.test(threadId))) {
    return undefined;
  }
  if (toolCallId !== undefined && toolCallId !== null && typeof toolCallId !== "string") return undefined;
  return { ...(threadId === undefined ? {} : { threadId }), ...(toolCallId === undefined ? {} : { toolCallId }) };
}

function plainPath(raw: unknown): ParsedPath | null {
  if (typeof raw !== "string") return null;
  try {
    return parsePeerPath(raw);
  } catch (error) {
    if (error instanceof DomainError) return null;
    throw error;
  }
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function isStringMap(value: unknown): value is Readonly<Record<string, string>> {
  return isObject(value) && Object.values(value).every((text) => typeof text === "string");
}
