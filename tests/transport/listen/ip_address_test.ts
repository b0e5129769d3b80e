import assert from "node:assert/strict";
import { isLoopbackAddress, parseIpAddress } from "../../../src/transport/listen/ip_address.ts";

/** The 16 bytes as hex, or the 4 as dotted decimals. */
function shown(text: string): string | null {
  const bytes = parseIpAddress(text);
  if (bytes === null) return null;
  return bytes.length === 4 ? bytes.join(".") : [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

Deno.test("parseIpAddress() reads every standard form of IPv4 and IPv6", () => {
  const cases: [string, string][] = [
    ["0.0.0.0", "0.0.0.0"],
    ["255.1.20.3", "255.1.20.3"],
    ["::", "0".repeat(32)],
    ["::1", "0".repeat(31) + "1"],
    ["1::", "0001" + "0".repeat(28)],
    ["2001:DB8::a:0", "20010db8" + "0".repeat(16) + "000a0000"],
    ["1:2:3:4:5:6:7:8", "00010002000300040005000600070008"],
    ["1:2:3:4:5:6:7::", "00010002000300040005000600070000"],
    ["::2:3:4:5:6:7:8", "00000002000300040005000600070008"],
    ["::ffff:1.2.3.4", "0".repeat(20) + "ffff01020304"],
    ["1:2:3:4:5:6:1.2.3.4", "00010002000300040005000601020304"],
  ];
  for (const [text, expected] of cases) assert.equal(shown(text), expected, text);
});

Deno.test("parseIpAddress() takes nothing that two readers could read differently", () => {
  for (
    const text of [
      "",
      "localhost",
      "1.2.3",
      "1.2.3.4.5",
      "1.2.3.256",
      "01.2.3.4",
      "1.2.3.4 ",
      "1.2.3.",
      "1.2.3.-4",
      "0x7f.0.0.1",
      "127.1",
      "2130706433",
      "１.2.3.4",
      ":",
      ":::",
      "1::2::3",
      "1:2:3:4:5:6:7",
      "1:2:3:4:5:6:7:8:9",
      "1:2:3:4::5:6:7:8",
      "12345::",
      "g::",
      "::1%lo",
      "[::1]",
      "1.2.3.4::",
      "::1.2.3.4:5",
      "1:2:3:4:5:6:7:1.2.3.4",
      "::1.2.3",
      ":1:2:3:4:5:6:7",
      "1:2:3:4:5:6:7:",
    ]
  ) assert.equal(shown(text), null, text);
});

Deno.test("isLoopbackAddress() is true for exactly the addresses only this machine can reach", () => {
  for (const text of ["127.0.0.1", "127.255.0.9", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "::ffff:7f00:1"]) {
    assert.equal(isLoopbackAddress(text), true, text);
  }
  for (
    const text of [
      "0.0.0.0",
      "128.0.0.1",
      "10.0.0.1",
      "::",
      "::2",
      "1::1",
      "::127.0.0.1",
      "::ffff:10.0.0.1",
      "localhost",
    ]
  ) assert.equal(isLoopbackAddress(text), false, text);
});
