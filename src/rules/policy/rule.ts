/** Rules as data: what the calls in a file produce. Nothing here knows the language or the disk. */

/** Mildest first: the strictest of all rules that match is what counts. */
export const DECISIONS = ["allow", "prompt", "forbidden"] as const;
export type Decision = typeof DECISIONS[number];

/** Where a rule was written. */
export interface RuleOrigin {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** One word of a pattern: all the words that may stand there, at least one. */
export type PatternWord = readonly string[];

export interface PrefixRule {
  /** A pattern with alternatives in its first place makes one rule for each of them. */
  readonly first: string;
  readonly rest: readonly PatternWord[];
  readonly decision: Decision;
  readonly justification: string | null;
  readonly origin: RuleOrigin;
}

export type NetworkProtocol = "http" | "https" | "socks5_tcp" | "socks5_udp";

/** Read, checked and listed. Nothing in this program enforces it: the sandbox's own network policy does. */
export interface NetworkRule {
  readonly host: string;
  readonly protocol: NetworkProtocol;
  readonly decision: Decision;
  readonly justification: string | null;
  readonly origin: RuleOrigin;
}

/** Where the program of a name may lie. An empty list: nowhere. */
export interface HostExecutable {
  readonly name: string;
  readonly paths: readonly string[];
  readonly origin: RuleOrigin;
}

/** Examples that a rule must, and must not, match. */
export interface RuleExamples {
  readonly rules: readonly PrefixRule[];
  readonly match: readonly (readonly string[])[];
  readonly notMatch: readonly (readonly string[])[];
}

/** The stricter of two decisions. */
export function stricter(a: Decision, b: Decision): Decision {
  return DECISIONS.indexOf(a) >= DECISIONS.indexOf(b) ? a : b;
}

/** `git [status|log] -s`: a rule's pattern for people. */
export function patternText({ first, rest }: Pick<PrefixRule, "first" | "rest">): string {
  return [first, ...rest.map((words) => words.length === 1 ? words[0] : `[${words.join("|")}]`)].join(" ");
}

/** `FILE:LINE`. */
export function originText({ file, line }: RuleOrigin): string {
  return `${file}:${line}`;
}
