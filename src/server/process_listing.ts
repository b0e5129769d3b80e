/**
 * What `process/list` answers: a page of the processes that a session sees, and where the next one begins.
 *
 * Command lines and ids are the clients' own and may be long, and thousands of closed processes may be retained, so an
 * answer ends at a bound of bytes. Nearly every list is one page. A place in the list outlives the process that was
 * there: pages follow the order of starts, the session's own processes before those of others.
 */

import { invalidParams } from "../errors.ts";
import { toFileUri } from "../path_uri.ts";
import type { ManagedProcess } from "../process/session/managed_process.ts";
import type { ProcessBackend, ProcessUsage } from "../process/backend.ts";
import type { ProcessInfo } from "../process/session/process_views.ts";
import { LIST_PAGE_BYTES } from "../protocol/limits.ts";
import type { ProcessDetails, ProcessListEntry, ProcessListParams, ProcessListResult } from "../protocol/process.ts";
import type { Outlet } from "./call_context.ts";
import type { SessionState } from "./session_state.ts";

interface Listed {
  readonly process: ManagedProcess;
  readonly own: boolean;
  readonly kept: boolean;
}

/** Processes that come next, and about what they take in an answer. */
export interface ListPage {
  readonly listed: readonly Listed[];
  readonly bytes: number;
  readonly hasMore: boolean;
}

/** What an entry takes besides its texts: its members, those that are asked for included, and a name. */
const ENTRY_BYTES = 480;

/** What its details take: a few numbers, and 32 ports with addresses of up to 39 characters. */
const DETAIL_BYTES = 160 + 32 * 80;

/** What an argument takes besides its text. */
const ARGUMENT_BYTES = 3;

export function listPage(params: ProcessListParams, session: SessionState, maxBytes = LIST_PAGE_BYTES): ListPage {
  const isBehind = behind(params?.after ?? null);
  const detailBytes = params?.details === true ? DETAIL_BYTES : 0;
  const listed: Listed[] = [];
  let bytes = 0;
  for (const next of visible(params?.scope ?? null, session)) {
    if (!isBehind(next)) continue;
    const added = entryBytes(next.process) + detailBytes;
    // One that is longer than a page has a page of its own.
    if (listed.length > 0 && bytes + added > maxBytes) return { listed, bytes, hasMore: true };
    listed.push(next);
    bytes += added;
  }
  return { listed, bytes, hasMore: false };
}

export function listResult({ listed, hasMore }: ListPage, outlet: Outlet): ProcessListResult {
  const processes = listed.map((one) => listEntry(one, outlet));
  return hasMore ? { processes, nextAfter: placeOf(listed.at(-1)!) } : { processes };
}

/** The same with what each process uses, which takes a look at all processes of the machine. */
export async function detailedResult(
  page: ListPage,
  outlet: Outlet,
  backend: ProcessBackend,
): Promise<ProcessListResult> {
  const started = page.listed.map(({ process }) => process.child).filter((child) => child !== null);
  const found = await backend.usage(started);
  const usages = new Map(started.map((child, index) => [child, found[index] ?? null]));
  const result = listResult(page, outlet);
  const nowMs = Date.now();
  return {
    ...result,
    processes: result.processes.map((entry, index) => {
      const { process } = page.listed[index]!;
      const usage = process.child === null ? null : usages.get(process.child) ?? null;
      return { ...entry, details: detailsOf(process.info(), usage, nowMs) };
    }),
  };
}

function detailsOf({ ageMs, silentMs }: ProcessInfo, usage: ProcessUsage | null, nowMs: number): ProcessDetails {
  const isAlive = usage !== null && usage.processCount > 0;
  return {
    startedAtMs: nowMs - ageMs,
    lastOutputAtMs: silentMs === null ? null : nowMs - silentMs,
    cpuMs: isAlive ? Math.round(usage.cpuMs) : null,
    memoryBytes: isAlive ? usage.memoryBytes : null,
    processCount: usage?.processCount ?? null,
    ports: usage === null ? [] : usage.ports.map(({ address, port, pid }) => ({ address, port, pid })),
  };
}

function* visible(scope: "session" | "server" | null, { processes, directory }: SessionState): Generator<Listed> {
  for (const process of processes.all()) yield { process, own: true, kept: false };
  if (scope === "session") return;
  for (const { process, manager } of directory.othersOf(processes)) {
    if (scope === "server" || manager.hasEnded) yield { process, own: false, kept: manager.hasEnded };
  }
}

// ---------------------------------------------------------------- places

const PLACE = /^(own|other)-(\d{1,15})$/;

function placeOf({ process, own }: Listed): string {
  return `${own ? "own" : "other"}-${process.startOrder}`;
}

/** Whether a process comes after a place. Without one all do. */
function behind(place: string | null): (listed: Listed) => boolean {
  if (place === null) return () => true;
  const parts = PLACE.exec(place);
  if (parts === null) throw invalidParams("after must be a `nextAfter` of an earlier answer");
  const isOwnPlace = parts[1] === "own";
  const order = Number(parts[2]);
  return ({ process, own }) => own === isOwnPlace ? process.startOrder > order : isOwnPlace;
}

// ---------------------------------------------------------------- entries

function entryBytes({ processId, argv, cwd }: ManagedProcess): number {
  return argv.reduce((sum, word) => sum + word.length + ARGUMENT_BYTES, ENTRY_BYTES + processId.length + cwd.length);
}

function listEntry({ process, own, kept }: Listed, { wants }: Outlet): ProcessListEntry {
  const info = process.info();
  const { processId, uid, pid, argv, cwd, tty, ageMs, exit, closed, nextSeq, keepOnSessionEnd } = info;
  return {
    processId,
    uid,
    pid,
    argv,
    cwd: toFileUri(cwd),
    tty,
    ageMs,
    exited: exit !== null,
    exitCode: exit?.exitCode ?? null,
    closed,
    nextSeq,
    kept,
    keepOnSessionEnd,
    own,
    ...(wants.has("acknowledgedOutput") ? acknowledgement(info) : {}),
    ...(wants.has("processName") ? { name: info.name } : {}),
  };
}

function acknowledgement({ outputMode, unacknowledgedBytes, waitsForAck }: ProcessInfo) {
  return { output: outputMode, unacknowledgedBytes, waitsForAck };
}
