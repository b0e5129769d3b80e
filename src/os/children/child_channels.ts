/**
 * The two sides of a child's input and output: the ends it gets and the ends we keep.
 *
 * Everything opened here belongs to the caller, who closes the child's ends as soon as the child has been started (or
 * could not be) and hands ours to readers and writers.
 */

import { closeDescriptor, duplicate, openPipe, setNonblocking } from "../descriptor.ts";
import { openTerminal, type TerminalSize } from "./pty.ts";
import type { ChildStdio } from "./spawn.ts";

export interface ChildChannels<Stream extends string> {
  readonly stdio: ChildStdio;
  /** To be closed once the child has its own copies. */
  readonly childEnds: readonly number[];
  /** Our nonblocking end of its input, if it has one. */
  readonly input: number | null;
  /** Our nonblocking ends of its outputs. */
  readonly outputs: ReadonlyArray<{ readonly stream: Stream; readonly fd: number }>;
  /** Our hold on a terminal's slave, to be closed when the child has ended. */
  readonly slave: number | null;
}

/** With `isJoined` standard error goes to the pipe of standard output. */
export function openPipeChannels(stdin: "open" | "closed", isJoined = false): ChildChannels<"stdout" | "stderr"> {
  return closingOnFailure((opened) => {
    const pipe = () => {
      const { readEnd, writeEnd } = openPipe();
      opened.push(readEnd, writeEnd);
      return { readEnd, writeEnd };
    };
    const input = stdin === "open" ? pipe() : null;
    const stdout = pipe();
    const stderr = isJoined ? null : pipe();
    if (input !== null) setNonblocking(input.writeEnd);
    setNonblocking(stdout.readEnd);
    if (stderr !== null) setNonblocking(stderr.readEnd);
    const childInput = input?.readEnd ?? null;
    return {
      stdio: {
        type: "descriptors",
        stdin: childInput,
        stdout: stdout.writeEnd,
        stderr: stderr?.writeEnd ?? stdout.writeEnd,
      },
      childEnds: [childInput, stdout.writeEnd, stderr?.writeEnd ?? null].filter((fd) => fd !== null),
      input: input?.writeEnd ?? null,
      outputs: [
        { stream: "stdout", fd: stdout.readEnd },
        ...(stderr === null ? [] : [{ stream: "stderr" as const, fd: stderr.readEnd }]),
      ],
      slave: null,
    };
  });
}

export function openTerminalChannels(size: TerminalSize): ChildChannels<"pty"> {
  return closingOnFailure((opened) => {
    const { master, slave, slavePath } = openTerminal(size);
    opened.push(master, slave);
    // Reader and writer each own and close theirs.
    const input = duplicate(master);
    return {
      stdio: { type: "terminal", path: slavePath },
      childEnds: [],
      input,
      outputs: [{ stream: "pty", fd: master }],
      slave,
    };
  });
}

/** All descriptors of a set, the child's and ours. */
export function descriptorsOf(channels: ChildChannels<string>): number[] {
  const { childEnds, input, outputs, slave } = channels;
  return [...childEnds, ...outputs.map(({ fd }) => fd), input, slave].filter((fd) => fd !== null);
}

function closingOnFailure<T>(open: (opened: number[]) => T): T {
  const opened: number[] = [];
  try {
    return open(opened);
  } catch (error) {
    opened.forEach(closeDescriptor);
    throw error;
  }
}
