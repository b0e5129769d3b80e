/** Numbers and words of other machines as text for people. */

import { printable } from "../../printable.ts";
import { shellWord } from "../../shell_quote.ts";

const UNITS = ["B", "K", "M", "G", "T"];
const STEP = 1024;

/** `512B`, `1.5K`, `20M`. */
export function byteText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= STEP && unit < UNITS.length - 1) {
    value /= STEP;
    unit++;
  }
  return `${unit === 0 || value >= 10 ? Math.floor(value) : value.toFixed(1)}${UNITS[unit]}`;
}

/** `42s`, `12m`, `3h`, `9d`. */
export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

/** Words as a shell would take them, on one line and without escapes of a terminal, of at most this length. */
export function commandText(argv: readonly string[], maxChars = 60): string {
  const text = printable(argv.map(shellWord).join(" ").replaceAll(/\s+/g, " "));
  return text.length > maxChars ? `${text.slice(0, maxChars - 1)}…` : text;
}

/** `drwxr-xr-x`. Null: not known. */
export function modeText(kind: "file" | "directory" | "symlink" | "other", mode: number | null): string {
  const type = { file: "-", directory: "d", symlink: "l", other: "?" }[kind];
  if (mode === null) return `${type}?????????`;
  const bits = [6, 3, 0].map((shift) => {
    const three = (mode >> shift) & 7;
    return `${three & 4 ? "r" : "-"}${three & 2 ? "w" : "-"}${three & 1 ? "x" : "-"}`;
  });
  const special = (index: number, bit: number, set: string, bare: string) => {
    if ((mode & bit) === 0) return;
    bits[index] = bits[index]!.slice(0, 2) + (bits[index]!.endsWith("x") ? set : bare);
  };
  special(0, 0o4000, "s", "S");
  special(1, 0o2000, "s", "S");
  special(2, 0o1000, "t", "T");
  return type + bits.join("");
}
