/** Flags that several commands have, each with one text. */

import type { ActionFlag, SwitchFlag } from "./flags.ts";

/** `--json`, for programs. It concerns one call, so it has no variable. */
export function jsonSwitch<const Section extends string>(section: Section) {
  return {
    section,
    kind: "switch",
    default: false,
    hasVariable: false,
    help: "Print JSON, for programs, instead of text for people.",
  } as const satisfies SwitchFlag;
}

export function helpAction<const Section extends string>(section: Section) {
  return { section, kind: "action", short: "h", help: "Show this help." } as const satisfies ActionFlag;
}
