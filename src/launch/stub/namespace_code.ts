/**
 * The machine code by which a stub makes its own namespaces, and the constants it points at.
 *
 * It becomes three processes. The first is the one that the server has started; it stays outside and ends when the
 * sandbox does. The second is the first inside: it sets everything up, and then reaps what is left behind by others. The
 * third goes on with the rest of the stub.
 */

import { align, type ForkingEmitter } from "./machine_code.ts";
import {
  constantsOf,
  LAST_DESCRIPTOR,
  namespaceFlags,
  type NamespaceOptions,
  type NamespaceStep,
  namespaceSteps,
  OUTER_STEPS,
  SIGCHLD,
} from "./namespace_steps.ts";
import { FILTER_HEADER_BYTES, SECCOMP_SET_MODE_FILTER } from "./seccomp.ts";
import { type SyscallName, syscallNumber } from "./syscalls.ts";

/** More descriptors than a plan has: one for each mount at most, of which bubblewrap takes 3000. */
const LAST_PLANNED_DESCRIPTOR = 4095;

/** Where the constants lie. Empty for a stub that makes no namespaces. */
export function namespaceLayout(options: NamespaceOptions | undefined, start: number) {
  const filterHeader = align(start);
  const filter = filterHeader + FILTER_HEADER_BYTES;
  const constants: number[] = [];
  if (options === undefined) return { filterHeader, filter, constants, end: start };
  let end = align(filter + options.seccomp.length);
  for (const bytes of namespaceConstants(options)) {
    constants.push(end);
    end = align(end + bytes.length);
  }
  return { filterHeader, filter, constants, end };
}

/** In the order of the addresses. */
export function namespaceConstants(options: NamespaceOptions): Uint8Array<ArrayBuffer>[] {
  return constantsOf([...OUTER_STEPS, ...namespaceSteps(options)]);
}

/** What the rest of the stub's code lends. */
interface Assembly {
  call(name: SyscallName, ...values: number[]): void;
  /** What it was doing, if the last call failed. */
  orFail(stage: "U" | "V" | "S"): void;
  readonly data: ReturnType<typeof namespaceLayout>;
  /** Where the first process inside tells how the third ended. */
  readonly endDescriptor: number | undefined;
}

/**
 * Only the child goes on. The parent waits for it and ends with it. It holds nothing open meanwhile, except where it
 * tells of the end.
 */
export function goOnInChild(
  emitter: ForkingEmitter,
  { call, orFail }: Pick<Assembly, "call" | "orFail">,
  { flags = SIGCHLD, endDescriptor }: { readonly flags?: number; readonly endDescriptor?: number | undefined } = {},
): void {
  const number = (name: SyscallName): number => syscallNumber(name, "x86_64")!;
  call("clone", flags, 0, 0, 0, 0);
  orFail("U");
  const inChild = emitter.jumpUnlessPositive();
  emitter.keepChild();
  if (endDescriptor === undefined) call("close_range", 0, LAST_DESCRIPTOR, 0);
  else {
    call("close_range", 0, endDescriptor - 1, 0);
    call("close_range", endDescriptor + 1, LAST_DESCRIPTOR, 0);
    // Linux 5.8 has no such call. What stayed open would keep the server waiting for the end of the stub's report.
    const isMissing = emitter.jumpIfFailed();
    const areClosed = emitter.jump();
    isMissing.land();
    emitter.closeAllBut(endDescriptor, { last: LAST_PLANNED_DESCRIPTOR, close: number("close") });
    areClosed.land();
  }
  const calls = { wait: number("wait4"), exit: number("exit_group"), write: number("write") };
  emitter.endWithChild(calls, endDescriptor);
  inChild.land();
}

/** After this the process is the third, and everything around it is in place. */
export function enterNamespaces(
  emitter: ForkingEmitter,
  options: NamespaceOptions,
  { call, orFail, data, endDescriptor }: Assembly,
): void {
  const number = (name: SyscallName): number => syscallNumber(name, "x86_64")!;
  let constant = 0;
  const carryOut = (steps: readonly NamespaceStep[]): void => {
    for (const { call: name, args, usesResult, mayFail } of steps) {
      if (usesResult === true) emitter.resultAsFirstArgument();
      args.forEach((value, index) => {
        const address = typeof value === "number" ? value : data.constants[constant++]!;
        emitter.argument(index + (usesResult === true ? 1 : 0), address);
      });
      emitter.systemCall(number(name));
      if (mayFail !== true) orFail("V");
    }
  };
  carryOut(OUTER_STEPS);
  goOnInChild(emitter, { call, orFail }, { flags: namespaceFlags(options) });
  carryOut(namespaceSteps(options));
  call("seccomp", SECCOMP_SET_MODE_FILTER, 0, data.filterHeader);
  orFail("S");
  goOnInChild(emitter, { call, orFail }, { endDescriptor });
}
