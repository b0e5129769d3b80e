/** What the kernel says about processes: tests ask it where the server's own word would prove nothing. */

export interface ProcessEntry {
  readonly pid: number;
  readonly ppid: number;
  /** One letter, as in `/proc/PID/stat`: `Z` is a zombie, `T` is stopped. */
  readonly state: string;
  /** Words separated by spaces. Empty for zombies and threads of the kernel. */
  readonly commandLine: string;
}

/** All processes of the machine. One that ends while we look may be missing. */
export function listProcesses(): ProcessEntry[] {
  const entries: ProcessEntry[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = Deno.readTextFileSync(`/proc/${name}/stat`);
      // The program's name stands in parentheses and may hold anything, parentheses included.
      const [state, ppid] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const commandLine = Deno.readTextFileSync(`/proc/${name}/cmdline`).replaceAll("\0", " ").trimEnd();
      entries.push({ pid: Number(name), ppid: Number(ppid), state: state!, commandLine });
    } catch {
      // Gone while we looked.
    }
  }
  return entries;
}

/** Processes with a word in their command line that holds the marker. Ourselves excepted: a test may be named so. */
export function processesMarked(marker: string): ProcessEntry[] {
  return listProcesses().filter(({ pid, commandLine }) => pid !== Deno.pid && commandLine.includes(marker));
}

export function childrenOf(pid: number): ProcessEntry[] {
  return listProcesses().filter(({ ppid }) => ppid === pid);
}

/** How many descriptors a process has open. */
export function descriptorCount(pid: number): number {
  return [...Deno.readDirSync(`/proc/${pid}/fd`)].length;
}

/** What the descriptors of a process lead to, each by its path or the kernel's name for it. */
export function openFiles(pid: number): string[] {
  return [...Deno.readDirSync(`/proc/${pid}/fd`)].flatMap(({ name }) => {
    try {
      return [Deno.readLinkSync(`/proc/${pid}/fd/${name}`)];
    } catch {
      return []; // The descriptor of the listing itself, or one that was just closed.
    }
  });
}

/** What this process has open below a directory, whichever test opened it: paths. */
export function openBelow(directory: string): string[] {
  return openFiles(Deno.pid).filter((path) => path.startsWith(directory));
}

/** Resident memory of a process. */
export function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(Deno.readTextFileSync(`/proc/${pid}/status`))![1]) / 1024;
}
