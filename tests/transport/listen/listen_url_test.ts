import assert from "node:assert/strict";
import {
  DEFAULT_LISTEN_URL,
  type ListenAddress,
  ListenUrlParseError,
  parseListenUrl,
} from "../../../src/transport/listen/listen_url.ts";

Deno.test("parseListenUrl() accepts literal addresses, absolute socket paths and stdio", () => {
  const cases: [string, ListenAddress][] = [
    ["ws://127.0.0.1:0", { type: "tcp", hostname: "127.0.0.1", port: 0 }],
    ["ws://0.0.0.0:0", { type: "tcp", hostname: "0.0.0.0", port: 0 }],
    ["ws://10.1.2.3:65535", { type: "tcp", hostname: "10.1.2.3", port: 65535 }],
    ["ws://[::1]:0", { type: "tcp", hostname: "::1", port: 0 }],
    ["ws://[::]:8080", { type: "tcp", hostname: "::", port: 8080 }],
    ["ws://[::ffff:127.0.0.1]:1", { type: "tcp", hostname: "::ffff:127.0.0.1", port: 1 }],
    ["wss://127.0.0.1:0", { type: "tcp", hostname: "127.0.0.1", port: 0, isSecure: true }],
    ["wss://[::]:443", { type: "tcp", hostname: "::", port: 443, isSecure: true }],
    ["unix:/run/x.sock", { type: "unix", path: "/run/x.sock" }],
    ["unix:///run/x.sock", { type: "unix", path: "/run/x.sock" }],
    ["unix:/a b/%20", { type: "unix", path: "/a b/%20" }],
    [`unix:/${"x".repeat(106)}`, { type: "unix", path: `/${"x".repeat(106)}` }],
    ["stdio", { type: "stdio" }],
    ["stdio://", { type: "stdio" }],
  ];
  for (const [url, expected] of cases) assert.deepEqual(parseListenUrl(url), expected, url);
});

Deno.test("parseListenUrl() refuses everything else with an error of its own, saying what to write", () => {
  const notLiteral = "the host must be a literal IP address, such as 127.0.0.1 or [::1]";
  const noPort = "the port is missing; 0 lets the system choose one";
  const notAbsolute = "the socket path must be absolute, such as unix:/run/exec-server.sock";
  const other = "use ws://IP:PORT, wss://IP:PORT, unix:/PATH or stdio";
  const cases: [string, string][] = [
    ["ws://localhost:0", notLiteral],
    ["ws://example.com:80", notLiteral],
    ["ws://:80", notLiteral],
    ["ws://", notLiteral],
    ["ws://::1:0", notLiteral],
    ["ws://[127.0.0.1]:0", notLiteral],
    ["ws://[::1%lo]:0", notLiteral],
    ["ws://[::1:0", notLiteral],
    ["ws://127.1:0", notLiteral],
    ["ws://0x7f.0.0.1:0", notLiteral],
    ["ws://127.0.0.01:0", notLiteral],
    ["ws://256.0.0.1:0", notLiteral],
    ["ws://user@127.0.0.1:0", notLiteral],
    ["ws:// 127.0.0.1:0", notLiteral],
    ["ws://127.0.0.1", noPort],
    ["ws://127.0.0.1:", noPort],
    ["ws://[::1]", noPort],
    ["ws://127.0.0.1:65536", "a port is at most 65535"],
    ["ws://127.0.0.1:123456789", "a port is at most 65535"],
    ["ws://127.0.0.1:0/", "nothing but a port may follow the host"],
    ["ws://127.0.0.1:0?x", "nothing but a port may follow the host"],
    ["ws://127.0.0.1:-1", "nothing but a port may follow the host"],
    ["ws://127.0.0.1:0\n", "nothing but a port may follow the host"],
    ["ws://127.0.0.1/", "nothing but a port may follow the host"],
    ["wss://localhost:0", notLiteral],
    ["wss://127.0.0.1", noPort],
    ["WSS://127.0.0.1:0", other],
    ["https://127.0.0.1:0", other],
    ["http://127.0.0.1:0", other],
    ["tcp://127.0.0.1:0", other],
    ["127.0.0.1:0", other],
    ["WS://127.0.0.1:0", other],
    ["ws:127.0.0.1:0", other],
    ["off", other],
    ["stdio:", other],
    ["stdio://x", other],
    ["/run/x.sock", other],
    ["unix:", notAbsolute],
    ["unix://", notAbsolute],
    ["unix:x.sock", notAbsolute],
    ["unix://run/x.sock", notAbsolute],
    ["unix:@abstract", notAbsolute],
    ["unix:/run/", "the socket path names a directory"],
    ["unix:/a\0b", "the socket path holds a zero byte"],
    [`unix:/${"é".repeat(54)}`, "the socket path is longer than 107 bytes"],
  ];
  for (const [url, reason] of cases) {
    assert.throws(() => parseListenUrl(url), (error) => {
      assert.ok(error instanceof ListenUrlParseError, url);
      assert.deepEqual([error.name, error.url, error.reason], ["ListenUrlParseError", url, reason]);
      assert.ok(error.message.endsWith(` is not accepted: ${reason}`), error.message);
      return true;
    }, url);
  }
});

Deno.test("DEFAULT_LISTEN_URL is a port that the system chooses on this machine", () => {
  assert.deepEqual(parseListenUrl(DEFAULT_LISTEN_URL), { type: "tcp", hostname: "127.0.0.1", port: 0 });
});
