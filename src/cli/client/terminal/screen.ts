/**
 * Turns kept output into text that draws the resulting screen. Kept output is never sent to a terminal as it is: it may
 * begin in the middle of an escape sequence, and contain queries that were answered long ago.
 *
 * Loaded only for `attach`, and when a lost connection is back: loading a terminal emulator takes time.
 */

// The package's field for bundlers names a file that it does not have.
// @ts-types="@xterm/headless"
import { Terminal } from "@xterm/headless/lib-headless/xterm-headless.mjs";
import { SerializeAddon } from "@xterm/addon-serialize";
import { concatBytes } from "../../../bytes.ts";
import { CALM, type Size } from "./local_terminal.ts";
import { ScreenModes } from "./screen_modes.ts";

const CLEAR = "\x1b[H\x1b[2J";

/** Clears the screen and draws it as it is after this output on a terminal of this size. */
export async function drawnScreen(output: readonly Uint8Array[], size: Size): Promise<string> {
  const terminal = new Terminal({ ...size, allowProposedApi: true, scrollback: 0 });
  const modes = new ScreenModes(terminal);
  const serializer = new SerializeAddon();
  // The add-on's type asks for the browser's terminal, but it uses only what both have.
  terminal.loadAddon(serializer as unknown as Parameters<typeof terminal.loadAddon>[0]);
  try {
    await new Promise<void>((resolve) => terminal.write(concatBytes(output), resolve));
    return CALM + CLEAR + serializer.serialize({ scrollback: 0 }) + modes.text();
  } finally {
    terminal.dispose();
  }
}
