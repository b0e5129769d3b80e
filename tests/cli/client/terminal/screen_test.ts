import assert from "node:assert/strict";
import { drawnScreen } from "../../../../src/cli/client/terminal/screen.ts";
import { TerminalScreen } from "../../../support/terminal_screen.ts";

const SIZE = { rows: 5, cols: 20 };

async function shown(parts: string[]): Promise<string[]> {
  const encoder = new TextEncoder();
  using screen = new TerminalScreen(SIZE);
  await screen.feed(encoder.encode("what was there before\r\n"));
  await screen.feed(encoder.encode(await drawnScreen(parts.map((part) => encoder.encode(part)), SIZE)));
  return screen.lines;
}

Deno.test("drawnScreen() draws what a terminal shows after the output, over whatever is there", async () => {
  assert.deepEqual(await shown(["one\r\ntwo\r\n", "\x1b[1;1HO"]), ["One", "two"]);
  // The beginning is the middle of a sequence, and a character is cut in two.
  assert.deepEqual(await shown(["5;1H\x1b[2J\x1b[Hafter"]), ["after"]);
});

Deno.test("drawnScreen() leads to the other screen when a program is on it, and asks the terminal nothing", async () => {
  const output = new TextEncoder().encode("shell\r\n\x1b[?1049h\x1b[H\x1b[2J\x1b[c\x1b[6n\x1b[?25lfull\x1b[?2004h");
  const text = await drawnScreen([output], SIZE);
  for (const part of ["\x1b[?1049h", "\x1b[?2004h"]) assert.ok(text.includes(part), JSON.stringify(text));
  assert.ok(text.endsWith("\x1b[?25l"));
  for (const question of ["\x1b[c", "\x1b[6n"]) assert.ok(!text.includes(question));
});

Deno.test("drawnScreen() sets the form of mouse reports, the lines that scroll, and the cursor", async () => {
  const encoder = new TextEncoder();
  const program = "\x1b[?1049h\x1b[?1002;1006h\x1b[5 q\x1b[2;4r\x1b[Htop\x1b[5;1Hbottom\x1b[4;1Hlast\x1b[?25l";
  const drawn = await drawnScreen([encoder.encode(program)], SIZE);
  for (const part of ["\x1b[?1002h", "\x1b[?1006h", "\x1b[5 q", "\x1b[2;4r"]) {
    assert.ok(drawn.includes(part), `${JSON.stringify(part)} in ${JSON.stringify(drawn)}`);
  }
  // What the program writes next does there what it does here.
  using screen = new TerminalScreen(SIZE);
  await screen.feed(encoder.encode(`before\r\n${drawn}\r\nnext`));
  assert.deepEqual(screen.lines, ["top", "", "last", "next", "bottom"]);
  // What was switched off again, or reset, is not switched on.
  const calm = await drawnScreen([encoder.encode(`${program}\x1b[?1006l\x1b[r\x1b[?25h\x1b[0 q`)], SIZE);
  const reset = await drawnScreen([encoder.encode(`${program}\x1bc`)], SIZE);
  for (const text of [calm, reset]) {
    for (const part of ["\x1b[?1006h", "\x1b[2;4r", "\x1b[5 q", "\x1b[?25l"]) {
      assert.ok(!text.includes(part), `${JSON.stringify(part)} in ${JSON.stringify(text)}`);
    }
  }
});
