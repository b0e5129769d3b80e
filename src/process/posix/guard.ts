/**
 * Ends our children, and removes what we put on the disk for them, if we die without a chance to do it ourselves.
 *
 * The guard is one small shell, started with the first child, that sleeps in `read` as long as we live. Its input is a
 * pipe whose other end only we hold; the kernel closes it when we end, however we end. The guard then looks for
 * processes that carry a mark of our series (`process_mark.ts`), sends them SIGTERM, and SIGKILL to those that remain.
 * Children are not registered with it. So it costs nothing per child, knows no number that could be reused, and also
 * finds daemons that left their session. What it must remove it has been told through the pipe (`leftovers.ts`).
 *
 * What it cannot do: find children where marks are not available, remove anything without a `flock` program, or act
 * when it has been killed itself.
 */

import { closeDescriptor, O_RDWR, openDescriptor, openPipe, setNonblocking, writeFrom } from "../../os/descriptor.ts";
import { reap } from "../../os/children/child_reaping.ts";
import { GUARD_SERIAL, type MarkSeries, setMark } from "../../os/children/process_mark.ts";
import { spawnProgram } from "../../os/children/spawn.ts";
import { noticeExit } from "../../os/children/exit_notice.ts";
import { sendSignal } from "../../os/children/pidfd.ts";
import { Leftovers } from "./leftovers.ts";
import type { Reactor } from "../../os/loop/reactor.ts";

const SIGKILL = 9;

/** What a process list shows after the script. Not as its first word: some shells choose their mode by that. */
const NAME = "exec-server-guard";

/**
 * `$1` is the series, `$2` the group of all children and `$3` one outside of it, if there are any. The guard itself,
 * and the tools it runs, carry a mark of the series and zeros only. Without `grep` the shell reads the files itself,
 * which takes some milliseconds per process of the machine.
 *
 * Every pass looks at all processes again, so a process forked during a pass is found by the next. A chain of processes
 * that fork and exit can slip through a pass, so only ten empty passes in a row mean that nothing is left. The passes
 * are bounded in case something cannot be killed. Zombies do not count: nobody may ever reap them.
 *
 * The kernel kills all processes of our groups at once; then nothing is left to slip through.
 *
 * Only then is anything removed, since a sandbox that still runs may depend on it. Another server may too: it holds a
 * lock, which is asked for first. What is not a placeholder (`launch/policy/placeholders.ts`: ours, sticky, empty)
 * stays, and so does everything whose directory has been moved or replaced by a link.
 */
const SCRIPT = `
trap '' HUP INT QUIT TERM
{ [ -z "$3" ] || echo $$ > "$3/cgroup.procs"; } 2> /dev/null || set -- "$1"
leftovers=
while read -r line; do
  case $line in
    '') leftovers= ;;
    *) leftovers="$leftovers $line" ;;
  esac
done
exec 2> /dev/null
list() {
  grep -ls "^Max file locks  *$1[0-9]*[1-9]" /proc/[0-9]*/limits
  [ $? -eq 127 ] || return
  for file in /proc/[0-9]*/limits; do
    while read -r a b c soft rest; do
      case "$a $b $c $soft" in
        "Max file locks $1"*[1-9]*) echo "$file"; break ;;
      esac
    done < "$file"
  done
}
signal() {
  found=
  for file in $(list "$1"); do
    file=\${file%/limits}
    read -r stat < "$file/stat" || continue
    case "\${stat##*) }" in [ZX]*) continue ;; esac
    kill -s "$2" "\${file#/proc/}" && found=yes
  done
}
signal "$1" TERM
[ -z "$found" ] || sleep 1
[ -z "$2" ] || echo 1 > "$2/cgroup.kill"
passes=0
empty=0
while [ $empty -lt 10 ] && [ $passes -lt 300 ]; do
  signal "$1" KILL
  if [ -n "$found" ]; then empty=0; else empty=$((empty + 1)); fi
  passes=$((passes + 1))
  sleep 0.1 || sleep 1
done
[ -z "$2" ] || rmdir "$2"/[0-9]* "$2"
remove_leftover() {
  [ ! -L "$1" ] && [ -k "$1" ] && [ -O "$1" ] && [ "$1" -ef /proc/self/fd/9 ] && flock -n -x 9 || return
  if [ -d "$1" ]; then rmdir "$1"; elif [ -f "$1" ] && [ ! -s "$1" ]; then rm -f "$1"; fi
}
set -f
for line in $leftovers; do
  path=$(printf '%bx' "$line")
  path=\${path%x}
  parent=\${path%/*}
  cd -P "\${parent:-/}" && [ "$PWD" = "\${parent:-/}" ] || continue
  { remove_leftover "./\${path##*/}"; } 9< "./\${path##*/}"
done
`;

/** What the guard has not read yet. It reads at once; a guard that is stopped is not told more. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/** The group that contains those of all children, and one for processes outside of them (`child_cgroup.ts`). */
export interface GroupPlaces {
  readonly top: string;
  readonly home: string;
}

export class Guard {
  /** What to remove if this program is killed. */
  readonly leftovers = new Leftovers((lines) => this.#tell(lines));
  readonly #series: MarkSeries;
  readonly #findGroups: () => Promise<GroupPlaces | null>;
  #starting: Promise<void> | null = null;
  #pid: number | null = null;
  /** Closing it is the signal; the kernel does that at our end. It is close-on-exec, so no child can hold it open. */
  #lifeline: number | null = null;
  #unsent: Uint8Array<ArrayBuffer> = new Uint8Array();

  /** `findGroups` says where our children live, if they live in groups of their own. */
  constructor(series: MarkSeries, findGroups: () => Promise<GroupPlaces | null> = () => Promise.resolve(null)) {
    this.#series = series;
    this.#findGroups = findGroups;
  }

  get pid(): number | null {
    return this.#pid;
  }

  /** Starts the guard unless it runs. Rejects like the start of any program, for example if there is no shell. */
  async ensureRunning(): Promise<void> {
    if (this.#pid !== null && reap(this.#pid) === null) return;
    this.#starting ??= this.#start().finally(() => this.#starting = null);
    await this.#starting;
  }

  /** Ends the guard, when there is nothing left to guard. */
  async stop(reactor: Reactor): Promise<void> {
    const pid = this.#pid;
    if (pid === null) return;
    const ended = Promise.withResolvers<void>();
    noticeExit(reactor, pid, () => ended.resolve());
    // It ignores what ends a shell, and need not look through all processes once more.
    sendSignal(pid, SIGKILL);
    await ended.promise;
    reap(pid);
    this.#forget();
  }

  async #start(): Promise<void> {
    this.#forget();
    const mark = this.#series.mark(GUARD_SERIAL);
    const groups = await this.#findGroups();
    const { readEnd, writeEnd } = openPipe();
    const silence = openDescriptor("/dev/null", O_RDWR);
    const program = {
      argv: [
        "/bin/sh",
        "-c",
        SCRIPT,
        NAME,
        `${this.#series.prefix}`,
        ...(groups === null ? [] : [groups.top, groups.home]),
      ],
      arg0: null,
      cwd: "/",
      env: { PATH: "/usr/bin:/bin" },
    };
    try {
      this.#pid = await spawnProgram(program, {
        type: "descriptors",
        stdin: readEnd,
        stdout: silence,
        stderr: silence,
      });
      this.#lifeline = writeEnd;
      setMark(this.#pid, mark);
      setNonblocking(writeEnd);
      this.leftovers.tellAll();
    } catch (error) {
      closeDescriptor(writeEnd);
      throw error;
    } finally {
      closeDescriptor(readEnd);
      closeDescriptor(silence);
    }
  }

  #forget(): void {
    if (this.#lifeline !== null) closeDescriptor(this.#lifeline);
    this.#lifeline = null;
    this.#pid = null;
    this.#unsent = new Uint8Array();
  }

  /** Without waiting: what the pipe does not take is sent with the next message. */
  #tell(lines: string): void {
    // A guard that is started later is told everything then.
    if (this.#lifeline === null || this.#unsent.length > MAX_UNREAD_BYTES) return;
    const bytes = new TextEncoder().encode(lines);
    const text = new Uint8Array(this.#unsent.length + bytes.length);
    text.set(this.#unsent);
    text.set(bytes, this.#unsent.length);
    // A guard that is gone takes nothing, and the next child brings a new one.
    const taken = Math.max(0, writeFrom(this.#lifeline, text));
    this.#unsent = text.slice(taken);
  }
}
