/**
 * What a terminal shows after some output, as text that draws it anew. Output that was kept is never sent to a terminal
 * raw: its beginning may be the middle of a sequence, and the questions in it were answered long ago.
 *
 * Loaded only for `attach`, and when a lost connection is back: a terminal emulator takes its time to load.
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
  // The add-on asks for the interface of browsers, of which it uses what both have.
  terminal.loadAddon(serializer as unknown as Parameters<typeof terminal.loadAddon>[0]);
  try {
    await new Promise<void>((resolve) => terminal.write(concatBytes(output), resolve));
    return CALM + CLEAR + serializer.serialize({ scrollback: 0 }) + modes.text();
  } finally {
    terminal.dispose();
  }
}
