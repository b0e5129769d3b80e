/**
 * Empty files and directories that this program puts on the disk for a while, as a list that outlives it: the guard is
 * told of each before it is made, and removes what is left if this program was killed.
 *
 * A released path is not taken off the guard's list at once, since the same paths are used again and again; the guard
 * finds nothing there, or nothing that looks like a placeholder. When the list has grown long it is sent again.
 */

/** Paths remembered beyond those in use: the guard's shell looks at each of them, at the end. */
const MAX_TOLD = 256;

export class Leftovers {
  readonly #holders = new Map<string, number>();
  readonly #tell: (lines: string) => void;
  #told = new Set<string>();

  constructor(tell: (lines: string) => void) {
    this.#tell = tell;
  }

  /** To be called before something is made at this absolute path without links. */
  add(path: string): void {
    this.#holders.set(path, (this.#holders.get(path) ?? 0) + 1);
    if (this.#told.has(path)) return;
    this.#told.add(path);
    if (this.#told.size > Math.max(MAX_TOLD, 2 * this.#holders.size)) this.tellAll();
    else this.#tell(`${encodePath(path)}\n`);
  }

  /** It has been removed, or left to another program. */
  delete(path: string): void {
    const holders = (this.#holders.get(path) ?? 0) - 1;
    if (holders > 0) this.#holders.set(path, holders);
    else this.#holders.delete(path);
  }

  /** Sends the whole list, which replaces everything sent before. */
  tellAll(): void {
    this.#told = new Set(this.#holders.keys());
    this.#tell(["", ...Array.from(this.#told, encodePath), ""].join("\n"));
  }
}

/** As `printf %b` reads it, in characters that have no meaning for a shell except the backslash. */
function encodePath(path: string): string {
  const bytes = new TextEncoder().encode(path);
  return Array.from(bytes, (byte) => {
    const character = String.fromCharCode(byte);
    return /[A-Za-z0-9/._-]/.test(character) ? character : `\\0${byte.toString(8).padStart(3, "0")}`;
  }).join("");
}
