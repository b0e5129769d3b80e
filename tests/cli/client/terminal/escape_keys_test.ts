import assert from "node:assert/strict";
import { EscapeKeys } from "../../../../src/cli/client/terminal/escape_keys.ts";

/** What becomes of keys that come in these pieces. */
function filtered(...pieces: string[]): { sent: string; wishes: string[] } {
  const keys = new EscapeKeys();
  let sent = "";
  const wishes: string[] = [];
  for (const piece of pieces) {
    const result = keys.feed(new TextEncoder().encode(piece));
    sent += new TextDecoder().decode(result.bytes);
    wishes.push(...result.wishes);
  }
  return { sent, wishes };
}

Deno.test("EscapeKeys takes ~ at the beginning of a line, and nowhere else", () => {
  assert.deepEqual(filtered("~."), { sent: "", wishes: ["leave"] });
  assert.deepEqual(filtered("ls\r~."), { sent: "ls\r", wishes: ["leave"] });
  assert.deepEqual(filtered("ls\n~", "."), { sent: "ls\n", wishes: ["leave"] });
  assert.deepEqual(filtered("a~."), { sent: "a~.", wishes: [] });
  assert.deepEqual(filtered("ls ~/x\r"), { sent: "ls ~/x\r", wishes: [] });
});

Deno.test("EscapeKeys sends keys that are not commands: one tilde for two, and a tilde with another key after it", () => {
  assert.deepEqual(filtered("~~."), { sent: "~.", wishes: [] });
  assert.deepEqual(filtered("~x\r~?y"), { sent: "~x\ry", wishes: ["help"] });
  assert.deepEqual(filtered("~", "\r~."), { sent: "~\r", wishes: ["leave"] });
  assert.deepEqual(filtered("~\x1a~\x1a"), { sent: "", wishes: ["suspend", "suspend"] });
});

Deno.test("EscapeKeys sends nothing after the command to leave, and every other byte as it is", () => {
  assert.deepEqual(filtered("~.rm -rf"), { sent: "", wishes: ["leave"] });
  const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  assert.deepEqual(new EscapeKeys().feed(all).bytes, all);
});
