/**
 * Finds the keys that are meant for this program and not for the remote one, as in ssh: `~` at the beginning of a line,
 * and the key after it. Pure: turns bytes into bytes and commands.
 */

/** A command of the user to this program. */
export type Wish = "leave" | "suspend" | "help";

/** The result for some keys. */
export interface FilteredKeys {
  /** For the remote program. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** In the order in which they were typed. Nothing is sent after `leave`. */
  readonly wishes: readonly Wish[];
}

const TILDE = 0x7e;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const WISHES: Readonly<Record<number, Wish>> = { 0x2e: "leave", 0x1a: "suspend", 0x3f: "help" };

export const ESCAPE_HELP = [
  "~.   leave",
  "~^Z  suspend this program",
  "~~   send the escape character",
  "~?   this help",
];

/** See the head of the module. */
export class EscapeKeys {
  #isLineStart = true;
  #hasTilde = false;

  feed(keys: Uint8Array): FilteredKeys {
    const bytes: number[] = [];
    const wishes: Wish[] = [];
    for (const key of keys) {
      if (this.#hasTilde) {
        this.#hasTilde = false;
        const wish = WISHES[key];
        if (wish !== undefined) {
          wishes.push(wish);
          if (wish === "leave") break;
          this.#isLineStart = true;
          continue;
        }
        // Two tildes mean one. Before any other key the tilde was meant for the remote program.
        if (key !== TILDE) bytes.push(TILDE);
      } else if (key === TILDE && this.#isLineStart) {
        this.#hasTilde = true;
        continue;
      }
      bytes.push(key);
      this.#isLineStart = key === NEWLINE || key === RETURN;
    }
    return { bytes: Uint8Array.from(bytes), wishes };
  }
}
